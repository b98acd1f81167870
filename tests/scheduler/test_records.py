"""What is counted of a host that takes tasks and does not answer."""

from __future__ import annotations

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy, Policy
from tailrace.pools.terms import Pool
from tailrace.scheduler import facts

from .stage import Stage

HOME = Pool("home", max=0)
RECORD = ("Host.ErrorRate", "Host.Expired", "Host.Lost", "Host.Failed")


def record(stage: Stage, host: str) -> tuple[object, ...]:
    state = stage.scheduler.state
    return tuple(facts.of_host(state, state.bags[1], state.hosts[host], RECORD).values())


def timed(**policies: str) -> BagPolicy:
    return BagPolicy(Policy(deadline="10", **policies))


@pytest.mark.parametrize("repeatable", [True, False])
def test_what_expires_on_a_host_counts_once(repeatable: bool) -> None:
    stage = Stage(HOME)
    stage.host("dead")
    stage.submit(5, policy=timed(), repeatable=repeatable, trial_us=0)
    (one,) = stage.offer("dead")
    stage.wait(11)
    stage.end(one, Outcome.EXPIRED)
    assert record(stage, "dead") == (1.0, 1, 0, 0)


def test_a_host_that_never_answers_is_not_fed_by_a_policy_that_asks_for_few_errors() -> None:
    stage = Stage(HOME)
    stage.host("dead")
    few = timed(job_requirements="Host.ErrorRate < 0.1")
    stage.submit(50, policy=few, repeatable=True, trial_us=0)
    sent = 0
    for _ in range(10):
        got = stage.offer("dead")
        sent += len(got)
        stage.wait(11)
        for one in got:
            stage.end(one, Outcome.EXPIRED)
    assert sent == 1


def test_what_is_lost_with_a_host_counts() -> None:
    stage = Stage(HOME)
    stage.hosts("gone")
    stage.submit(5, repeatable=True, trial_us=0)
    (one,) = stage.offer("gone")
    stage.succeed(one, run_s=100)
    stage.offer("gone")
    stage.silent("gone")
    assert record(stage, "gone") == (0.5, 0, 1, 0)


def test_what_expired_and_is_lost_then_counts_once() -> None:
    stage = Stage(HOME)
    stage.host("dead")
    stage.submit(5, policy=timed(), repeatable=True, trial_us=0)
    stage.offer("dead")
    stage.wait(11)
    stage.silent("dead")
    assert record(stage, "dead") == (1.0, 1, 0, 0)


def test_what_a_host_did_not_answer_is_known_after_a_restart() -> None:
    stage = Stage(HOME)
    stage.hosts("a", "b")
    stage.submit(5, policy=timed(), repeatable=True, trial_us=0)
    stage.offer("a")
    stage.wait(11)
    stage.silent("a")
    before = record(stage, "a")
    stage.restart()
    stage.back("a", "b")
    stage.wait(60)
    assert record(stage, "a") == before


def test_what_was_preempted_is_no_error() -> None:
    stage = Stage(HOME)
    stage.host("a")
    stage.submit(5, trial_us=0)
    (one,) = stage.offer("a")
    stage.end(one, Outcome.PREEMPTED)
    assert record(stage, "a") == (0.0, 0, 0, 0)
