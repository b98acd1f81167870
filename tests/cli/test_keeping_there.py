"""Run again at a server: what has its result there is taken over, as in a folder of one's own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.conftest import Answer, ask, tailrace
from tests.cli.test_keeping import ran, write
from tests.database import Database
from tests.real.served import Server, serving, wait_for

from tailrace.server.tables.lock import held
from tailrace.worker.joining import parse


class There(NamedTuple):
    folder: Path  # where ada works
    server: Server
    join: str

    def run(self, *words: str, join: str = "") -> Answer:
        """To its end, in this process: nothing runs here."""
        return ask(self.folder, "run", "--server", join or self.join, *words)

    def of(self, name: str) -> str:
        path = self.folder / f"{name}.join"
        path.touch(0o600)
        path.write_text(self.server.token(name, "user").text())
        return str(path)


@pytest.fixture(scope="module", params=["file", "database"])
def serves(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    words: tuple[str, ...] = ()
    if request.param == "database":
        database: Database = request.getfixturevalue("database")
        words = ("--store", database.url())
    with serving(tmp_path_factory.mktemp("group"), "--local", "--cores", "2", *words) as server:
        yield server


@pytest.fixture
def there(serves: Server, tmp_path: Path) -> There:
    made = There(tmp_path, serves, "")
    return made._replace(join=made.of(f"ada{os.urandom(4).hex()}"))


def first(told: Answer) -> str:
    assert told.code == 0, told.err
    return told.err.splitlines()[0] if told.err else ""


def newest(there: There) -> int:
    number: int = ask(there.folder, "status", "--server", there.join, "--json").json["bags"][-1][
        "bag"
    ]
    return number


def test_a_larger_sweep_does_only_what_is_new_and_others_take_nothing(there: There) -> None:
    write(there.folder, 2)
    assert first(there.run()) == ""
    before = newest(there)
    write(there.folder, 3)
    told = there.run()
    line = f"tailrace: 4 of 6 tasks have results from bag {before}; 2 to do; --again does all"
    assert first(told) == line and ran(there.folder) == 6
    results = ask(there.folder, "results", str(newest(there)), "--server", there.join, "--json")
    assert [one["from_bag"] for one in results.json] == [before, before, None] * 2
    assert first(there.run(join=there.of(f"bob{os.urandom(4).hex()}"))) == ""
    assert ran(there.folder) == 12


def test_again_does_all_and_submit_takes_over_as_run_does(there: There) -> None:
    write(there.folder, 1)
    submit = ("submit", "--server", there.join, "--json")
    for words, taken in (((), 0), ((), 2), (("--again",), 0)):
        told = ask(there.folder, *submit, *words)
        assert told.code == 0 and told.json["taken"] == taken, told.err
        assert ("2 of 2 tasks have results from bag" in told.err) == (taken > 0)
        assert ask(there.folder, "watch", "--server", there.join, "-q").code == 0
    assert ran(there.folder) == 4


def test_a_changed_program_is_refused_unless_it_is_said_what_to_do(there: There) -> None:
    write(there.folder, 1)
    assert there.run("--quiet").code == 0
    before = newest(there)
    write(there.folder, 1, "print(2)")
    told = there.run()
    assert told.code == 2 and f"model.py has changed since bag {before} ran\n  --again" in told.err
    assert newest(there) == before, "nothing was handed in"
    assert f"2 of 2 tasks have results from bag {before}" in first(there.run("--keep"))
    assert ran(there.folder) == 2


def test_a_task_whose_file_changed_in_a_shared_folder_is_done_again(there: There) -> None:
    for name in "abc":
        (there.folder / f"{name}.txt").write_text("1\n")
    words = ("--", "sort {} > {.}.out", ":::", "a.txt", "b.txt", "c.txt")
    assert first(there.run(*words)) == ""
    (there.folder / "b.txt").write_text("2\n")
    (there.folder / "c.out").unlink()
    told = first(there.run(*words))
    assert "1 of 3 tasks have results from bag" in told
    assert "(2 tasks whose files have changed since not counted); 2 to do" in told
    assert (there.folder / "b.out").read_text() == "2\n" and (there.folder / "c.out").exists()


TRAVELS = """
command = "echo run >> RAN; cat in in > out"
inputs = {in = "{n}.txt"}
outputs = {out = "{n}.out"}
[parameters]
n = [1, 2, 3]
"""


def test_files_that_travel_are_compared_by_what_is_in_them(there: There) -> None:
    folder, log = there.folder, there.folder / "ran"
    (folder / "bag.toml").write_text(TRAVELS.replace("RAN", str(log)))
    for n in (1, 2, 3):
        (folder / f"{n}.txt").write_text(f"{n}\n")
    assert first(there.run()) == "" and ran(folder) == 3
    (folder / "1.txt").write_text("1\n")  # younger than its result, and the same
    (folder / "2.txt").write_text("two\n")
    (folder / "1.out").unlink()
    told = there.run()
    assert "2 of 3 tasks have results from bag" in first(told) and ran(folder) == 4
    assert "(1 task whose files have changed since not counted); 1 to do" in told.err
    outputs = [(folder / f"{n}.out").read_text() for n in (1, 2, 3)]
    assert outputs == ["1\n1\n", "two\ntwo\n", "3\n3\n"], (
        "also those of the earlier bag are fetched"
    )
    (folder / "2.txt").write_text("2\n")
    assert "3 of 3 tasks have results from bags" in first(there.run()), "as it was at first"
    assert ask(there.server.folder, "gc", "--keep", "0s").code == 0
    assert "have results" not in first(there.run()) and ran(folder) == 7, "outputs are gone"


def test_the_last_command_finds_also_what_was_taken_over(there: There) -> None:
    folder = there.folder
    text = TRAVELS.replace("RAN", "ran").replace("[para", 'then = "cat *.out > all"\n[para')
    (folder / "bag.toml").write_text(text)
    for n in (1, 2, 3):
        (folder / f"{n}.txt").write_text(f"{n}\n")
    assert first(there.run()) == "" and (folder / "all").read_text() == "1\n1\n2\n2\n3\n3\n"
    (folder / "2.txt").write_text("two\n")
    for left in (*folder.glob("*.out"), folder / "all"):
        left.unlink()
    assert "2 of 4 tasks have results from bag" in first(there.run())
    assert (folder / "all").read_text() == "1\n1\ntwo\ntwo\n3\n3\n"
    ada, bag = parse(Path(there.join).read_text().strip()), newest(there)
    _, told = there.server.ask(ada, "GET", f"/api/v1/bags/{bag}/results")
    names = [one["hash"] for told in told for one in told["result"]["outputs"]]
    found = [there.server.ask(ada, "GET", f"/api/v1/blobs/{name}?bag={bag}")[0] for name in names]
    assert found == [200] * 4, "a machine that never had them can fetch them"


def test_a_detached_run_takes_over_what_the_folder_has(tmp_path: Path) -> None:
    write(tmp_path, 1)
    assert tailrace(tmp_path, "run", "--quiet").code == 0
    write(tmp_path, 2)
    told = tailrace(tmp_path, "run", "--detach", "--json", "-j", "1")
    assert "2 of 4 tasks have results from bag 1; 2 to do" in told.err
    assert json.loads(told.out) == {"bag": 2, "name": "bag", "count": 4, "taken": 2}
    wait_for(lambda: not held(tmp_path / ".tailrace"))
    assert ran(tmp_path) == 4
    told = tailrace(tmp_path, "run")
    assert "4 of 4 tasks have results from bag 2;" in told.err, "and the folder from it"
    write(tmp_path, 2, "print(2)")
    told = tailrace(tmp_path, "run", "--detach")
    assert told.code == 2 and "model.py has changed since" in told.err
    assert not held(tmp_path / ".tailrace"), "nothing was started"
