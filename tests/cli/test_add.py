"""`tailrace add`: more tasks for a bag that runs, rests, or is finished; with real runs."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.conftest import Answer, ask, clean_environment, tailrace
from tests.real.served import serving, wait_for

from tailrace.cli.here.progress import Progress
from tailrace.server.records import reading

BAG = """
command = "while test ! -e go; do sleep 0.05; done; echo {alpha} {seed} >> ran; echo {seed}"
order = "ORDER"
[parameters]
alpha = [0.1, 0.2]
seed = {from = 1, to = 3}
"""
WAIT = "while test ! -e go; do sleep 0.05; done; echo {} >> ran"


def write(folder: Path, order: str = "listed", **changes: str) -> None:
    text = BAG.replace("ORDER", order)
    for old, new in changes.items():
        text = text.replace({"seeds": "to = 3", "alpha": "0.2]"}[old], new)
    (folder / "bag.toml").write_text(text)


def ran(folder: Path) -> list[str]:
    return sorted((folder / "ran").read_text().splitlines())


def product(alphas: list[float], seeds: range) -> list[str]:
    return sorted(f"{alpha} {seed}" for alpha in alphas for seed in seeds)


def begin(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tailrace", *words], cwd=folder, env=clean_environment({}),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def ended(process: subprocess.Popen[bytes]) -> int:
    return process.wait(60)


def is_there(folder: Path, *words: str) -> Callable[[], bool]:
    """A bag is in the store, whoever is making it."""

    def look() -> bool:
        return (folder / ".tailrace/store.db").exists() and ask(folder, *words).code == 0

    return look


class Grown(NamedTuple):
    folder: Path
    by_values: Answer
    by_file: Answer
    again: Answer
    larger: Answer  # a bag of its own


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """A finished bag of six; then with two seeds more, and a value more on the other axis."""
    folder = tmp_path_factory.mktemp("grown")
    write(folder, order="-seed")
    (folder / "go").touch()
    assert tailrace(folder, "run", "--quiet").code == 0
    by_values = ask(folder, "add", "bag", "--set", "seed=3..5")
    write(folder, order="-seed", seeds="to = 5", alpha="0.2, 0.3]")
    by_file = ask(folder, "add", "1", "bag.toml", "--json")
    again = ask(folder, "add", "1", "--set", "alpha=0.3")
    assert tailrace(folder, "resume", "--quiet").code == 0
    write(folder, seeds="to = 6", alpha="0.2, 0.3]")
    return Grown(folder, by_values, by_file, again, tailrace(folder, "run"))


def test_a_finished_bag_runs_again_with_what_was_added(grown: Grown) -> None:
    assert grown.by_values.out == (
        "4 new tasks in bag 1 (bag), 2 were there already; it has 10 now. "
        "Nothing runs now: `tailrace resume 1` does them.\n"
    )
    told = {"bag": 1, "name": "bag", "phase": "running", "count": 15, "added": 5, "there": 10}
    assert grown.by_file.json == told
    nothing = "0 new tasks in bag 1 (bag), 5 were there already; it has 15 now.\n"
    assert grown.again.out == nothing
    assert ran(grown.folder) == product([0.1, 0.2, 0.3], range(1, 7)), "each once"


def test_every_command_knows_the_new_tasks(grown: Grown) -> None:
    finished = grown.folder
    results = ask(finished, "results", "1", "--json").json
    assert [one["task"] for one in results] == list(range(15))
    assert all(one["stdout"] == f"{one['params']['seed']}\n" for one in results)
    assert [one["params"]["seed"] for one in results[:6]] == [1, 2, 3, 1, 2, 3]
    assert ask(finished, "status", "--json").json["bags"][0]["count"] == 15
    told = ask(finished, "explain", "1").out
    assert "15 of 15 tasks" in told and "Tasks from 6 on were added later" in told
    assert "identical" in ask(finished, "replay").out
    assert "0.3" in ask(finished, "logs", "1/alpha=0.3,seed=5").out
    report = finished / "report.html"
    assert ask(finished, "report", "1", "--output", str(report)).code == 0
    assert "15" in report.read_text()


def test_tasks_ordered_by_a_parameter_are_so_among_the_new_ones(grown: Grown) -> None:
    finished = grown.folder
    link = sqlite3.connect(finished / ".tailrace/store.db")
    rows = link.execute("SELECT idx FROM attempts WHERE bag = 1 ORDER BY attempt").fetchall()
    link.close()
    params = {one["task"]: one["params"] for one in ask(finished, "results", "1", "--json").json}
    seeds = [params[index]["seed"] for (index,) in rows]
    assert [seeds[:6], seeds[6:10]] == [[3, 3, 2, 2, 1, 1], [5, 5, 4, 4]]
    assert seeds[10:] == [5, 4, 3, 2, 1]


def test_a_larger_bag_takes_over_what_was_added(grown: Grown) -> None:
    told = "tailrace: 15 of 18 tasks have results from bag 1; 3 to do; --again does all"
    assert grown.larger.code == 0 and grown.larger.err.splitlines()[0] == told


def test_a_bag_that_runs_takes_them_up_at_once_and_kill_9_loses_none(tmp_path: Path) -> None:
    write(tmp_path, order="shuffled")
    run = begin(tmp_path, "run", "--quiet", "-j", "2", "bag.toml")
    wait_for(is_there(tmp_path, "status", "1"))
    told = ask(tmp_path, "add", "1", "--set", "seed=4..9")
    assert "12 new tasks" in told.out and "The server that runs does them" in told.out
    os.kill(run.pid, signal.SIGKILL)
    ended(run)
    told = ask(tmp_path, "add", "1", "--set", "alpha=0.3")
    assert "9 new tasks" in told.out and "resume 1" in told.out
    (tmp_path / "go").touch()
    assert tailrace(tmp_path, "resume", "--quiet").code == 0
    results = ask(tmp_path, "results", "--json").json
    assert [one["outcome"] for one in results] == ["succeeded"] * 27
    assert set(ran(tmp_path)) == set(product([0.1, 0.2, 0.3], range(1, 10)))
    assert _followed(tmp_path) == (27, 27)


def _followed(folder: Path) -> tuple[int, int]:
    """As the live view and `watch` count, who began when it had six."""
    progress = Progress("bag", 6, 0, 0, 0)
    link = reading.open_store(folder / ".tailrace")
    for item in reading.feed(link, 1, 0):
        progress.take(item)
    link.close()
    return progress.count, progress.done


def test_commands_and_words_are_added_to_bags_of_their_kind(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text("echo a\necho b\n")
    (tmp_path / "more.txt").write_text("echo b\necho c\necho d\n")
    (tmp_path / "go").touch()
    assert tailrace(tmp_path, "run", "--quiet", "--commands", "jobs.txt").code == 0
    assert tailrace(tmp_path, "run", "--quiet", "--", WAIT, ":::", "a", "-b").code == 0
    assert "2 new tasks, 1" in _short(ask(tmp_path, "add", "1", "--commands", "more.txt"))
    assert "2 new tasks, 1" in _short(ask(tmp_path, "add", "2", ":::", "-b", "-c", "d"))
    for bag in ("1", "2"):
        assert tailrace(tmp_path, "resume", "--quiet", bag).code == 0
    results = ask(tmp_path, "results", "1", "--json").json
    assert [one["stdout"] for one in results] == ["a\n", "b\n", "c\n", "d\n"]
    assert ran(tmp_path) == sorted(["a", "-b", "-c", "d"])


def _short(told: Answer) -> str:
    return told.out.replace(" in bag 1 (jobs)", "").replace(" in bag 2 (while)", "")


BAD = {
    "nothing": ("add 1", "nothing is given to add"),
    "two forms": ("add 1 bag.toml --set seed=1", "several things are given"),
    "another bag": ("add 9 --set seed=1", "there is no bag '9'"),
    "another parameter": ("add 1 --set gamma=1", "bag 1 has no parameter 'gamma'"),
    "no values": ("add 1 --set seed", "--set: 'seed' gives no values"),
    "an empty range": ("add 1 --set seed=9..1", "the range seed is empty"),
    "words": ("add 1 ::: a", "add values with --set"),
    "another command": ("add 1 other.toml", "another command, folder"),
    "no file": ("add 1 missing.toml", "missing.toml"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_added_is_refused_with_a_reason(grown: Grown, case: str) -> None:
    finished, (words, told) = grown.folder, BAD[case]
    (finished / "other.toml").write_text('command = "true {seed}"\n[parameters]\nseed = [1]\n')
    count = ask(finished, "status", "--json").json["bags"][0]["count"]
    answer = ask(finished, *words.split())
    assert answer.code == 2 and told in answer.err
    assert ask(finished, "status", "--json").json["bags"][0]["count"] == count


JOB = """#!/bin/sh
#SBATCH --array=1-4%2
#SBATCH --output=square-%A-%a.log
echo $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT up to $SLURM_ARRAY_TASK_MAX \
 by $SLURM_ARRAY_TASK_STEP, $SLURM_ARRAY_JOB_ID $SLURM_JOB_ID
"""


def _printed(folder: Path) -> dict[int, str]:
    """By the number that their names end with."""
    found = folder.glob("square-1-*.log")
    return {int(path.stem.rpartition("-")[2]): path.read_text() for path in found}


def _line(place: int, index: int, whole: str) -> str:
    return f"{place} of {whole}, 1 {10_000_000 + index}\n"


def test_an_array_gets_the_numbers_that_it_has_not(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(JOB)
    assert tailrace(tmp_path, "run", "--quiet", "job.sh").code == 0
    told = ask(tmp_path, "add", "1", "--array", "3-5,9")
    assert "2 new tasks in bag 1 (job.sh), 2 were there already; it has 6 now" in told.out
    assert "3 new tasks" in ask(tmp_path, "add", "1", "--array", "1-8").out
    assert tailrace(tmp_path, "resume", "--quiet").code == 0
    places = [1, 2, 3, 4, 5, 9, 6, 7, 8]
    wholes = ["4 up to 4 by 1"] * 4 + ["6 up to 9 by 1"] * 2 + ["9 up to 9 by 1"] * 3
    lines = [_line(one, at, wholes[at]) for at, one in enumerate(places)]
    assert _printed(tmp_path) == dict(zip(places, lines, strict=True))
    results = ask(tmp_path, "results", "--json").json
    assert [one["params"]["array"] for one in results] == places
    assert "identical" in ask(tmp_path, "replay").out
    larger = tailrace(tmp_path, "run", "--array", "1-10", "job.sh").err
    assert "9 of 10 tasks have results from bag 1; 1 to do" in larger


OF_ARRAYS = {
    "a limit": ("add 1 --array 5-8%2", "which stays as the bag has it"),
    "no numbers": ("add 1 --array 8-5", "ends before it begins"),
    "values": ("add 1 --set array=5", "add numbers with --array 5-8"),
    "of no array": ("add 2 --array 5-8", "is of a batch script, not an array"),
    "of parameters": ("add 3 --array 5-8", "add more values with `::: d e`"),
    "a last command": ("add 4 bag.toml", "`then` runs once more"),
}


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An array, a script without one, words, and a bag with a last command."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "job.sh").write_text(JOB)
    (folder / "one.sh").write_text("#!/bin/sh\n#SBATCH --mem=100M\ntrue\n")
    (folder / "bag.toml").write_text(
        'command = "true {x}"\nthen = "true"\n[parameters]\nx = [1, 2]\n'
    )
    for words in ("job.sh", "one.sh", "-- true ::: a", "bag.toml"):
        assert tailrace(folder, "run", "--quiet", *words.split()).code == 0
    return folder


@pytest.mark.parametrize("case", OF_ARRAYS)
def test_what_an_array_cannot_get_or_be_given_is_refused(several: Path, case: str) -> None:
    words, told = OF_ARRAYS[case]
    answer = ask(several, *words.split())
    assert answer.code == 2 and told in answer.err


def test_what_is_said_in_place_of_adding_to_a_bag_with_a_last_command_holds(tmp_path: Path) -> None:
    text = 'command = "echo {x} >> ran"\nthen = "cp ran all; echo >> last"\n[parameters]\nx = '
    (tmp_path / "bag.toml").write_text(f"{text}[1, 2]\n")
    assert tailrace(tmp_path, "run", "--quiet").code == 0
    (tmp_path / "bag.toml").write_text(f"{text}[1, 2, 3]\n")
    assert ask(tmp_path, "add", "1", "bag.toml").code == 2
    assert "2 of 4 tasks have results from bag 1; 2 to do" in tailrace(tmp_path, "run").err
    assert sorted((tmp_path / "all").read_text().split()) == ["1", "2", "3"]
    assert (tmp_path / "last").read_text() == "\n\n", "once more"


def test_an_array_at_a_server_gets_more_numbers_while_it_runs(tmp_path: Path) -> None:
    wait = "touch begun; while test ! -e go; do sleep 0.05; done\n"
    (tmp_path / "job.sh").write_text(JOB.replace("echo", f"{wait}echo"))
    with serving(tmp_path, "--local", "-j", "2") as server:
        ada = _join(server, tmp_path, "ada")
        assert ask(tmp_path, "submit", "--server", ada, "-q", "job.sh").code == 0
        wait_for((tmp_path / "begun").exists)
        told = ask(tmp_path, "add", "1", "--server", ada, "--array", "4-6")
        assert "2 new tasks in bag 1 (job.sh), 1 was there already" in told.out
        (tmp_path / "go").touch()
        wait_for(lambda: _state(tmp_path, ada)["succeeded"] == 6)
    wholes = ["4 up to 4 by 1"] * 4 + ["6 up to 6 by 1"] * 2
    assert _printed(tmp_path) == {at + 1: _line(at + 1, at, wholes[at]) for at in range(6)}


def test_users_add_to_their_own_bags_at_a_server_alone(tmp_path: Path) -> None:
    with serving(tmp_path, "--local") as server:
        joins = {name: _join(server, tmp_path, name) for name in ("ada", "bob")}
        (tmp_path / "go").touch()
        submitted = ask(tmp_path, "submit", "--server", joins["ada"], "-q", "--", WAIT, ":::", "a")
        assert submitted.code == 0, submitted.err
        wait_for(lambda: _state(tmp_path, joins["ada"])["phase"] == "finished")
        told = ask(tmp_path, "add", "1", "--server", joins["ada"], ":::", "a", "b")
        assert told.code == 0 and "1 new task in bag 1 (while), 1 was there already" in told.out
        wait_for(lambda: _state(tmp_path, joins["ada"])["succeeded"] == 2)
        other = ask(tmp_path, "add", "1", "--server", joins["bob"], ":::", "c")
        assert other.code == 2 and "there is no bag" in other.err
        assert ask(tmp_path, "cancel", "1", "--yes", "--server", joins["ada"]).code == 0
        (tmp_path / "go").unlink()
        ask(tmp_path, "submit", "--server", joins["ada"], "-q", "--", WAIT, ":::", "x")
        assert ask(tmp_path, "cancel", "2", "--yes", "--server", joins["ada"]).code == 0
        refused = ask(tmp_path, "add", "2", "--server", joins["ada"], ":::", "y")
        assert refused.code == 2 and "bag 2 is cancelled" in refused.err


def _join(server: Any, folder: Path, name: str) -> str:
    done = ask(folder, "tokens", "add", name, "--user")
    found = re.search(r"https?://\S+@\S+", done.out)
    assert found, done.err
    path = folder / f"{name}.join"
    path.touch(0o600)
    path.write_text(found[0] + "\n")
    return str(path)


def _state(folder: Path, join: str) -> Any:
    return json.loads(ask(folder, "status", "--server", join, "--json").out)["bags"][0]
