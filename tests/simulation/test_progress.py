"""Simulated tasks that tell how far they are: truly, in time or late, and without any effect."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.errors import BadInput
from tailrace.scheduler.events import AnyEvent, Progress
from tailrace.simulation.engine import Stop
from tailrace.simulation.world import World

from .scenarios import done_s, scenario

TELLS = 'progress = { every = "30s" }\n'
BUSY = """
stop = { time = "1d" }
[pools.grid]
machines = 4
cores = 2
slots = 3
up = { law = "exponential", mean = "20m" }
down = "2m"
[pools.spot]
max = 2
speed = 2
[bags.mixed]
tasks = 80
length = { law = "uniform", from = "10s", to = "9m" }
replication = { strategy = "wqr", most = 2 }
"""


class Heard:
    def __init__(self) -> None:
        self.progress: list[tuple[float, Progress]] = []
        self.rest: list[tuple[int, AnyEvent, list[Any]]] = []

    def __call__(self, event: AnyEvent, decisions: list[Any], now: int) -> None:
        if isinstance(event, Progress):
            self.progress.append((now / 1e6, event))
            assert decisions == []
        else:
            self.rest.append((now, event, decisions))


def hear(text: str) -> tuple[World, Heard]:
    heard = Heard()
    world = World(scenario(text), 1, check=True, watch=heard)
    world.run()
    return world, heard


def one(**more: str) -> str:
    keys = {"machines": "1", **more}
    pool = "\n".join(f"{key} = {value}" for key, value in keys.items())
    return f"[pools.p]\n{pool}\n[bags.b]\ntasks = 1\nlength = 100\n"


def test_an_attempt_tells_what_is_done_of_its_work() -> None:
    _, heard = hear(TELLS + one())
    assert [(at, event.done) for at, event in heard.progress] == [(30, 0.3), (60, 0.6), (90, 0.9)]
    assert [event.ran_us for _, event in heard.progress] == [30_000_000, 60_000_000, 90_000_000]


def test_one_that_shares_its_machine_tells_of_its_own_share() -> None:
    """Two tasks of 100 s on one core for two: each is done by half in the first 100 s."""
    _, heard = hear(TELLS + one(slots="2").replace("tasks = 1", "tasks = 2"))
    done = [event.done for at, event in heard.progress if at == 90]
    assert done == pytest.approx([0.45, 0.45])


@pytest.mark.parametrize(
    ("news", "at"), [('{ every = "40s" }', [80, 120, 160]), ('{ delay = "7s" }', [44, 74, 104])]
)
def test_it_is_as_late_as_all_other_news(news: str, at: list[float]) -> None:
    """So late the machine is heard of and begins, and so late what it tells of every 30 s."""
    world, heard = hear(f"news = {news}\n{TELLS}{one()}")
    assert [when for when, _ in heard.progress] == at
    assert heard.progress[0][1].done == 0.3, "as it was when it was told"
    assert done_s(world)


@pytest.mark.parametrize("news", ["", 'news = { every = "20s" }\n', 'news = { delay = "5s" }\n'])
def test_nothing_else_changes_by_it(news: str) -> None:
    _, silent = hear(news + BUSY)
    _, telling = hear(news + TELLS + BUSY)
    assert len(telling.progress) > 100 and not silent.progress
    assert telling.rest == silent.rest


def test_what_is_told_only_grows_and_nothing_comes_of_what_has_ended() -> None:
    _, heard = hear(TELLS + BUSY)
    last: dict[int, float] = {}
    for _, event in heard.progress:
        assert event.done is not None
        assert last.get(event.attempt, 0.0) <= event.done <= 1
        last[event.attempt] = event.done


@pytest.mark.parametrize(("news", "done"), [("", 0.5), ('news = { every = "20s" }\n', 0.3)])
def test_a_run_ends_whose_machine_stands_still_for_ever(
    news: str, done: float, tmp_path: Any
) -> None:
    """Its task would tell the same for ever, and polling would find nothing for ever."""
    (tmp_path / "pace.csv").write_text("time,factor\n0,1\n50,0\n")
    text = news + TELLS + one(pace='{ file = "pace.csv" }')
    heard = Heard()
    world = World(scenario(text, tmp_path), 1, check=True, watch=heard)
    assert world.engine.run(events=10_000) is Stop.EMPTY
    assert heard.progress[-1][1].done == pytest.approx(done)


def test_a_time_of_nothing_is_refused_with_its_line() -> None:
    with pytest.raises(BadInput) as told:
        scenario('progress = { every = "0s" }\n' + one())
    assert told.value.line == 1
