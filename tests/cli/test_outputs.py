"""Outputs that cannot be moved to their targets are neither lost nor forgotten."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import ask, tailrace

BAG = """
command = "echo {x} > out.txt; echo '[{x}' > $TAILRACE_RESULT.not; echo done"
outputs = {"out.txt" = "results/{x}.txt"}
parameters = {x = [1, 2]}
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """On another file system."""
    if not os.access("/dev/shm", os.W_OK) or os.stat("/dev/shm").st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system to write to")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def test_a_target_in_the_way_is_told_until_it_is_gone(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text(BAG)
    (tmp_path / "results").write_text("a file stands where a folder should\n")
    told = tailrace(tmp_path, "run", "--quiet")
    assert told.code == 6 and "safe in" in told.err and "tailrace resume" in told.err
    status = ask(tmp_path, "status", "1").out
    assert "outputs of 2 tasks are not at their targets yet  [task 0, 1]" in status
    (tmp_path / "results").unlink()
    assert tailrace(tmp_path, "resume", "--quiet").code == 0
    assert (tmp_path / "results/2.txt").read_text() == "2\n"
    assert "not at their targets" not in ask(tmp_path, "status", "1").out


def test_an_output_somebody_deleted_can_be_made_again(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text(BAG)
    (tmp_path / "results").write_text("")
    assert tailrace(tmp_path, "run", "--quiet").code == 6
    (tmp_path / "results").unlink()
    for left in (tmp_path / ".tailrace/scratch").glob("a*/out.txt"):
        left.unlink()
    told = tailrace(tmp_path, "resume", "--quiet")
    assert told.code == 6 and "was deleted before it could be moved" in told.err
    (tmp_path / "results").mkdir(exist_ok=True)
    for x in (1, 2):
        (tmp_path / f"results/{x}.txt").write_text("again\n")
    assert tailrace(tmp_path, "resume", "--quiet").code == 0


def test_across_file_systems_outputs_appear_whole_and_leave_nothing(
    tmp_path: Path, elsewhere: Path
) -> None:
    (tmp_path / "bag.toml").write_text(BAG)
    assert tailrace(tmp_path, "run", "--quiet", TAILRACE_FOLDER=str(elsewhere)).code == 0
    assert sorted(found.name for found in (tmp_path / "results").iterdir()) == ["1.txt", "2.txt"]
    assert (tmp_path / "results/1.txt").read_text() == "1\n"
    assert not list((elsewhere / "scratch").iterdir())


def test_a_copy_that_cannot_be_put_in_place_is_not_left(tmp_path: Path, elsewhere: Path) -> None:
    (tmp_path / "bag.toml").write_text(BAG)
    (tmp_path / "results/2.txt").mkdir(parents=True)
    assert tailrace(tmp_path, "run", "--quiet", TAILRACE_FOLDER=str(elsewhere)).code == 6
    assert sorted(found.name for found in (tmp_path / "results").iterdir()) == ["1.txt", "2.txt"]
    assert len(list((elsewhere / "scratch").glob("a*/out.txt"))) == 1


def test_a_result_nobody_can_read_publishes_nothing(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text(BAG.replace("RESULT.not", "RESULT"))
    assert tailrace(tmp_path, "run", "--quiet").code == 1
    rows = ask(tmp_path, "results", "--json").json
    assert [(row["outcome"], row["exit"]) for row in rows] == [("task_failed", 0)] * 2
    assert "$TAILRACE_RESULT is not JSON" in ask(tmp_path, "status", "1").out
    assert not (tmp_path / "results").exists()
