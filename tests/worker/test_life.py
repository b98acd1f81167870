"""When a worker ends by itself: at the end of its machine, and at that of its lease."""

from __future__ import annotations

import time

from tests.worker.test_agent import S, agent, only, reply, running

from tailrace.worker import batch
from tailrace.worker.agent import PARK
from tailrace.worker.effects import Call, Exit, Kill


def test_the_server_is_told_when_the_machine_ends_and_not_when_the_lease_does() -> None:
    assert only(agent(ends_at=90 * S).wake(30 * S), Call).body["ends_s"] == 60
    assert "ends_s" not in only(agent(lease_ends_at=90 * S).wake(0), Call).body


def test_a_renewal_moves_the_end_of_a_worker_that_keeps_its_leases() -> None:
    one, seq = running(1, lease_ends_at=100 * S)
    one.replied(seq, reply(seq, ends_s=200), 5 * S)
    assert one.next_wakeup() == 5 * S + PARK  # it is news, and no server that is not well
    seq = only(one.wake(6 * S), Call).seq
    one.replied(seq, reply(seq, ends_s=200), 50 * S)
    assert not any(isinstance(effect, Kill) for effect in one.wake(100 * S))
    late = one.wake(250 * S)
    assert only(late, Kill).outcome == "preempted"


def test_without_a_word_it_ends_with_its_lease() -> None:
    one, _ = running(1, lease_ends_at=100 * S)
    assert not any(isinstance(effect, Kill) for effect in one.wake(94 * S))
    assert only(one.wake(96 * S), Kill).outcome == "preempted"
    assert isinstance(one.wake(100 * S)[-1], Exit)


def test_an_end_told_again_and_again_stays_where_it_is() -> None:
    """Each reply says how much is left; the margin before the end does not melt away with it."""
    one, seq = running(1, lease_ends_at=100 * S)
    for second in range(20, 81, 20):
        one.replied(seq, reply(seq, ends_s=100 - second), second * S)
        due = one.next_wakeup()
        assert due is not None
        seq = only(one.wake(due), Call).seq
    assert any(isinstance(effect, Kill) for effect in one.wake(96 * S))


def test_the_machines_end_counts_whatever_the_lease_says() -> None:
    one, seq = running(1, ends_at=100 * S, lease_ends_at=50 * S)
    one.replied(seq, reply(seq, ends_s=1000), 40 * S)
    assert not any(isinstance(effect, Kill) for effect in one.wake(60 * S))
    assert only(one.wake(96 * S), Kill).outcome == "preempted"


def test_a_worker_that_was_told_of_no_end_keeps_none() -> None:
    one, seq = running(1)
    one.replied(seq, reply(seq, ends_s=10), 5 * S)
    assert not any(isinstance(effect, Kill) for effect in one.wake(60 * S))


def test_batch_systems_tell_the_end() -> None:
    left = batch.left_s({"SLURM_JOB_END_TIME": str(time.time() + 600)})
    assert left is not None and 590 < left <= 600
    assert batch.left_s({"PBS_WALLTIME": "3600"}) == 3600
    assert batch.left_s({"SLURM_JOB_END_TIME": "Unknown"}) is None
    assert batch.left_s({"PBS_WALLTIME": "0"}) is None
    assert batch.left_s({}) is None
