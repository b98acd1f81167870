"""The network is down for a while: machines go on with what they have, and tell it afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

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
