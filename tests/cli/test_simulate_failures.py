"""Simulated tasks that fail, and those that are left without a result."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import ask

from tailrace.simulation import patience, world

NOWHERE = """
[pools.p]
machines = 2
up = { law = "exponential", mean = "30s" }
down = "1m"
[bags.b]
tasks = 3
length = "15m"
"""
FRAIL = """
[pools.p]
machines = 1
up = "1s"
down = "1s"
[bags.b]
tasks = 5
length = "1m"
"""


def test_why_tasks_failed_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(FRAIL)
    words = ("simulate", "s.toml", "--seeds", "2")
    told = ask(tmp_path, *words).out
    assert "failed tasks of all runs, by the outcome that ended them: 10 lost" in told
    assert "jobs_rejected" not in told
    assert ask(tmp_path, *words, "--json").json[0]["failed"] == {"lost": 10}


def test_tasks_that_nobody_will_ever_do_are_told(tmp_path: Path) -> None:
    (tmp_path / "lost.toml").write_text(
        '[pools.old]\nmachines = 1\nup = "25m"\n[bags.b]\ntasks = 4\nlength = "10m"\n'
    )
    told = ask(tmp_path, "simulate", "lost.toml", "--seeds", "2").out
    assert (
        "\nwarning: 4 tasks without a result in 2 of 2 runs: nothing was left to happen: every "
        "machine is gone, and no other would come\nmakespan_s is not known\n" in told
    )
    (tmp_path / "dear.toml").write_text(
        '[pools.dear]\nmax = 1\nprice = "1 USD/h"\n'
        '[bags.b]\ntasks = 4\nlength = "1h"\nbudget = "2 USD"\n'
    )
    (why,) = ask(tmp_path, "simulate", "dear.toml", "--json").json[0]["unfinished"].items()
    assert why[0].startswith("bag b was stopped: ") and why[1] == 20
    ended = ask(tmp_path, "simulate", "lost.toml", "--set", "stop.time=20m", "--json").json[0]
    assert ended["unfinished"] == {} and ended["figures"]["makespan_s"]["mean"] == 1200


@pytest.mark.parametrize("stop", ["", 'stop = { time = "100d" }'])
def test_machines_that_fail_without_end_do_not_keep_a_run_going(tmp_path: Path, stop: str) -> None:
    """Those of the bag are gone for good; of two tasks one lost its only other try with them."""
    (tmp_path / "dead.toml").write_text(
        f'{stop}\n[pools.old]\nmachines = 1\nup = "25m"\n'
        '[pools.other]\nmachines = 2\nup = "1s"\ndown = "1s"\ndetection = "reported"\n'
        '[bags.b]\nlengths = ["20m", "20m"]\npools = ["old"]\nretries = { lost = 0 }\n'
        '[bags.late]\nat = "1h"\nlengths = ["1m"]\npools = ["old"]\n'
    )
    (found,) = ask(tmp_path, "simulate", "dead.toml", "--seeds", "1", "--json").json
    (why,) = found["unfinished"]
    assert "there are machines, but none that may do them" in why
    run = found["runs"][0]
    assert (run["tasks_done"], run["tasks_failed"], run["tasks_submitted"]) == (1, 1, 3)


def test_a_stopped_bag_does_not_wait_for_attempts_that_never_return(tmp_path: Path) -> None:
    (tmp_path / "braked.toml").write_text(
        "[pools.p]\nmachines = 2\nreturns = 0.5\n"
        '[bags.b]\ntasks = 40\nlength = "1m"\nmax_failures = 1\ntimeout = "1h"\n'
        "failing = { tasks = 0.5 }\nretries = { task_failed = 0, expired = 1000 }\n"
    )
    found = ask(tmp_path, "simulate", "braked.toml", "--seeds", "5", "--json").json[0]
    assert sum(found["unfinished"].values()) == 5
    assert any(why.startswith("bag b was braked: ") for why in found["unfinished"])


def test_tasks_on_machines_that_stand_still_are_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text("time,share\n0,0\n900,1\n")
    (tmp_path / "still.toml").write_text(
        '[pools.old]\nmachines = 1\nload = { file = "load.csv" }\n'
        '[bags.b]\ntasks = 4\nlength = "10m"\n'
    )
    told = ask(tmp_path, "simulate", "still.toml", "--seeds", "1").out
    assert "warning: 3 tasks without a result in 1 of 1 run: " in told
    assert "their attempts are out, on machines that stand still" in told


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["bags.b.retries.lost=1000000000"], "sendings in a row brought no result"),
        (['pools.p.notice="1s"'], "sendings in a row brought no result"),
        (
            ["bags.b.checkpoint.every=10m", "bags.b.retries.lost=1000000000"],
            "no task ended in 0.01",
        ),
    ],
)
def test_a_run_that_gets_nowhere_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], why: str
) -> None:
    """Not refused, since by their law machines may live long enough, in some million years."""
    monkeypatch.setattr(world, "LOOK", 1000)
    monkeypatch.setattr(patience, "SENDINGS", 500)
    monkeypatch.setattr(patience, "YEARS", 0.01)
    (tmp_path / "s.toml").write_text(NOWHERE)
    sets = [word for one in more for word in ("--set", one)]
    words = ("simulate", "s.toml", "--seeds", "1", "-j", "1", "--json", *sets)
    (told,) = ask(tmp_path, *words).json[0]["unfinished"]
    assert why in told


def test_a_run_that_comes_to_the_end_of_time_says_so(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        "[pools.p]\nmachines = 2\n[bags.b]\nlengths = [60, 4e12, 4e12]\n"
    )
    words = (
        "simulate",
        "s.toml",
        "--seeds",
        "1",
        "-j",
        "1",
        "--json",
        "--set",
        "pools.p.slope=1.2",
    )
    (found,) = ask(tmp_path, *words).json
    assert found["runs"][0]["tasks_done"] == 1 and found["left"] == [2]
    assert "time came to its end" in str(found["unfinished"])


def test_only_runs_that_finished_have_a_makespan(tmp_path: Path) -> None:
    (tmp_path / "some.toml").write_text(
        '[pools.old]\nmachines = 2\nup = { law = "exponential", mean = "1h" }\n'
        '[bags.b]\ntasks = 4\nlength = "10m"\n'
    )
    words = ("simulate", "some.toml", "--figure", "makespan_s")
    found = ask(tmp_path, *words, "--running", "--json").json[0]
    finished = [run["makespan_s"] for run, left in zip(found["runs"], found["left"], strict=True)
                if not left]  # fmt: skip
    assert 0 < len(finished) < 20 and sum(found["unfinished"].values()) == 20 - len(finished)
    assert found["figures"]["makespan_s"]["mean"] == pytest.approx(sum(finished) / len(finished))
    assert len(found["running"]["makespan_s"]) == len(finished)
    told = ask(tmp_path, *words).out
    assert f"warning: {sum(found['left'])} tasks without a result in " in told
    assert f"makespan_s is that of the {len(finished)} runs that finished" in told


def test_a_choice_whose_tasks_all_failed_does_not_look_like_the_best(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(FRAIL)
    words = ("simulate", "s.toml", "--seeds", "2", "--vary", "pools.p.up=1s,10h")
    told = ask(tmp_path, *words, "--figure", "makespan_s").out
    assert told.count("warning: no task succeeded in any run; makespan_s is when") == 1
    assert told.endswith("warning: 10 tasks failed for good in s (pools.p.up=1s)\n")
