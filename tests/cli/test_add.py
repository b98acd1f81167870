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
