"""The network is down for a while: machines go on with what they have, and tell it afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulation.scenarios import scenario

from tailrace.bag.outcome import Outcome
from tailrace.errors import BadInput
from tailrace.scheduler.events import AnyEvent, Ended
from tailrace.simulation.reading import load_scenario
from tailrace.simulation.world import World

SECOND = 1_000_000
TEXT = """\
{news}
[pools.p]
machines = 2
slots = {slots}
{more}
[bags.b]
tasks = 12
length = "10s"
timeout = "{timeout}"
"""
OUT = 'news = { outage = { from = "25s", to = "100s" } }'


def heard(
    folder: Path, news: str = OUT, slots: int = 1, timeout: str = "1h", more: str = ""
) -> tuple[World, list[tuple[float, str]]]:
    """When the result of which host was heard."""
    path, told = folder / "s.toml", list[tuple[float, str]]()
    path.write_text(TEXT.format(news=news, slots=slots, timeout=timeout, more=more))

    def watch(event: AnyEvent, decisions: list[object], now: int) -> None:
        if isinstance(event, Ended):
            told.append((now / SECOND, event.host))

    world = World(load_scenario(path), 0, check=True, watch=watch)
    world.run()
    return world, told


def test_what_ends_in_an_outage_is_heard_behind_it(tmp_path: Path) -> None:
    _, told = heard(tmp_path)
    assert [at for at, _ in told] == [10, 10, 20, 20, 100, 100, 110, 110, 120, 120, 130, 130]


def test_what_was_fetched_before_goes_on(tmp_path: Path) -> None:
    """Three on each machine, which share it: two rounds of 30 s, the first told at 100 s."""
    _, told = heard(tmp_path, OUT.replace("25s", "5s"), slots=3)
    assert [at for at, _ in told] == [100] * 6 + [130] * 6


def test_without_an_outage_nothing_waits(tmp_path: Path) -> None:
    _, told = heard(tmp_path, "")
    assert [at for at, _ in told] == [10 * (1 + n // 2) for n in range(12)]


def test_nothing_is_decided_meanwhile(tmp_path: Path) -> None:
    """A time-out that passes in the outage is dealt with behind it, beside the result."""
    world, told = heard(tmp_path, timeout="30s")
    record = world.records[0]
    assert record.complete and not record.failed
    assert record.attempts == 12
    sent = [at / SECOND for at in record.sent]
    assert not any(25 <= at < 100 for at in [*sent, *(at for at, _ in told)])


def test_a_machine_that_dies_and_comes_back_meanwhile_is_heard_of_in_order(tmp_path: Path) -> None:
    """What it had is lost, and is done again: 10 s at a time, by machines that live for 45 s."""
    more = 'up = "45s"\ndown = "5s"\ndetection = "reported"\n'
    world, told = heard(tmp_path, OUT.replace("25s", "41s"), more=more)
    record = world.records[0]
    assert record.complete and not record.failed
    assert record.attempts == 14  # two were under way at 45 s
    assert not any(41 < at < 100 for at, _ in told)


@pytest.mark.parametrize(
    ("news", "told"),
    [
        ('news = { outage = { from = "2m", to = "1m" } }', "no beginning before its end"),
        ('news = { outage = { from = "2m" } }', "no beginning before its end"),
        ('news = { outage = { from = "1m", to = "2m", at = 3 } }', "unknown key news.outage.at"),
        ('news = { outage = "1h" }', "news.outage is"),
        ('news = { every = "1m", outage = { from = "1m", to = "2m" } }', "has no outage"),
        ('news = { delay = "1m", outage = { from = "1m", to = "2m" } }', "has no outage"),
        ('news = { outage = { from = "soon", to = "2m" } }', "news.outage.from"),
    ],
)
def test_an_outage_that_is_none_is_refused(tmp_path: Path, news: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        heard(tmp_path, news)


UNMISSED = """\
news = {news}
[pools.steady]
machines = 1
[pools.idle]
speed = 10
machines = 1
up = "50s"
down = "2s"
[bags.b]
tasks = 1
length = "51s"
failing = {{ tasks = 1 }}
retries = 1
"""


@pytest.mark.parametrize("news", ['{ every = "45s" }', '{ outage = { from = "20s", to = "60s" } }'])
def test_nothing_is_sent_on_the_offer_that_a_machine_made_before_it_fell(news: str) -> None:
    """Back after 2 s, nobody has missed it; when the first attempt is heard to have failed, the
    second would be lost with its earlier life."""
    lost: list[AnyEvent] = []

    def watch(event: AnyEvent, decisions: list[object], now: int) -> None:
        if isinstance(event, Ended) and event.outcome is Outcome.LOST:
            lost.append(event)

    World(scenario(UNMISSED.format(news=news)), 0, check=True, watch=watch).run()
    assert not lost


# Eight tasks in ten places, on machines that fall and come back within an outage.
FALLING = """\
news.outage = { from = "30s", to = "90s" }
[pools.x]
machines = 3
up = 50
down = 7
load = { lasts = 9, share = { law = "uniform", from = 0, to = 0.9 } }
[pools.y]
machines = 3
cores = 2
up = 50
down = 7
owner_away = 70
owner_there = 9
[bags.b0]
tasks = 8
length = 10
replication = { strategy = "wqr", most = 3 }
max_running = 2
[bags.b1]
tasks = 8
length = 10
"""


def test_a_machine_whose_return_is_yet_to_be_heard_of_offers_nothing_again_and_again() -> None:
    told = 0

    def watch(event: AnyEvent, decisions: list[object], now: int) -> None:
        nonlocal told
        told += 1
        assert told < 1000

    world = World(scenario(FALLING), 680, check=True, watch=watch)
    world.run()
    assert all(record.complete for record in world.records)
