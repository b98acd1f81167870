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
    assert ask(tmp_path, *words, "--json").json[0]["failed"] == {"lost": 10}


def test_tasks_that_nobody_will_ever_do_are_told(tmp_path: Path) -> None:
    (tmp_path / "lost.toml").write_text(
        '[pools.old]\nmachines = 1\nup = "25m"\n[bags.b]\ntasks = 4\nlength = "10m"\n'
    )
    told = ask(tmp_path, "simulate", "lost.toml", "--seeds", "2").out
    assert (
        "\nwarning: 4 tasks without a result in 2 of 2 runs: nothing was left to happen: every "
        "machine is gone, and no other would come (pools.old has up, but no down)\n"
        "makespan_s is not known: no run ended with a result of every task\n" in told
    )
    (tmp_path / "dear.toml").write_text(
        '[pools.dear]\nmax = 1\nprice = "1 USD/h"\n'
        '[bags.b]\ntasks = 4\nlength = "1h"\nbudget = "2 USD"\n'
    )
    (why,) = ask(tmp_path, "simulate", "dear.toml", "--json").json[0]["unfinished"].items()
    assert why[0].startswith("bag b was stopped: ") and why[1] == 20
    ended = ask(tmp_path, "simulate", "lost.toml", "--set", "stop.time=20m", "--json").json[0]
    assert ended["unfinished"] == {} and ended["runs"][0]["makespan_s"] is None


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


@pytest.mark.parametrize("late", ["accept", "ignore"])
@pytest.mark.parametrize("calls", ["free", "worker"])
def test_a_machine_is_busy_with_what_never_returns_until_its_time_out(
    tmp_path: Path, late: str, calls: str
) -> None:
    """Five machines; each attempt ends after 100 s, or holds its place for 400."""
    (tmp_path / "lost.toml").write_text(
        f'[pools.u]\nmachines = 5\nreturns = 0.5\nlate_results = "{late}"\ncalls = "{calls}"\n'
        '[bags.b]\ntasks = 20\nlength = "100s"\ntimeout = "400s"\nretries = { expired = 30 }\n'
    )
    found = ask(tmp_path, "simulate", "lost.toml", "--seeds", "8", "--json").json[0]
    assert not found["unfinished"]
    for run in found["runs"]:
        again = run["attempts"] - 20
        assert run["tasks_done"] == 20 and again > 0
        assert run["makespan_s"] >= (20 * 100 + (again - 4) * 400) / 5


@pytest.mark.parametrize("calls", ["free", "worker"])
@pytest.mark.parametrize(("slots", "full"), [(1, 1), (2, 0)])
def test_what_never_returns_is_no_work_though_its_machine_is_busy(
    tmp_path: Path, calls: str, slots: int, full: float
) -> None:
    (tmp_path / "lost.toml").write_text(
        f'stop.time = "1000s"\n[pools.u]\nmachines = 1\nreturns = 0\ncalls = "{calls}"\n'
        f"slots = {slots}\n"
        '[bags.b]\ntasks = 1\nlength = "100s"\ntimeout = "400s"\nretries = { expired = 30 }\n'
    )
    run = ask(tmp_path, "simulate", "lost.toml", "--seeds", "1", "--json").json[0]["runs"][0]
    assert (run["attempts"], run["work_done_h"], run["work_lost"]) == (3, 0, 0)
    assert (run["busy"], run["full"]) == pytest.approx((1, full), abs=1e-3)


@pytest.mark.parametrize(
    ("bag", "done_s", "useful_s"),
    [
        ("lengths = [1000]\ncheckpoint = { every = 100 }\n"
         'replication = { strategy = "wqr", most = 2 }', 1900, 1000),
        ("lengths = [1000]\n"
         'replication = { strategy = "wqr", most = 2 }', 1900, 1000),
        ("lengths = [1000, 100]\n"
         'replication = { strategy = "ntdmr", n = 1, cancel = false }\n'
         "[bags.later]\nat = 1100\nlengths = [200]", 2300, 1300),
        ("lengths = [1000, 100]\n"
         "policy = { ReplicationRequirements = 'NumberOfReplicas < 2', losers = 'run on' }\n"
         "[bags.later]\nat = 1100\nlengths = [200]", 2300, 1300),
        ("tasks = 4\nlength = 100\nfailing = { tasks = 1.0 }\nretries = { task_failed = 0 }",
         400, 0),
        ("tasks = 4\nlength = 100\nfailing = { attempts = 1.0 }\nretries = { task_failed = 1 }",
         800, 0),
    ],
)  # fmt: skip
def test_work_that_came_to_nothing_is_lost(
    tmp_path: Path, bag: str, done_s: float, useful_s: float
) -> None:
    """Two machines, the second slower by a tenth: a replica there is never first. One that is not
    cancelled runs to its end, while the other machine does what came later."""
    pool = "machines = 1\nreliable = false\n"
    (tmp_path / "s.toml").write_text(
        f"[pools.a]\n{pool}[pools.b]\n{pool}speed = 0.9\n[bags.x]\n{bag}\n"
    )
    run = ask(tmp_path, "simulate", "s.toml", "--seeds", "1", "--json").json[0]["runs"][0]
    assert run["work_done_h"] == pytest.approx(done_s / 3600)
    assert run["work_useful_h"] == pytest.approx(useful_s / 3600)
    assert run["work_lost"] == pytest.approx(1 - useful_s / done_s)


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
    each = [run["makespan_s"] for run in found["runs"]]
    assert [one is None for one in each] == [left > 0 for left in found["left"]]
    finished = [one for one in each if one is not None]
    assert 0 < len(finished) < 20 and sum(found["unfinished"].values()) == 20 - len(finished)
    sums = found["figures"]["makespan_s"]
    assert sums["mean"] == pytest.approx(sum(finished) / len(finished))
    assert sums["runs"] == len(finished) and found["figures"]["attempts"]["runs"] == 20
    means = [step["mean"] for step in found["running"]["makespan_s"]]
    assert means[-1] == pytest.approx(sums["mean"]) and len(means) == 20
    unknown = each.index(None)
    assert unknown and means[unknown] == means[unknown - 1]
    told = ask(tmp_path, *words).out
    assert f"warning: {sum(found['left'])} tasks without a result in " in told
    assert f"of {len(finished)} of 20 runs\n" in told
    assert f"makespan_s is that of the {len(finished)} runs in which every task has its" in told
    compared = ask(tmp_path, *words, "--vary", "pools.old.machines=2,3").out.splitlines()
    assert any(line.endswith(f"of {len(finished)} runs") for line in compared[-2:])


CUT_OFF = """
[pools.p]
machines = 2
[bags.b]
tasks = 6
length = { law = "uniform", from = "8m", to = "12m" }
deadline = "2h"
"""


@pytest.mark.parametrize("stop", ['time="15m"', "tasks=3", "events=5", "failed=1"])
def test_a_run_that_was_cut_off_has_no_makespan(tmp_path: Path, stop: str) -> None:
    """The last result there is says nothing of when the last of all would have come."""
    (tmp_path / "s.toml").write_text(
        CUT_OFF + "failing.attempts = 1\nretries = 0\n" * ("failed" in stop)
    )
    words = ["simulate", "s.toml", "--seeds", "3", "-j", "1", "--set", f"stop.{stop}"]
    (found,) = ask(tmp_path, *words, "--json", "--running").json
    assert [run["makespan_s"] for run in found["runs"]] == [None] * 3
    kept = 0 if "failed" in stop else None  # a task that failed will never have its result in time
    assert [run["deadline_kept"] for run in found["runs"]] == [kept] * 3
    assert found["figures"]["makespan_s"] == {
        "runs": 0, "mean": None, "variance": None, "least": None, "most": None,
        "half_width": None, "settled": False,
    }  # fmt: skip
    assert found["running"]["makespan_s"][-1]["mean"] is None
    told = ask(tmp_path, *words, "--running", "--figure", "makespan_s").out.splitlines()
    assert told[2].split() == ["makespan_s", "unknown"]
    assert "makespan_s is not known: no run ended with a result of every task" in told
    assert told[-1].split() == ["3", "2", "unknown"]


def test_a_figure_that_no_run_knows_is_compared_and_drawn(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(CUT_OFF)
    words = ("simulate", "s.toml", "--seeds", "2", "-j", "1", "--figure", "makespan_s")
    for values, known in (("15m,16m", 0), ("15m,2h", 1)):
        more = ("--vary", f"stop.time={values}", "--plot", "v.svg")
        found = ask(tmp_path, *words, *more)
        assert found.code == 0, found.err
        assert [line.endswith(" unknown") for line in found.out.splitlines()[-2:]] == [
            True,
            not known,
        ]
        drawn = (tmp_path / "v.svg").read_text()
        assert ("not known of any run" in drawn) == (not known)
    assert ask(tmp_path, *words, "--set", "stop.time=1m", "--plot", "none.svg").code == 0


def test_turnaround_is_of_tasks_that_succeeded(tmp_path: Path) -> None:
    """Those that fail do so at their end: 10, 20 and 30 minutes, of which the second counts."""
    (tmp_path / "s.toml").write_text(
        "[pools.p]\nmachines = 3\n[bags.b]\n"
        'lengths = ["10m", "20m", "30m"]\nfailing.known = [0, 2]\nretries = 0\n'
    )
    words = ("simulate", "s.toml", "--seeds", "1", "-j", "1", "--json")
    run = ask(tmp_path, *words).json[0]["runs"][0]
    assert (run["turnaround_s"], run["makespan_s"]) == (1200, 1800)
    run = ask(tmp_path, *words, "--set", "bags.b.failing.known=[0, 1, 2]").json[0]["runs"][0]
    assert (run["turnaround_s"], run["tasks_failed"]) == (None, 3)


def test_a_choice_whose_tasks_all_failed_does_not_look_like_the_best(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(FRAIL)
    words = ("simulate", "s.toml", "--seeds", "2", "--vary", "pools.p.up=1s,10h")
    told = ask(tmp_path, *words, "--figure", "makespan_s").out
    assert told.count("warning: no task succeeded in any run; makespan_s is when") == 1
    assert told.endswith("warning: 10 tasks failed for good in s (pools.p.up=1s)\n")
