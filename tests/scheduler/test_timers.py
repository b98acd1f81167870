"""Timers beside a plain list of all that hold: the same moments, in the same order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailrace.scheduler.timers import NEVER, Alarm, Timers

Moment = tuple[int, int, Alarm, int]

AFTER = st.integers(0, 30)
SET = st.tuples(st.just("set"), AFTER, st.sampled_from([Alarm.TIMEOUT, Alarm.TIMEOUT, Alarm.ROUND]))
VOID = st.tuples(st.just("void"), st.integers(0, 200), st.none())
PASS = st.tuples(st.just("pass"), AFTER, st.none())


@given(st.lists(st.one_of(SET, SET, VOID, PASS), max_size=200))
def test_timers_ring_in_order_and_void_ones_never(
    steps: list[tuple[str, int, Alarm | None]],
) -> None:
    timers, held, now = Timers(), list[Moment](), 0
    for number, (what, value, alarm) in enumerate(steps):
        if what == "set" and alarm is not None:
            timers.set(now + value, alarm, number)
            held.append((now + value, number, alarm, number))
        elif what == "void":
            for moment in [one for one in held if one[2] is Alarm.TIMEOUT][value:][:1]:
                timers.void(moment[3])
                held.remove(moment)
        elif what == "pass":
            now += value
            rung = sorted(one for one in held if one[0] <= now)
            assert list(timers.due(now)) == [one[2:] for one in rung]
            held = [one for one in held if one[0] > now]
        assert timers.next_us == min((one[0] for one in held), default=NEVER)
        _check_coming(timers, held)


def _check_coming(timers: Timers, held: list[Moment]) -> None:
    """Void ones may be among them, until they are swept out."""
    coming = list(timers.coming())
    assert len(coming) == len(timers)
    assert [one for one in coming if (one[0], one[2], one[1], one[2]) in held] == [
        (at, alarm, key) for at, _, alarm, key in sorted(held)
    ]


def test_alarms_far_away_keep_no_time_out_from_waiting_unsorted() -> None:
    timers = Timers()
    timers.set(10**9, Alarm.LEASE, 1)
    for number in range(1, 5000):
        timers.set(1000 + number, Alarm.TIMEOUT, number)
        if number > 10:
            timers.void(number - 10)
        assert len(timers) < 30
    assert timers.next_us == 1000 + 4999 - 9


def test_a_time_out_set_while_others_ring_rings_with_them() -> None:
    timers = Timers()
    for number in (1, 2, 3):
        timers.set(10 * number, Alarm.TIMEOUT, number)
    rung = []
    for _, key in timers.due(25):
        rung.append(key)
        if key == 1:
            timers.set(15, Alarm.TIMEOUT, 4)
            timers.set(22, Alarm.ROUND, 5)
    assert rung == [1, 4, 2, 5]
    assert timers.next_us == 30
