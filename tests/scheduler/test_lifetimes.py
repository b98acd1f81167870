"""Hosts whose machines end at a known time get no task that would not end before."""

from __future__ import annotations

from tailrace.bag.terms import Limits
from tailrace.pools.terms import Billing, Pool
from tailrace.scheduler.decisions import Acquire
from tailrace.scheduler.events import HostSeen, Offer

from .stage import SECOND, Stage, assigned

CORES = {"cores": 1000}


def seen(stage: Stage, name: str, ends_s: float | None, *, lease: int | None = None) -> None:
    ends = None if ends_s is None else stage.now + int(ends_s * SECOND)
    stage.capacity[name] = CORES
    stage.tell(HostSeen(name, stage.pools[0].name, "linux", CORES, lease, ends_us=ends))


def test_before_any_has_ended_the_time_limit_tells_how_long_a_task_takes():
    stage = Stage()
    stage.submit(9, trial_us=0, limits=Limits(time_us=60 * SECOND))
    seen(stage, "short", 59)
    seen(stage, "long", 61)
    seen(stage, "own", None)
    assert stage.offer("short") == []
    assert len(stage.offer("long")) == len(stage.offer("own")) == 1
    told = stage.explain("bag 1")
    assert "short: its machine ends in 59 s, and tasks may take 60 s" in told


def test_then_those_that_have_ended_tell():
    stage = Stage()
    stage.submit(99, trial_us=0, limits=Limits(time_us=3600 * SECOND))
    stage.hosts("a", "b", "c")
    for host in ("a", "b", "c"):
        stage.succeed(stage.offer(host)[0], run_s=30)
    seen(stage, "late", 29)
    seen(stage, "early", 31)
    assert stage.offer("late") == []
    assert len(stage.offer("early")) == 1
    told = stage.explain("host late")
    assert "Its machine ends in 29 s." in told and "tasks take about 30 s" in told


def test_one_without_limit_or_record_is_sent_since_nobody_knows():
    stage = Stage()
    stage.submit(2, trial_us=0)
    seen(stage, "short", 1)
    assert len(stage.offer("short")) == 1


def test_a_host_that_ends_too_soon_is_no_room_and_another_machine_is_leased():
    """Priced machines are leased only for what no host with room may be sent."""
    stage = Stage(Pool("spot", max=2, billing=Billing(1000)))
    stage.submit(2, trial_us=0, limits=Limits(time_us=60 * SECOND), budget={"USD": 10**9})
    first, second = (one.lease for one in stage.all if isinstance(one, Acquire))
    seen(stage, "one", 100, lease=first)
    (sent,) = stage.offer("one")
    seen(stage, "two", 100, lease=second)
    stage.wait(50)
    stage.succeed(sent)
    assert assigned(stage.tell(Offer("one", CORES))) == []
    stage.gone(second)
    assert [one.lease for one in stage.last if isinstance(one, Acquire)] == [second + 1]


def test_after_a_restart_it_is_known_again_when_the_host_has_called():
    stage = Stage()
    stage.submit(5, trial_us=0, limits=Limits(time_us=60 * SECOND))
    seen(stage, "short", 30)
    stage.restart()
    seen(stage, "short", 30)
    assert stage.offer("short") == []
