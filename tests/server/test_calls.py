"""Calls that wait: found by host, by ticket, and by the time at which they must be answered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailrace.server.calls import NEVER, Call, Parked
from tailrace.server.protocol import WorkRequest

HOSTS = st.sampled_from("abcdef")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("park"), HOSTS, st.integers(0, 50)),
        st.tuples(st.just("take"), HOSTS, st.just(0)),
        st.tuples(st.just("due"), st.just(""), st.integers(0, 50)),
    )
)


def _call(ticket: int, host: str, until_us: int) -> Call:
    request = WorkRequest(2, host, 1, ticket, "pool", "kind", {}, [], [], 0.0)
    call = Call(ticket, request, 0)
    call.until_us = until_us
    return call


@given(STEPS)
def test_parked_calls_are_those_of_a_plain_table(steps: list[tuple[str, str, int]]) -> None:
    parked, model = Parked(), dict[str, Call]()
    for ticket, (step, host, time) in enumerate(steps):
        if step == "park" and host not in model:
            model[host] = _call(ticket, host, time)
            parked.park(model[host])
        elif step == "take":
            assert parked.take(host) is model.pop(host, None)
        elif step == "due":
            expected = {h for h, call in model.items() if call.until_us <= time}
            found = parked.due(time)
            assert sorted(found) == sorted(expected)
            for one in found:
                assert parked.take(one) is model.pop(one)
        assert parked.next_end() == min((c.until_us for c in model.values()), default=NEVER)
        assert all(parked.host_of(call.ticket) == h for h, call in model.items())
        assert all((h in parked) == (h in model) for h in "abcdef")
