"""`tailrace simulate` through its own door."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ask, clean_environment


def test_each_figure_has_its_mean_over_the_seeds(grid: Path) -> None:
    told = ask(grid, "simulate", "grid.toml", "--seeds", "3", "--json").json[0]
    runs = [run["makespan_s"] for run in told["runs"]]
    assert told["seeds"] == [0, 1, 2] and len(set(runs)) == 3
    assert told["figures"]["makespan_s"]["mean"] == pytest.approx(sum(runs) / 3)
    assert told["figures"]["makespan_s"]["least"] == min(runs)


def test_one_process_finds_what_all_cores_find(grid: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "3", "--json")
    assert ask(grid, *words, "-j", "1").out == ask(grid, *words, "-j", "3").out


def test_machines_add_up_to_the_system(grid: Path) -> None:
    told = ask(grid, "simulate", "grid.toml", "--seeds", "2", "--json").json[0]
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


def test_machines_and_links_are_tables_when_asked_for(grid: Path) -> None:
    told = ask(grid, "simulate", "grid.toml", "--seeds", "2", "--machines", "--links").out
    head = next(line for line in told.splitlines() if line.startswith("machines"))
    assert head.split()[:6] == ["machines", "of", "runs", "availability", "down_s", "failures"]
    assert "checkpoints" not in head, "nothing but zeros"
    assert "spot-3" in told and "grid: no links" in told
    leased = [line for line in told.splitlines() if line.startswith("dear, leased")]
    assert len(leased) == 1 and "dear-0" not in told
    assert leased[0].split()[2:4] == ["dear", "2"]


def test_a_machine_that_was_never_there_has_no_shares_of_its_time(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        "[pools.a]\nmachines = 2\n"
        'arrivals = { process = "listed", times = [0, 300] }\n[bags.b]\nlengths = [100]\n'
    )
    words = ("simulate", "s.toml", "--seeds", "2")
    here, never = ask(tmp_path, *words, "--json").json[0]["machines"]
    assert (here["figures"]["availability"], never["figures"]["availability"]) == (1, None)
    row = next(one for one in ask(tmp_path, *words, "--machines").out.splitlines() if "a-1" in one)
    assert row.split()[3:6] == ["unknown"] * 3


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


def test_it_is_told_whether_the_deadline_was_kept(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        '[pools.p]\nmachines = 1\n[bags.b]\nat = "1h"\nlengths = ["10m", "10m"]\n'
    )
    words = ("simulate", "s.toml", "--seeds", "1")
    assert "deadline_kept" not in ask(tmp_path, *words).out
    vary = ("--vary", "bags.b.deadline=19m,20m", "--figure", "deadline_kept", "--json")
    late, kept = ask(tmp_path, *words, *vary).json
    assert (late["runs"][0]["deadline_kept"], kept["runs"][0]["deadline_kept"]) == (0, 1)


def test_a_reader_that_goes_early_is_no_failure(grid: Path) -> None:
    """Nobody reads from the beginning: each thing that it prints finds that out."""
    line = f"{sys.executable} -m tailrace.cli.main simulate grid.toml --seeds 1 -j 1"
    shell = f"set -o pipefail; {line} | exec true"
    done = subprocess.run(["bash", "-c", shell], cwd=grid, env=clean_environment({}),
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


def test_a_bag_that_is_there_at_once_has_no_steady_state_to_look_for(grid: Path) -> None:
    assert ask(grid, "simulate", "grid.toml", "--seeds", "3", "--json").json[0]["growth"] is None


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


ALIKE = """
[pools.a]
machines = 1
[pools.b]
machines = 1
[bags.two]
lengths = [10, 10]
trial = "2s"
"""


@pytest.mark.parametrize(("kinds", "makespan"), [(("x", "x"), 12), (("x", "y"), 10), ((), 10)])
def test_a_trial_is_for_all_pools_of_a_kind(
    tmp_path: Path, kinds: tuple[str, ...], makespan: int
) -> None:
    """The second machine waits until the first has tried, unless it is of another kind."""
    (tmp_path / "alike.toml").write_text(ALIKE)
    words = [f"--set=pools.{pool}.kind={kind}" for pool, kind in zip("ab", kinds, strict=False)]
    told = ask(tmp_path, "simulate", "alike.toml", "--seeds", "1", "--json", *words).json[0]
    assert told["figures"]["makespan_s"]["mean"] == makespan
