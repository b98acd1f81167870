"""`then`: once, when all tasks are done, beside what they made; also across kill -9."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import ask
from tests.real.conftest import Folder, kill
from tests.real.served import serving, worker

BAG = """
command = "echo {x} > out.txt; test {x} != 2"
then = '''echo $TAILRACE_ATTEMPT >> begun
until [ -e go ]; do sleep 0.05; done
echo "of {bag}: $(cat made/*.txt | tr '\\n' ' ') failed: $TAILRACE_FAILED" | tee -a collected'''
outputs = {"out.txt" = "made/{x}.txt"}
retries = 0
[parameters]
x = {from = 1, to = 6}
"""
SAID = "of bag: 1 3 4 5 6  failed: 1\n"


def test_it_collects_once_though_everything_is_killed_while_it_runs(folder: Folder) -> None:
    folder.write("bag.toml", BAG)
    run = folder.start("run", "--quiet", "bag.toml")
    begun = folder.path / "begun"
    folder.wait_for(begun.exists, 60)
    for pid in folder.processes():
        kill(pid)
    run.communicate()
    folder.wait_for(lambda: not folder.processes(), 60)
    (folder.path / "go").touch()
    ended = folder.tailrace("resume", "--quiet")
    assert ended.returncode == 1, ended.stderr
    assert (folder.path / "collected").read_text() == SAID
    last = folder.results()[-1]
    assert (last["task"], last["params"], last["outcome"]) == (6, {}, "succeeded")
    assert (last["stdout"], last["attempts"]) == (SAID, 2)
    attempts = begun.read_text().split()
    assert len(attempts) == len(set(attempts)) == 2
    assert SAID in folder.tailrace("logs", "then").stdout
    again = folder.tailrace("reproduce", "then")
    assert (again.returncode, again.stdout) == (0, SAID)


AWAY = """
command = "test {x} != 2 && cp known/start.txt out.txt && echo {x} >> out.txt"
then = "python3 collect.py {bag} > said.txt; cat said.txt"
retries = 0
inputs = ["known/start.txt"]
outputs = {"out.txt" = "made/{x}.txt"}
[parameters]
x = [1, 2, 3]
"""
COLLECT = """
import os, sys
from pathlib import Path
made = [file.read_text().split() for file in sorted(Path("made").iterdir())]
Path("tables").mkdir()
Path("tables/sums.csv").write_text("\\n".join(" ".join(words) for words in made))
first = Path("known/start.txt").read_text().strip()
print("of", sys.argv[1], first, "failed:", os.environ["TAILRACE_FAILED"])
"""


def test_where_files_travel_it_finds_them_and_what_it_leaves_comes_back(tmp_path: Path) -> None:
    """`collect.py` is no input of any task: it goes along because `then` names it."""
    away = tmp_path / "away"
    (away / "known").mkdir(parents=True)
    (away / "known/start.txt").write_text("begun\n")
    (away / "made").mkdir()
    (away / "made/1.txt").write_text("of an older run")  # a target: it stays here
    (away / "said.txt").write_text("of an older run")  # what it writes itself: likewise
    (away / "collect.py").write_text(COLLECT)
    (away / "bag.toml").write_text(AWAY)
    with serving(tmp_path) as server:
        join = str(tmp_path / "ada.join")
        assert ask(tmp_path, "tokens", "add", "ada", "--user", "--write", join).code == 0
        lab = server.token("lab", "pool")
        with worker(tmp_path / "w", TAILRACE_JOIN=lab.text()):
            ended = ask(away, "run", "-q", "--server", join)
            assert ended.code == 1, ended
            told = ask(away, "results", "--json", TAILRACE_SERVER=join)
    last = json.loads(told.out)[-1]
    assert (last["task"], last["outcome"]) == (3, "succeeded")
    assert last["stdout"] == "of bag begun failed: 1\n"
    assert [one["path"] for one in last["outputs"]] == ["said.txt", "tables/sums.csv"]
    assert (away / "tables/sums.csv").read_text() == "begun 1\nbegun 3"
    assert (away / "said.txt").read_text() == last["stdout"]
