"""`tailrace simulate` through its own door."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import ask, clean_environment

from tailrace.cli import seeding
from tailrace.simulation.eventsfile import FAMILIES

SCENARIO = """
name = "grid"
stop = { time = "1d" }

[pools.spot]
machines = 4
up = { law = "exponential", mean = "2h" }
down = { law = "exponential", mean = "10m" }
detection = "reported"

[pools.dear]
max = 1
price = "0.10 USD/h"

[bags.small]
tasks = 60
length = { law = "exponential", mean = "10m" }
retries = { lost = 20 }
"""
# All that can be drawn: whoever adds something to draw, adds it here.
EVERYTHING = """
stop = { time = "2d" }
news = { delay = { law = "exponential", mean = "2s" } }

[sites.here]
lan = { rate = "100 MB/s", latency = "1ms" }
up = { law = "exponential", mean = "10h" }
down = { law = "uniform", from = "1m", to = "5m" }
share = 0.5

[network]
storage = { site = "here" }

[pools.spot]
machines = 4
site = "here"
arrivals = { process = "poisson", every = "1m" }
speed = { law = "uniform", from = 1, to = 2 }
spread = { law = "lognormal", median = 1, sigma = 0.1 }
noise = { law = "lognormal", median = 1, sigma = 0.1 }
up = { law = "exponential", mean = "2h" }
down = { law = "exponential", mean = "10m" }
owner_away = { law = "exponential", mean = "5h" }
owner_there = { law = "exponential", mean = "30m" }
load = { lasts = "30m", share = { law = "uniform", from = 0, to = 0.5 } }
pace = { lasts = "40m", factor = { law = "uniform", from = 1, to = 2 } }
returns = 0.95

[pools.dear]
max = 1
site = "here"
startup = { law = "exponential", mean = "2m" }
ending = 1
never_up = { share = 0.4, after = { law = "exponential", mean = "1m" } }
price = "0.10 USD/h"

[bags.small]
tasks = 60
length = { law = "exponential", mean = "10m" }
arrivals = { process = "daily", per_day = 900, night = 0.2 }
input = { law = "uniform", from = "1 MB", to = "20 MB" }
output = { law = "uniform", from = "1 MB", to = "20 MB" }
checkpoint = { every = "5m", pause = "2s", size = "10 MB" }
draw = "even"
failing = { tasks = 0.05, attempts = 0.05, length = { law = "uniform", from = "1m", to = "9m" } }
timeout = "2h"
retries = { lost = 20, expired = 20 }
"""
# Two scenarios: one is done at once, the other never.
ENDLESS = """
[pools.one]
machines = 1
up = "1s"
down = "1s"
detection = "reported"
[bags.long]
tasks = 1
length = "10s"
retries = { lost = 1000000000 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "grid.toml").write_text(SCENARIO)
    return tmp_path


def test_each_figure_has_its_mean_over_the_seeds(folder: Path) -> None:
    told = ask(folder, "simulate", "grid.toml", "--seeds", "3", "--json").json[0]
    runs = [run["makespan_s"] for run in told["runs"]]
    assert told["seeds"] == [0, 1, 2] and len(set(runs)) == 3
    assert told["figures"]["makespan_s"]["mean"] == pytest.approx(sum(runs) / 3)
    assert told["figures"]["makespan_s"]["least"] == min(runs)


def test_one_process_finds_what_all_cores_find(folder: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "3", "--json")
    assert ask(folder, *words, "-j", "1").out == ask(folder, *words, "-j", "3").out


def test_machines_add_up_to_the_system(folder: Path) -> None:
    told = ask(folder, "simulate", "grid.toml", "--seeds", "2", "--json").json[0]
    machines, means = told["machines"], told["figures"]
    names = [one["name"] for one in machines]
    assert names == [
        *(f"spot-{n}" for n in range(4)),
        *(f"dear-{n}" for n in range(len(names) - 4)),
    ]
    for name in ("failures", "work_done_h", "work_useful_h", "jobs_lost"):
        total = sum(one["figures"][name] * one["runs"] / 2 for one in machines)
        assert total == pytest.approx(means[name]["mean"]), name
    done = sum(one["figures"]["jobs_done"] * one["runs"] for one in machines)
    assert done == 2 * means["tasks_done"]["mean"] == 120
    assert told["links"] == []


def test_machines_and_links_are_tables_when_asked_for(folder: Path) -> None:
    told = ask(folder, "simulate", "grid.toml", "--seeds", "2", "--machines", "--links").out
    head = next(line for line in told.splitlines() if line.startswith("machines"))
    assert head.split()[:6] == ["machines", "of", "runs", "availability", "down_s", "failures"]
    assert "checkpoints" not in head, "nothing but zeros"
    assert "spot-3" in told and "grid: no links" in told
    leased = [line for line in told.splitlines() if line.startswith("dear, leased")]
    assert len(leased) == 1 and "dear-0" not in told
    assert leased[0].split()[2:4] == ["dear", "2"]


LIMITED = """
progress = { every = "3m" }
[sites.here]
lan = { rate = "1 MB/s" }
[network]
storage = { site = "here" }
[pools.one]
machines = 1
site = "here"
[bags.some]
lengths = ["20m", "10m", "4m"]
limits.time = "10m"
"""


@pytest.mark.parametrize("more", ["", "input = '60 MB'\ncheckpoint = { every = '4m' }\n"])
def test_a_task_is_ended_at_its_time_limit(tmp_path: Path, more: str) -> None:
    """That of exactly the limit is in time; an input that travels takes none of it."""
    (tmp_path / "s.toml").write_text(LIMITED + more)
    words = ("simulate", "s.toml", "--seeds", "1", "--json")
    found = ask(tmp_path, *words).json[0]["runs"][0]
    travels = 3 * 60 if more else 0
    assert (found["tasks_done"], found["tasks_failed"], found["attempts"]) == (2, 1, 3)
    assert found["makespan_s"] == (10 + 10 + 4) * 60 + travels
    grows = ("--set", 'bags.some.on_over_limit.time="x2 up to 1h"')
    found = ask(tmp_path, *words, *grows).json[0]["runs"][0]
    assert (found["tasks_done"], found["tasks_failed"], found["attempts"]) == (3, 0, 4)


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


def test_it_is_told_whether_the_deadline_was_kept(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        '[pools.p]\nmachines = 1\n[bags.b]\nat = "1h"\nlengths = ["10m", "10m"]\n'
    )
    words = ("simulate", "s.toml", "--seeds", "1")
    assert "deadline_kept" not in ask(tmp_path, *words).out
    vary = ("--vary", "bags.b.deadline=19m,20m", "--figure", "deadline_kept", "--json")
    late, kept = ask(tmp_path, *words, *vary).json
    assert (late["runs"][0]["deadline_kept"], kept["runs"][0]["deadline_kept"]) == (0, 1)


def test_a_reader_that_goes_early_is_no_failure(folder: Path) -> None:
    """Nobody reads from the beginning: each thing that it prints finds that out."""
    line = f"{sys.executable} -m tailrace.cli.main simulate grid.toml --seeds 1 -j 1"
    shell = f"set -o pipefail; {line} | exec true"
    done = subprocess.run(["bash", "-c", shell], cwd=folder, env=clean_environment({}),
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


CAME_AND_WENT = "0,add,n1\n1500000,remove,n1\n1600000,add,n1\n"


@pytest.mark.parametrize("unrecorded", ["up", "away"])
def test_a_node_of_a_pool_is_away_when_recorded_and_stays_after_the_last_record(
    tmp_path: Path, unrecorded: str
) -> None:
    (tmp_path / "pool.csv").write_text(CAME_AND_WENT)
    (tmp_path / "s.toml").write_text(
        f'[pools.p]\ntrace = {{ file = "pool.csv", unrecorded = "{unrecorded}" }}\n'
        'detection = "reported"\n[bags.b]\nlengths = ["30m"]\n'
    )
    words = ("simulate", "s.toml", "--seeds", "1", "--json")
    found = ask(tmp_path, *words).json[0]["runs"][0]
    assert (found["makespan_s"], found["jobs_lost"], found["failures"]) == (1600 + 1800, 1, 1)
    (tmp_path / "pool.csv").write_text(CAME_AND_WENT + "1700000,remove,n1\n")
    told = ask(tmp_path, *words).json[0]
    assert told["runs"][0]["tasks_done"] == 0 and "every machine is gone" in str(told["unfinished"])


def test_running_tells_mean_and_variance_after_each_run(folder: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "3", "--running", "--figure", "makespan_s")
    told = ask(folder, *words, "--json").json[0]
    a, b, c = (run["makespan_s"] for run in told["runs"])
    steps = told["running"]["makespan_s"]
    assert [step["mean"] for step in steps] == pytest.approx([a, (a + b) / 2, (a + b + c) / 3])
    assert steps[0]["variance"] is None
    assert steps[1]["variance"] == pytest.approx((a - b) ** 2 / 2)
    rows = ask(folder, *words).out.splitlines()
    assert [row.split()[-5:-3] for row in rows[-2:]] == [["2", "1"], ["3", "2"]]


def test_variants_are_compared_in_one_table(folder: Path) -> None:
    told = ask(folder, "simulate", "grid.toml", "--seeds", "2", "--vary", "pools.spot.machines=2,8")
    head, few, many = told.out.splitlines()[-3:]
    assert head.split()[:3] == ["scenario", "runs", "makespan_s"] and "cost_USD" in head
    assert few.startswith("grid (pools.spot.machines=2)")
    assert many.startswith("grid (pools.spot.machines=8)")


def test_a_pool_may_be_varied_down_to_nothing(folder: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "1", "--vary", "pools.dear.max=0,1", "--json")
    without, with_it = ask(folder, *words).json
    assert "cost_USD" not in without["figures"] and with_it["figures"]["cost_USD"]["mean"] > 0


def test_two_files_of_one_name_are_told_apart(folder: Path) -> None:
    (folder / "other.toml").write_text(SCENARIO)
    told = ask(folder, "simulate", "grid.toml", "other.toml", "--seeds", "1").out
    assert "grid.toml: grid: 1 run\n" in told and "other.toml: grid: 1 run\n" in told


def test_a_varied_value_may_be_a_law(folder: Path) -> None:
    laws = 'bags.small.length={law="uniform", from="1m", to="2m"}, "5m"'
    told = ask(folder, "simulate", "grid.toml", "--seeds", "1", "--vary", laws, "--json").json
    assert [one["varied"] for one in told] == [
        {"bags.small.length": "uniform 1m 2m"},
        {"bags.small.length": "5m"},
    ]
    assert told[0]["runs"][0]["work_useful_h"] < told[1]["runs"][0]["work_useful_h"] == 5


def test_without_a_terminal_a_line_tells_now_and_then(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("simulate", "grid.toml", "--seeds", "3", "-j", "1")
    assert ask(folder, *words).err == "", "it takes less than ten seconds"
    monkeypatch.setattr(seeding, "PLAIN_EVERY_S", 0)
    lines = ask(folder, *words).err.splitlines()
    assert lines[1].startswith("tailrace: 2 of 3 runs done, ") and len(lines) == 3
    assert ask(folder, *words, "--quiet").err == ask(folder, *words, "--json").err == ""


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    """On a terminal, so that the bar tells when to interrupt; only the first process is told."""
    (tmp_path / "endless.toml").write_text(ENDLESS)
    screen, theirs = pty.openpty()
    words = ["simulate", "endless.toml", "--seeds", "2", "-j", "2", "--vary", "pools.one.up=1d,1s"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tailrace.cli.main", *words], cwd=tmp_path,
        env=clean_environment({"TERM": "xterm", "COLUMNS": "100", "TAILRACE_COLOR": "never"}),
        stdout=subprocess.PIPE, stderr=theirs, text=True, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        assert "2/4 runs" in read_until(screen, "2/4 runs")
        process.send_signal(signal.SIGINT)
        # Read first: a terminal that nobody reads is full after a few bars, and then it blocks.
        assert "2 of 4 runs are done" in read_until(screen, "are done")
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert gone(process.pid), "a worker is left behind"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)
        os.close(screen)
    assert "endless (pools.one.up=1d): 2 runs" in out
    assert "endless (pools.one.up=1s): 0 runs" in out


def gone(group: int) -> bool:
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def read_until(screen: int, text: str) -> str:
    seen, ends = "", time.monotonic() + 30
    while text not in seen and time.monotonic() < ends:
        if select.select([screen], [], [], 0.5)[0]:
            try:
                seen += os.read(screen, 65536).decode(errors="replace")
            except OSError:
                break
    return seen


def test_what_was_drawn_is_written_and_gives_the_same_run_again(folder: Path) -> None:
    """By file and by flag; with another seed, because nothing is left to draw."""
    words = ("simulate", "grid.toml", "--seeds", "1", "--json")
    first = ask(folder, *words, "--seed", "7", "--expand", "events.csv").out
    assert ask(folder, *words, "--seed", "7", "--events", "events.csv").out == first
    drawn = (folder / "events.csv").read_text().splitlines()
    assert drawn[0] == "what,number,value"
    assert sum(row.startswith("bag/1/lengths,") for row in drawn) == 60
    (folder / "grid.toml").write_text(f'events = "events.csv"\n{SCENARIO}')
    again = ask(folder, *words, "--seed", "8").json[0]
    assert again["runs"] == msgspec.json.decode(first)[0]["runs"]
    assert again["machines"] == msgspec.json.decode(first)[0]["machines"]


def test_all_that_can_be_drawn_can_be_written_and_read(tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(EVERYTHING)
    words = ("simulate", "all.toml", "--seeds", "1", "--json")
    first = ask(tmp_path, *words, "--expand", "events.csv")
    again = ask(tmp_path, *words, "--events", "events.csv", "--seed", "5")
    assert (first.code, again.code) == (0, 0), again.err
    assert again.json[0]["runs"] == first.json[0]["runs"]
    assert again.json[0]["links"] == first.json[0]["links"] != []
    drawn = {row.split("/")[0] for row in (tmp_path / "events.csv").read_text().splitlines()[1:]}
    assert {name.partition(",")[0] for name in drawn} == set(FAMILIES)


def test_a_file_may_have_a_part_of_it_and_the_rest_is_drawn(folder: Path) -> None:
    lasting = "pools.spot.up.mean=1000d"  # or the long task is lost with its machines
    words = ("simulate", "grid.toml", "--seeds", "1", "--json", "--set", lasting)
    (folder / "long.csv").write_text("what,number,value\nbag/1/lengths,0,36000\n")
    plain, changed = (
        ask(folder, *words).json[0],
        ask(folder, *words, "--events", "long.csv").json[0],
    )
    assert changed["runs"][0]["makespan_s"] == 36000 > plain["runs"][0]["makespan_s"]
    ask(folder, *words, "--expand", "a.csv")
    ask(folder, *words, "--events", "long.csv", "--expand", "b.csv")
    before, after = ((folder / name).read_text().splitlines() for name in ("a.csv", "b.csv"))
    lengths = [
        pair for pair in zip(before, after, strict=False) if pair[0].startswith("bag/1/lengths")
    ]
    assert [a == b for a, b in lengths] == [False] + [True] * 59


@pytest.mark.parametrize(
    ("rows", "line", "says"),
    [
        ("bag/1/lengths,0,5\nbag/1/lengths,2,5", 3, "1 comes next"),
        ("bag/1/lengths,0,-5", 2, "negative"),
        ("bag/1/lengths,0,soon", 2, "not a number"),
        ("bag/2/lengths,0,5", 2, "the bags are 1"),
        ("speeed/spot,0,5", 2, "did you mean speed?"),
        ("speed/sopt,0,5", 2, "the pools are spot, dear"),
        ("speed/spot,0,0", 2, "never do anything"),
        ("speed/spot", 2, "cells"),
    ],
)
def test_a_bad_file_of_events_is_told_with_its_line(
    folder: Path, rows: str, line: int, says: str
) -> None:
    (folder / "events.csv").write_text(f"what,number,value\n{rows}\n")
    told = ask(folder, "simulate", "grid.toml", "--events", "events.csv")
    assert told.code == 2 and f"events.csv:{line}: " in told.err and says in told.err


def test_names_that_nothing_is_drawn_under_are_told(folder: Path) -> None:
    """In the second the pool has no `up`; the third is drawn."""
    rows = "bag/1/lenths,0,5\nfailure/dear/0/here,0,5\nfailure/spot/3/here,0,5\n"
    (folder / "events.csv").write_text(f"what,number,value\n{rows}")
    words = ("simulate", "grid.toml", "--seeds", "2", "--events", "events.csv")
    told = ask(folder, *words)
    assert told.code == 0
    says = "bag/1/lenths, but nothing is drawn under that name; did you mean bag/1/lengths?"
    assert says in told.out
    assert ask(folder, *words, "--json").json[0]["never_drawn"] == [
        "bag/1/lenths", "failure/dear/0/here"
    ]  # fmt: skip


def test_a_trace_has_each_event_and_decision_with_its_time(folder: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "2")
    told = ask(folder, *words, "--trace", "trace.jsonl", "--json").json[0]
    lines = [msgspec.json.decode(line) for line in (folder / "trace.jsonl").open("rb")]
    times = [line["at_s"] for line in lines]
    assert times == sorted(times) and lines[0]["event"]["type"] == "Restarted"
    sent = [line for line in lines if line.get("decision", {}).get("type") == "Assign"]
    assert len(sent) == told["runs"][0]["attempts"]
    assert max(times) == told["runs"][0]["makespan_s"]
    assert ask(folder, *words, "--trace", "-").out == (folder / "trace.jsonl").read_text()


def test_the_remaining_tasks_are_drawn(folder: Path) -> None:
    assert ask(folder, "simulate", "grid.toml", "--seeds", "3", "--plot", "runs.svg").code == 0
    drawn = (folder / "runs.svg").read_text()
    assert "median of 3 runs" in drawn and "90 % of the runs" in drawn and "The last 10" in drawn
    assert ask(folder, "simulate", "grid.toml", "--seeds", "1", "--plot", "one.png").code == 0
    assert (folder / "one.png").read_bytes().startswith(b"\x89PNG")


def test_figures_are_drawn_against_what_was_varied(folder: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "2", "--vary", "pools.spot.machines=2,50")
    assert (
        ask(folder, *words, "--vary", "bags.small.matching=fcfs,maxmax", "--plot", "v.svg").code
        == 0
    )
    drawn = (folder / "v.svg").read_text()
    for text in ("makespan (h)", "cost (USD)", "pools.spot.machines", "matching=maxmax", ">50<"):
        assert text in drawn, text


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


def test_tasks_on_machines_that_stand_still_are_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text("time,share\n0,0\n900,1\n")
    (tmp_path / "still.toml").write_text(
        '[pools.old]\nmachines = 1\nload = { file = "load.csv" }\n'
        '[bags.b]\ntasks = 4\nlength = "10m"\n'
    )
    told = ask(tmp_path, "simulate", "still.toml", "--seeds", "1").out
    assert "warning: 3 tasks without a result in 1 of 1 run: " in told
    assert "their attempts are out, on machines that stand still" in told


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


QUEUE = """
[pools.one]
machines = 1
[bags.jobs]
tasks = 1500
length = { law = "exponential", mean = "60s" }
arrivals = { process = "poisson", every = "120s" }
"""
GROWS = "the system has no steady state, or the run is too short"


def test_waiting_that_grows_is_told_from_an_interval_that_is_wide(tmp_path: Path) -> None:
    """One machine, half loaded; and one that gets work faster than it can do it."""
    (tmp_path / "queue.toml").write_text(QUEUE)
    words = ("simulate", "queue.toml", "--seeds", "6", "--figure", "waiting_s")
    half = ask(tmp_path, *words)
    assert "\nwide: the interval is more than ± 5 % of the mean; take more seeds\n" in half.out
    assert GROWS not in half.out
    over = (*words, "--set", "bags.jobs.arrivals.every=54.5s")
    assert GROWS in ask(tmp_path, *over).out.splitlines()[-1]
    assert ask(tmp_path, *words, "--json").json[0]["growth"]["grows"] is False
    growth = ask(tmp_path, *over, "--json").json[0]["growth"]
    assert growth["grows"] is True and growth["later_s"] > 1.25 * growth["earlier_s"]


def test_a_bag_that_is_there_at_once_has_no_steady_state_to_look_for(folder: Path) -> None:
    assert ask(folder, "simulate", "grid.toml", "--seeds", "3", "--json").json[0]["growth"] is None


def test_a_link_carried_what_travelled(tmp_path: Path) -> None:
    """Ten inputs of 10 MB and outputs of 5 MB, at 10 MB/s."""
    (tmp_path / "site.toml").write_text(
        '[sites.here]\nlan = { rate = "10 MB/s" }\n[network]\nstorage = { site = "here" }\n'
        '[pools.p]\nmachines = 1\nsite = "here"\n'
        '[bags.b]\ntasks = 10\nlength = "1m"\ninput = "10 MB"\noutput = "5 MB"\n'
    )
    words = ("simulate", "site.toml", "--seeds", "1", "--links")
    told = ask(tmp_path, *words, "--json").json[0]
    (link,) = told["links"]
    makespan = told["runs"][0]["makespan_s"]
    assert (link["name"], link["of"], link["figures"]["megabytes"]) == ("here lan", "local", 150)
    assert link["figures"]["used"] == pytest.approx(15 / makespan)
    assert 10 / makespan <= link["figures"]["busy"] <= 15 / makespan + 1e-9
    row = ask(tmp_path, *words).out.splitlines()[-1].split()
    assert row[:4] == ["here", "lan", "local", "1"] and row[4] == "150"
