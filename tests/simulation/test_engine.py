"""The event loop: what comes first, what does not come, and why a run comes back."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.simulation.engine import Engine, Rank, Stop


def test_events_of_one_instant_run_by_rank_then_as_they_were_put() -> None:
    """Specification of the thesis's simulator, case 3, with the order declared here."""
    engine, seen = Engine(), []
    ranks = (Rank.SENDING, Rank.TIMEOUT, Rank.RESULT, Rank.TIMEOUT, Rank.RESULT)
    for number, rank in enumerate(ranks):
        engine.put(5, rank, seen.append, (rank, number))
    engine.put(4, Rank.WATCH, seen.append, "before")
    assert engine.run() is Stop.EMPTY
    assert seen == [
        "before",
        (Rank.RESULT, 2),
        (Rank.RESULT, 4),
        (Rank.TIMEOUT, 1),
        (Rank.TIMEOUT, 3),
        (Rank.SENDING, 0),
    ]


def test_what_is_put_for_the_running_instant_comes_after_all_that_is_there() -> None:
    engine, seen = Engine(), []

    def first(_: object) -> None:
        seen.append("first")
        engine.put(engine.now, Rank.RESULT, seen.append, "put meanwhile")
        engine.put(engine.now + 1, Rank.RESULT, seen.append, "later")

    engine.put(3, Rank.RESULT, first)
    engine.put(3, Rank.WATCH, seen.append, "was there")
    engine.run()
    assert seen == ["first", "was there", "put meanwhile", "later"]


def test_an_alarm_comes_after_all_of_its_instant_whenever_it_was_put() -> None:
    engine, seen = Engine(), []

    def first(_: object) -> None:
        engine.put(engine.now, Rank.ALARM, seen.append, "put alarm")
        engine.put(engine.now, Rank.RESULT, seen.append, "put result")

    engine.put(3, Rank.ALARM, seen.append, "alarm")
    engine.put(3, Rank.RESULT, first)
    engine.put(3, Rank.WATCH, seen.append, "watch")
    engine.put(4, Rank.LIFE, seen.append, "later")
    engine.run()
    assert seen == ["watch", "put result", "alarm", "put alarm", "later"]


def test_before_a_run_ranks_hold_at_time_zero_too() -> None:
    engine, seen = Engine(), []
    engine.put(0, Rank.SENDING, seen.append, "sending")
    engine.put(0, Rank.RESULT, seen.append, "result")
    engine.run()
    assert seen == ["result", "sending"]


def test_nothing_happens_in_the_past() -> None:
    engine = Engine()
    engine.put(5, Rank.LIFE, lambda _: engine.put(4, Rank.LIFE, print))
    with pytest.raises(ValueError, match="an event for 4 µs was put at 5 µs"):
        engine.run()


def test_a_run_up_to_a_time_includes_it_and_can_be_gone_on_with() -> None:
    engine, seen = Engine(), []
    for at in (1, 10, 11):
        engine.put(at, Rank.RESULT, seen.append, at)
    assert engine.run(until=10) is Stop.TIME
    assert (seen, engine.now) == ([1, 10], 10)
    assert engine.run(until=10) is Stop.TIME
    assert engine.run(until=100) is Stop.EMPTY
    assert (seen, engine.now, engine.executed) == ([1, 10, 11], 100, 3)


def test_a_run_stops_after_a_count_on_a_condition_and_when_asked() -> None:
    engine, seen = Engine(), []
    for at in range(10):
        engine.put(at, Rank.RESULT, seen.append, at)
    assert engine.run(events=0) is Stop.COUNT
    assert engine.run(events=3) is Stop.COUNT
    assert seen == [0, 1, 2]
    assert engine.run(when=lambda: len(seen) >= 5) is Stop.CONDITION
    assert seen == [0, 1, 2, 3, 4]
    engine.put(6, Rank.WATCH, lambda _: engine.stop())
    assert engine.run(until=100) is Stop.ASKED
    assert (seen[-1], engine.now) == (6, 6)
    assert engine.run() is Stop.EMPTY


def test_a_cancelled_event_does_not_happen_and_one_that_has_cannot_be_cancelled() -> None:
    engine, seen = Engine(), []
    past = engine.put(1, Rank.RESULT, seen.append, "past")
    void = engine.put(2, Rank.RESULT, seen.append, "void")
    engine.run(until=1)
    engine.cancel(past)
    engine.cancel(void)
    engine.put(2, Rank.RESULT, seen.append, "next")
    engine.run()
    assert seen == ["past", "next"]


def test_void_events_are_swept_out_when_they_are_more_than_half() -> None:
    engine, seen = Engine(), []
    times = random.Random(1).sample(range(1, 10_001), 10_000)
    handles = [engine.put(at, Rank.TIMEOUT, seen.append, at) for at in times]
    for handle in handles[:9_000]:
        engine.cancel(handle)
    assert len(engine._heap) < 5_001
    engine.run()
    assert seen == sorted(times[9_000:])


def test_events_may_cancel_each_other_while_they_are_swept() -> None:
    engine, seen = Engine(), []
    handles = [engine.put(at, Rank.TIMEOUT, seen.append, at) for at in range(2, 4_002)]
    engine.put(1, Rank.LIFE, lambda _: [engine.cancel(handle) for handle in handles[::2]])
    engine.put(1, Rank.LIFE, lambda _: [engine.cancel(handle) for handle in handles[1:3000:2]])
    engine.run()
    assert seen == list(range(3_003, 4_002, 2))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(Rank)), max_size=40),
    st.sets(st.integers(0, 39)),
)
def test_the_order_is_that_of_time_rank_and_number(
    events: list[tuple[int, Rank]], void: set[int]
) -> None:
    engine, seen = Engine(), []
    handles = [
        engine.put(at, rank, seen.append, (at, rank, number))
        for number, (at, rank) in enumerate(events)
    ]
    for number in void & set(range(len(events))):
        engine.cancel(handles[number])
    engine.run()
    left = [(*event, number) for number, event in enumerate(events) if number not in void]
    assert seen == sorted(left)
