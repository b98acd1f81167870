"""What `then` names, and what it finds where files travel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.bag import then
from tailrace.bag.catalogue import Catalogue, Entry
from tailrace.bag.spec import BagSpec


@pytest.mark.parametrize(
    ("line", "named"),
    [("python3 collect.py", ["collect.py"]), ("cd sub;sh here.sh>log", []),
     ("sh sub/here.sh && python3 collect.py collect.py -o sum.csv", ["sub/here.sh", "collect.py"]),
     ("./collect.py", ["collect.py"]), ("./run x", ["run"]), ("cat ../outside.sh sub gone.py", []),
     ("echo 'open collect.py", ["collect.py"]), (("python3", "collect.py"), ["collect.py"]),
     ("cat sum.csv", []), (None, [])],
)  # fmt: skip
def test_programs_of_the_folder_that_its_words_name_go_along(
    tmp_path: Path, line: str | tuple[str, ...] | None, named: list[str]
) -> None:
    """A table that it names may be one that it writes."""
    folder = tmp_path / "bag"
    (folder / "sub").mkdir(parents=True)
    for name in ("collect.py", "sub/here.sh", "run", "sum.csv", "../outside.sh"):
        (folder / name).touch()
    spec = BagSpec(name="b", folder=str(folder), command="true", axes=(), then=line)
    assert [str(path.relative_to(folder)) for path in then.programs(spec)] == named


def test_it_finds_what_came_from_the_folder_and_nothing_from_elsewhere() -> None:
    known: Catalogue = {
        "/bag/a": [Entry("", "1", 1)],
        "/bag/./d": [Entry("x", "2", 2, True), Entry("y/z", "3", 3)],
        "/bag/../other": [Entry("", "4", 4)],
        "/bagger": [Entry("", "5", 5)],
    }
    found = {item.name: (item.hash, item.executable) for item in then.brought(known, "/bag")}
    assert found == {"a": ("1", False), "d/x": ("2", True), "d/y/z": ("3", False)}
