"""Hosts that are silent for long are forgotten, and nothing that is under way with them."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries, Strategy
from tailrace.pools.terms import Pool
from tailrace.scheduler import fleet
from tailrace.scheduler.decisions import ForgetHost
from tailrace.scheduler.events import BagForgotten, Change, HostForgotten
from tailrace.scheduler.journal import encode_page, replay

from .stage import SECOND, Stage, assigned


def forgotten(stage: Stage, host: str) -> bool:
    return stage.tell(HostForgotten(host)) == [ForgetHost(host)]


def test_a_host_that_is_there_or_may_hold_something_stays() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(2, repeatable=False, trial_us=0)
    (sent,) = stage.offer("a")
    assert not forgotten(stage, "a") and not forgotten(stage, "b"), "they are there"
    stage.silent("a")
    stage.silent("b")
    assert not forgotten(stage, "a"), "its task is not repeatable, and may run yet"
    assert forgotten(stage, "b") and not forgotten(stage, "b") and not forgotten(stage, "nobody")
    stage.back("a")
    stage.succeed(sent)
    stage.silent("a")
    assert forgotten(stage, "a")
    assert not stage.scheduler.state.hosts


def test_it_comes_back_as_a_new_one() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(20, trial_us=0, retries=Retries(host_failed=9))
    for _ in range(3):
        (sent,) = stage.offer("a")
        stage.end(sent, Outcome.HOST_FAILED, text="no disk")
    state = stage.scheduler.state
    fleet.exclude(state, state.hosts["a"], stage.now + 3600 * SECOND)
    stage.silent("a")
    assert forgotten(stage, "a")
    stage.wait(3601)  # its alarm rings for nobody
    stage.host("a")
    host = state.hosts["a"]
    assert (host.booked, host.excluded, host.able) == (0, False, True)
    assert assigned(stage.last) or stage.offer("a")


def test_a_journal_in_which_hosts_are_forgotten_is_replayed() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    stage.submit(2, trial_us=0)
    (sent,) = stage.offer("a")
    stage.silent("b")
    assert forgotten(stage, "b")
    stage.succeed(sent)
    pages = [encode_page(page) for page in stage.journal]
    assert all(step.same for step in replay(pages, check=True))


def test_a_cancelled_bag_whose_tail_had_begun_is_forgotten_and_the_next_one_runs() -> None:
    """Its last attempts come back when it has ended, and nothing more of it is wanted."""
    stage = Stage(Pool("home", max=0, reliable=False))
    stage.hosts("h1", "h2", "h3")
    bag = stage.submit(2, repeatable=True, trial_us=0, replication=Strategy("ntdmr"))
    out = [*stage.offer("h1"), *stage.offer("h2")]
    stage.change(bag, Change.CANCEL)
    for one in out:
        stage.end(one, Outcome.CANCELLED)
    stage.now += 3600 * SECOND
    stage.tell(BagForgotten(bag))
    assert bag not in stage.scheduler.state.bags
    stage.submit(5, trial_us=0)
    assert len(stage.offer("h3")) >= 1
