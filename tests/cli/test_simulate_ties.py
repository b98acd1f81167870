"""What comes first in the same instant, and what a poll sees, through `tailrace simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask

WORDS = ("simulate", "s.toml", "--seeds", "1", "-j", "1", "--json")
IN_TIME = """\
[pools.p]
machines = 2
late_results = "ignore"
[bags.b]
lengths = [100, 100]
timeout = "100s"
retries = { expired = 0 }
"""
IN_ROUNDS = """\
[pools.p]
machines = 1
[bags.b]
lengths = [10, 10, 10, 10]
round = "10s"
"""
LONG = """\
stop = { events = 50 }
[pools.p]
machines = 2
[bags.b]
lengths = ["1h", "2w", "1h"]
round = "1s"
"""
POLLED = """\
news = { every = "100s" }
[pools.p]
machines = 1
up = 150
down = 20
detection = "reported"
[bags.b]
lengths = [40, 40]
retries = { lost = 0 }
"""


def figures(folder: Path, scenario: str, *names: str) -> tuple[Any, ...]:
    (folder / "s.toml").write_text(scenario)
    found = ask(folder, *WORDS).json[0]["figures"]
    return tuple(found[name]["mean"] for name in names)


def test_a_result_exactly_at_its_time_out_is_in_time(tmp_path: Path) -> None:
    names = ("tasks_done", "tasks_failed", "attempts", "makespan_s")
    assert figures(tmp_path, IN_TIME, *names) == (2, 0, 2, 100)


@pytest.mark.parametrize(("machines", "makespan_s"), [(1, 50), (2, 30), (4, 20)])
@pytest.mark.parametrize("news", ["", 'news = { every = "10s" }\n', 'news = { every = "5s" }\n'])
def test_a_round_has_the_machines_that_became_free_in_its_own_instant(
    tmp_path: Path, news: str, machines: int, makespan_s: int
) -> None:
    """It begins after 10 s, and each round takes one task of every machine."""
    scenario = news + IN_ROUNDS.replace("machines = 1", f"machines = {machines}")
    assert figures(tmp_path, scenario, "makespan_s") == (makespan_s,)


def test_rounds_cost_nothing_while_nothing_waits(tmp_path: Path) -> None:
    """Two weeks have 1.2 million of them; a run that is cut off by its events has no makespan."""
    assert figures(tmp_path, LONG, "tasks_done", "makespan_s") == (3, 14 * 86400 + 1)


def test_nothing_is_lost_on_a_machine_that_was_away_between_two_polls(tmp_path: Path) -> None:
    """It has a task from 100 s, is away from 150 s to 170 s, and is sent the other at 200 s."""
    names = ("tasks_done", "attempts", "makespan_s")
    assert figures(tmp_path, POLLED, *names) == (2, 2, 300)


def test_nor_on_one_that_has_room_for_two(tmp_path: Path) -> None:
    wide = POLLED.replace("machines = 1", "machines = 1\ncores = 2").replace("40]", "40, 40]")
    assert figures(tmp_path, wide, "tasks_done", "attempts") == (3, 3)
