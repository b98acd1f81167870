"""When machines are there: failure and repair, sites, owners, traces, notices, availability."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.simulation.availability import of_all
from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.hours import DAY_US, HOUR_US, gaps, working_hours
from tailrace.simulation.job import Job
from tailrace.simulation.life import (
    Alternating,
    Cause,
    Outages,
    Presence,
    SiteFailures,
    stay,
)
from tailrace.simulation.single import SingleMachine

MINUTE = 60 * 1_000_000


class Watch:
    """Notes what a presence says."""

    def __init__(self, engine: Engine | None = None, **given: Any) -> None:
        self.engine = engine or Engine()
        self.said: list[tuple[Any, ...]] = []
        self.goes: list[int | None] = []  # as it knows when it comes
        self.presence = Presence(self.engine, self.up, self.down, self.notice, **given)

    def up(self, presence: Presence) -> None:
        assert presence.up
        self.goes.append(presence.goes_us)
        self.said.append((self.engine.now, "up"))

    def down(self, presence: Presence, cause: Cause) -> None:
        assert not presence.up
        self.said.append((self.engine.now, cause))

    def notice(self, presence: Presence, cause: Cause, goes_us: int) -> None:
        self.said.append((self.engine.now, cause, goes_us))

    def share(self) -> float:
        return self.presence.availability.share(self.engine.now)


def constant(*values: int) -> Callable[[], int]:
    left = list(values)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


# Availability (eqs. 4.1 and 4.2)


def test_availability_is_the_part_of_the_time_outside_outages() -> None:
    """Case 8."""
    engine = Engine()
    first, second = Watch(engine), Watch(engine)
    Outages(first.presence, Cause.FAILURE, [(10, 20), (50, 55)])
    Outages(second.presence, Cause.FAILURE, [(95, 200)])
    engine.run(until=100)
    assert first.share() == 0.85
    assert second.share() == 0.95, "an open outage counts up to the end"
    assert of_all([w.presence.availability for w in (first, second)], 100) == pytest.approx(0.9)
    assert first.said == [(10, Cause.FAILURE), (20, "up"), (50, Cause.FAILURE), (55, "up")]


@pytest.mark.parametrize(
    ("up", "down", "share"),
    [((1, 200), (1, 200), 0.5), ((1, 500), (1, 40), 0.9244), ((1, 20), (1, 350), 0.0565)],
)
def test_alternating_renewal_has_its_long_run_availability(
    up: tuple[int, int], down: tuple[int, int], share: float
) -> None:
    """Case 9. 20,000 cycles of one seed: each mean deviates by less than 1/200 of itself."""
    draw, watch = random.Random(3), Watch()
    here, away = (
        lambda bounds=bounds: int(draw.uniform(*bounds) * MINUTE) for bounds in (up, down)
    )
    Alternating(watch.presence, Cause.FAILURE, here, away)
    watch.engine.run(events=40_000)
    assert watch.share() == pytest.approx(share, rel=0.015)
    assert watch.presence.availability.outages == 20_000


def test_jobs_longer_than_every_up_time_are_all_lost() -> None:
    """Case 10: jobs of 3.5 h, up for U(1, 200) min."""
    draw, engine, ended, lost = random.Random(5), Engine(), [], []
    machine = SingleMachine(engine, ended.append)

    def came(_: Presence) -> None:
        machine.come()
        machine.start(Job(210 * MINUTE))

    presence = Presence(engine, came, lambda *_: lost.extend(machine.fail()))
    machine.start(Job(210 * MINUTE))
    here = lambda: int(draw.uniform(1, 200) * MINUTE)  # noqa: E731
    Alternating(presence, Cause.FAILURE, here, here)
    engine.run(until=35 * DAY_US)
    usage = machine.usage()
    assert (ended, usage.ended) == ([], 0)
    assert len(lost) == usage.lost == usage.failures > 100
    assert usage.up_us == presence.availability.up_us(engine.now) == usage.busy_us
    assert usage.useful_work < 210 * MINUTE, "at most that of the job at hand"


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=20),
    st.lists(st.integers(1, 50), min_size=1, max_size=20),
    st.lists(st.integers(1, 50), min_size=1, max_size=20),
    st.integers(0, 400),
)
def test_a_machine_is_down_while_any_cause_holds(
    here: list[int], away: list[int], site: list[int], end: int
) -> None:
    """Against a count of every microsecond."""
    watch = Watch()
    Alternating(watch.presence, Cause.FAILURE, constant(*here, 999), constant(*away, 999))
    failures = SiteFailures(watch.engine, constant(*site, 999), constant(7))
    failures.join(watch.presence)
    watch.engine.run(until=end)
    down = set()
    for ups, downs in ((here, [*away, 999]), (site, [7] * (len(site) + 1))):
        at, ups = 0, [*ups, 999]
        for number in range(len(ups)):
            at += ups[number]
            away_us = downs[min(number, len(downs) - 1)]
            down |= set(range(at, min(at + away_us, end)))
            at += away_us
    assert watch.presence.availability.down_us(end) == len(down)


# Coming and going


def test_a_machine_arrives_starts_up_and_departs_for_good() -> None:
    watch = Watch(arrived=False)
    stay(watch.presence, arrives_us=100, startup_us=20, departs_us=500, notice_us=30)
    fails = partial(Alternating, watch.presence, Cause.FAILURE, lambda: 100)
    watch.engine.put(120, Rank.LIFE, fails, lambda: 10)
    assert watch.engine.run() is not None, "all comes to rest when it is gone"
    assert watch.said == [
        (120, "up"), (220, Cause.FAILURE), (230, "up"), (330, Cause.FAILURE), (340, "up"),
        (440, Cause.FAILURE), (450, "up"), (470, Cause.ABSENT, 500), (500, Cause.ABSENT),
    ]  # fmt: skip
    book = watch.presence.availability
    assert (book.belongs_us(9_999), book.down_us(9_999)) == (380, 30)
    assert watch.presence.gone


def test_one_that_departs_while_it_is_down_does_not_come_back() -> None:
    watch = Watch()
    Outages(watch.presence, Cause.FAILURE, [(10, 90)])
    stay(watch.presence, departs_us=50)
    watch.engine.run(until=100)
    assert watch.said == [(10, Cause.FAILURE)]
    assert watch.presence.availability.down_us(100) == 40


def test_one_that_arrives_in_an_outage_is_up_after_it() -> None:
    watch = Watch(arrived=False)
    Outages(watch.presence, Cause.SITE, [(10, 90)])
    stay(watch.presence, arrives_us=50)
    watch.engine.run(until=100)
    assert watch.said == [(90, "up")]
    assert watch.share() == 0.2


def test_a_preemption_with_notice_warns_before_and_one_without_does_not() -> None:
    for notice_us, said in (
        (30, [(70, Cause.OWNER, 100), (100, Cause.OWNER)]),
        (500, [(0, Cause.OWNER, 100), (100, Cause.OWNER)]),
        (None, [(100, Cause.OWNER)]),
    ):
        watch = Watch()
        Alternating(watch.presence, Cause.OWNER, lambda: 100, None, notice_us=notice_us)
        watch.engine.run()
        assert watch.said == said
        assert not watch.presence.up


def test_one_that_is_away_learns_of_its_end_when_it_comes() -> None:
    watch = Watch()
    Outages(watch.presence, Cause.FAILURE, [(60, 90)])
    Alternating(watch.presence, Cause.OWNER, lambda: 100, None, notice_us=30)
    watch.engine.run()
    assert watch.said == [(60, Cause.FAILURE), (90, "up"), (100, Cause.OWNER)]
    assert watch.goes == [100]


def test_it_goes_at_the_first_of_the_ends_that_are_to_come() -> None:
    watch, ends = Watch(), []
    Outages(watch.presence, Cause.FAILURE, [(100, 110)], notice_us=50)
    Outages(watch.presence, Cause.OWNER, [(140, 150)], notice_us=50)
    for at in (40, 60, 95, 105, 120, 145, 160):
        watch.engine.run(until=at)
        ends.append(watch.presence.goes_us)
    assert ends == [None, 100, 100, 140, 140, None, None]
    assert watch.goes == [140, None]


def test_causes_that_overlap_make_one_outage() -> None:
    watch = Watch()
    Outages(watch.presence, Cause.FAILURE, [(10, 30)])
    Outages(watch.presence, Cause.OWNER, [(20, 50)])
    watch.engine.run(until=25)
    assert watch.presence.causes == (Cause.FAILURE, Cause.OWNER)
    watch.engine.run(until=100)
    assert watch.said == [(10, Cause.FAILURE), (50, "up")]
    assert (watch.share(), watch.presence.availability.outages) == (0.6, 1)


def test_a_cause_that_holds_twice_is_to_be_let_go_twice() -> None:
    watch = Watch()
    for outage in ((10, 30), (20, 50)):
        Outages(watch.presence, Cause.SITE, [outage])
    watch.engine.run(until=100)
    assert watch.said == [(10, Cause.SITE), (50, "up")]


# Sites


def test_a_site_takes_all_its_machines_down_and_brings_them_back_together() -> None:
    engine = Engine()
    watches = [Watch(engine) for _ in range(3)]
    site = SiteFailures(engine, constant(100, 1000), constant(10))
    for watch in watches[:2]:
        site.join(watch.presence)
    engine.run(until=500)
    assert [watch.said for watch in watches] == [[(100, Cause.SITE), (110, "up")]] * 2 + [[]]


def test_a_site_takes_a_random_share_of_its_machines() -> None:
    draw, engine = random.Random(11), Engine()
    watches = [Watch(engine) for _ in range(200)]
    site = SiteFailures(engine, lambda: 100, lambda: 10, share=0.3, chance=draw.random)
    for watch in watches:
        site.join(watch.presence)
    engine.run(until=110 * 50)
    hits = sum(watch.presence.availability.outages for watch in watches)
    assert hits / (200 * 50) == pytest.approx(0.3, abs=0.02)
    with pytest.raises(ValueError, match="draws from"):
        SiteFailures(engine, lambda: 1, lambda: 1, share=0.5)


# Owners and traces


def test_owners_want_their_machines_in_working_hours() -> None:
    watch = Watch()
    Outages(watch.presence, Cause.OWNER, working_hours(9, 17.5), notice_us=HOUR_US)
    watch.engine.run(until=14 * DAY_US)
    assert watch.share() == pytest.approx(1 - 5 * 8.5 / (7 * 24))
    assert watch.said[:3] == [
        (8 * HOUR_US, Cause.OWNER, 9 * HOUR_US),
        (9 * HOUR_US, Cause.OWNER),
        (17.5 * HOUR_US, "up"),
    ]


def test_working_hours_begin_where_one_looks() -> None:
    saturday = next(working_hours(since_us=5 * DAY_US))
    assert saturday == (7 * DAY_US + 9 * HOUR_US, 7 * DAY_US + 17 * HOUR_US)
    assert list(working_hours(weekdays=())) == []


@given(st.sets(st.integers(1, 99), max_size=20))
def test_a_trace_of_up_intervals_is_followed_exactly(moments: set[int]) -> None:
    edges = sorted(moments)
    up = list(islice(pairwise(edges), 0, None, 2))
    watch = Watch()
    Outages(watch.presence, Cause.FAILURE, gaps(up, 100))
    watch.engine.run(until=100)
    assert watch.presence.availability.up_us(100) == sum(b - a for a, b in up)
