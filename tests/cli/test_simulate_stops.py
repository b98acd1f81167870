"""When a scenario stops, and when its machines come and leave: through `tailrace simulate`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import ask

PAID = """\
[pools.p]
max = 2
price = "6 USD/h"
unit = "1m"
[bags.b]
lengths = ["10m", "10m", "10m", "10m", "10m", "10m"]
failing.known = [1, 3, 4]
retries = { task_failed = 0 }
"""
WORDS = ("simulate", "s.toml", "--seeds", "1", "-j", "1", "--json")


@pytest.mark.parametrize(
    ("stop", "ends_min", "done", "failed"),
    [
        ("failed=1", 10, 1, 1),
        ("failed=2", 20, 2, 2),
        ('spent="3 USD"', 15, 1, 1),  # 20 cents a minute, and the first at once
        ('spent="4 USD"', 20, 2, 2),
        ("tasks=4", 20, 2, 2),
    ],
)
def test_a_scenario_stops_when_it_says(
    tmp_path: Path, stop: str, ends_min: int, done: int, failed: int
) -> None:
    (tmp_path / "s.toml").write_text(PAID)
    (told,) = ask(tmp_path, *WORDS, "--set", f"stop.{stop}").json
    run = told["runs"][0]
    assert (run["tasks_done"], run["tasks_failed"]) == (done, failed)
    assert run["cost_USD"] == pytest.approx(0.2 * ends_min, abs=0.21)
    assert told["unfinished"] == {}


def test_a_scenario_stops_after_so_many_events(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(PAID)
    ends = []
    for events in (3, 4, 5, 6, 1000):
        (told,) = ask(tmp_path, *WORDS, "--set", f"stop.events={events}").json
        assert told["unfinished"] == {}
        ends.append(told["runs"][0]["tasks_done"] + told["runs"][0]["tasks_failed"])
    assert ends == sorted(ends) and len(set(ends)) > 3 and ends[-1] == 6


STAYING = """\
[pools.p]
machines = 1
arrivals = { process = "at once", at = "10m" }
startup = "5m"
departs = "1h"
[pools.late]
machines = 1
arrivals = { process = "at once", at = "2h" }
[bags.b]
tasks = 6
length = "10m"
"""


@pytest.mark.parametrize(
    ("change", "makespan_min", "lost", "attempts"),
    [
        ("pools.p.departs=65m", 75, 0, 6),
        ("pools.p.departs=64m", 130, 1, 7),
        ("pools.p.notice=6m", 140, 0, 7),  # the fifth is handed back, and no other is taken
        ("pools.p.notice=4m", 130, 0, 7),
        ("pools.p.startup=20m", 140, 0, 6),  # in its last moment a machine is sent nothing
        ("pools.p.detection=deadline", None, 1, 6),
    ],
)
def test_machines_come_start_and_leave_for_good(
    tmp_path: Path, change: str, makespan_min: int | None, lost: int, attempts: int
) -> None:
    (tmp_path / "s.toml").write_text(STAYING)
    sets = ["--set", change]
    if makespan_min is None:
        sets += ["--set", "stop.time=2h30m"]
    run = ask(tmp_path, *WORDS, *sets).json[0]["runs"][0]
    assert (run["jobs_lost"], run["attempts"]) == (lost, attempts)
    assert run["tasks_done"] == (5 if makespan_min is None else 6)
    if makespan_min is not None:
        assert run["makespan_s"] == makespan_min * 60


MIXED = """\
[pools.p]
machines = 1
max = 1
startup = "5m"
[bags.b]
tasks = 3
length = "10m"
trial = "0s"
"""


@pytest.mark.parametrize(("leased", "makespan_min"), [(1, 20), (0, 35)])
def test_only_leased_machines_start_up_where_some_are_leased(
    tmp_path: Path, leased: int, makespan_min: int
) -> None:
    """Its own machine does two tasks in 20 minutes, while the leased one does the third."""
    (tmp_path / "s.toml").write_text(MIXED)
    run = ask(tmp_path, *WORDS, "--set", f"pools.p.max={leased}").json[0]["runs"][0]
    assert run["makespan_s"] == makespan_min * 60
