"""What travels: rates on local and wide links, latencies, cancelled transfers, storage."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.network import Link, Reach, Route, Traffic
from tailrace.simulation.storage import Storage
from tailrace.simulation.topology import Topology

S = 1_000_000
MS = 1_000
MBIT = 1_000_000 / 8  # bytes per second
GB = 1_000_000_000


def two_sites() -> tuple[Topology, dict[str, Link]]:
    """Two places at one site and one at another, as in chapter 5 of the thesis."""
    links = {
        "here": Link("here", 1000 * MBIT, MS),
        "there": Link("there", 1000 * MBIT, MS),
        "wide": Link("wide", 5 * MBIT, 10 * MS, Reach.WIDE),
    }
    topology = Topology()
    topology.add_site("A", links["here"])
    topology.add_site("B", links["there"])
    topology.join("A", "B", links["wide"])
    for name, site in (("a", "A"), ("other a", "A"), ("b", "B")):
        topology.place(name, site)
    return topology, links


def arrivals(*sendings: tuple[float, float, Route]) -> dict[int, int]:
    """When each (at, size, route) is there."""
    engine, there = Engine(), {}
    traffic = Traffic(engine)
    for number, (at, size, route) in enumerate(sendings):
        send = lambda n, size=size, route=route: traffic.send(  # noqa: E731
            size, route, lambda n: there.update({n: engine.now}), n
        )
        engine.put(round(at), Rank.SENDING, send, number)
    engine.run()
    return there


def test_input_and_checkpoint_of_a_gigabyte_each_over_a_wide_and_a_local_link() -> None:
    """Case 21."""
    topology, links = two_sites()
    far, near = topology.route("a", "b"), topology.route("a", "other a")
    assert arrivals((0, 2 * GB, far)) == {0: 3200 * S + 12 * MS}
    assert arrivals((0, 2 * 2**30, far))[0] == pytest.approx(3435.97 * S, abs=0.02 * S)
    assert arrivals((0, 2 * GB, near)) == {0: 16 * S + MS}
    assert links["wide"].bytes == 2 * GB + 2 * 2**30
    assert links["here"].bytes == 4 * GB + 2 * 2**30


def test_a_local_link_is_shared_by_the_inverse_of_the_latency() -> None:
    """Case 22: 1 Gbit/s, routes of 2 ms and 8 ms: 800 and 200 Mbit/s."""
    engine = Engine()
    shared = Link("shared", 1000 * MBIT, MS)
    routes = [Route([shared, Link("rest", 10_000 * MBIT, rest * MS)]) for rest in (1, 7)]
    traffic = Traffic(engine)
    transfers = [traffic.send(GB, route, print) for route in routes]
    engine.run(until=8 * MS)
    assert [t.rate * S / MBIT for t in transfers] == pytest.approx([800, 200])


def test_rates_rescale_when_transfers_begin_and_end() -> None:
    """Two of 3 MB at 1 MB/s, the second a second later: 1 + 2 + 2 and 2 + 2 + 1 s."""
    route = Route([Link("shared", 1_000_000)])
    assert arrivals((0, 3_000_000, route), (S, 3_000_000, route)) == {0: 5 * S, 1: 6 * S}


def test_transfers_on_a_wide_link_do_not_slow_each_other() -> None:
    route = Route([Link("wide", 1_000_000, 5, Reach.WIDE)])
    there = arrivals(*[(0, 3_000_000, route)] * 10)
    assert set(there.values()) == {3 * S + 5}


def test_one_that_is_cancelled_leaves_its_share_and_its_bytes() -> None:
    engine, there = Engine(), []
    link = Link("shared", 1_000_000, 10)
    route, traffic = Route([link]), Traffic(engine)
    first = traffic.send(3_000_000, route, there.append, "first")
    traffic.send(3_000_000, route, there.append, "second")
    waiting = traffic.send(1, Route([Link("slow", 1, 5 * S)]), there.append, "waiting")
    engine.run(until=2 * S + 10)
    assert first.sent(engine.now) == 1_000_000
    for _ in range(2):
        traffic.cancel(first)
    traffic.cancel(waiting)
    engine.run()
    assert (there, engine.now) == (["second"], 4 * S + 10)
    assert (link.bytes, link.busy_us(engine.now)) == (4_000_000, 4 * S)


def test_without_links_or_bytes_only_the_latency_is_waited_for() -> None:
    link = Link("slow", 1, 7)
    assert arrivals((5, GB, Route([])), (5, 0, Route([link]))) == {0: 5, 1: 12}


def test_a_place_is_reached_over_its_own_link_and_its_site() -> None:
    topology, links = two_sites()
    own = Link("own", 100 * MBIT, 2 * MS)
    topology.place("storage", "B", own)
    route = topology.route("a", "storage")
    assert route.links == (links["here"], links["wide"], links["there"], own)
    assert route.latency_us == 14 * MS
    assert topology.route("a", "storage") is route
    assert topology.route("a", "a").links == ()
    assert {link.name for link in topology.links()} == {"here", "there", "wide", "own"}


def test_places_and_sites_that_are_not_there_are_named() -> None:
    topology, _ = two_sites()
    topology.add_site("C")
    topology.place("c", "C")
    with pytest.raises(ValueError, match="no wide link joins the sites 'A' and 'C'"):
        topology.route("a", "c")
    with pytest.raises(ValueError, match="'d' is placed at 'D'"):
        topology.place("d", "D")
    with pytest.raises(ValueError, match="more than 0"):
        Link("dead", 0)


sendings = st.lists(
    st.tuples(
        st.integers(0, 3 * S),
        st.integers(1, 5_000_000),
        st.sets(st.integers(0, 3), min_size=1),
        st.none() | st.integers(0, 4 * S),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=100)
@given(sendings, st.lists(st.integers(0, 8 * S), max_size=10))
def test_rates_never_exceed_a_link_and_all_bytes_arrive(plan: Any, looks: list[int]) -> None:
    engine, there, sent = Engine(), {}, {}
    links = [Link(str(n), 1_000_000 * (n + 1), 500 * n) for n in range(3)]
    links.append(Link("wide", 300_000, 9_000, Reach.WIDE))
    traffic = Traffic(engine)
    routes = [Route([links[n] for n in sorted(path)]) for _, _, path, _ in plan]

    def send(number: int) -> None:
        _, size, _, cancelled = plan[number]
        sent[number] = traffic.send(size, routes[number], arrived, number)
        if cancelled is not None:
            engine.put(engine.now + cancelled, Rank.LIFE, traffic.cancel, sent[number])

    def arrived(number: int) -> None:
        there[number] = engine.now

    def look(_: object) -> None:
        for link in links[:3]:
            total = sum(transfer.rate for transfer in link.transfers)
            assert total <= link.bytes_per_s / S * (1 + 1e-9)
        for transfer in links[3].transfers:
            assert 0 < transfer.rate <= 0.3

    for number, (at, *_) in enumerate(plan):
        engine.put(at, Rank.SENDING, send, number)
    for at in looks:
        engine.put(at, Rank.WATCH, look)
    engine.run()
    cancelled = {n for n, transfer in sent.items() if n not in there}
    assert all(plan[n][3] is not None for n in cancelled)
    assert all(sent[n].sent(engine.now) == plan[n][1] for n in there)
    for number, link in enumerate(links):
        over = sum(t.sent(engine.now) for n, t in sent.items() if number in plan[n][2])
        assert link.bytes == pytest.approx(over)
        assert not link.transfers


def model(plan: list[tuple[int, float, list[int]]], links: list[Link]) -> dict[int, float]:
    """When each is there, if at every change all rates are taken anew (eqs. 5.2 and 5.3)."""
    latency = [sum(links[n].latency_us for n in path) for _, _, path in plan]
    begins = {number: at + latency[number] for number, (at, _, _) in enumerate(plan)}
    left: dict[int, float] = {}
    there: dict[int, float] = {}
    now = 0.0
    while begins or left:
        over = [[one for one in left if n in plan[one][2]] for n in range(len(links))]
        weight = {one: 1 / (0.2 * max(latency[one], 1)) for one in left}
        rates = {
            one: min(
                links[n].bytes_per_s / S * (
                    1 if links[n].reach is Reach.WIDE
                    else weight[one] / sum(weight[other] for other in over[n])
                )
                for n in plan[one][2]
            )
            for one in left
        }  # fmt: skip
        steps = [at - now for at in begins.values()] + [left[one] / rates[one] for one in left]
        now += min(steps)
        left = {one: bytes_left - rates[one] * min(steps) for one, bytes_left in left.items()}
        there |= {one: now for one, rest in left.items() if rest <= 1e-6}
        left = {one: rest for one, rest in left.items() if rest > 1e-6}
        left |= {one: plan[one][1] for one, at in begins.items() if at <= now + 1e-6}
        begins = {one: at for one, at in begins.items() if at > now + 1e-6}
    return there


@settings(deadline=None, max_examples=200)
@given(sendings, st.sets(st.integers(0, 2)))
def test_flows_are_the_rescaling_of_every_transfer(plan: Any, private: set[int]) -> None:
    """Which links are private is a matter of speed alone."""
    links = [Link(str(n), 1_000_000 * (n + 1), 500 * n, is_private=n in private) for n in range(3)]
    links.append(Link("wide", 300_000, 9_000, Reach.WIDE))
    plain = [(at, float(size), sorted(path)) for at, size, path, _ in plan]
    sent = [(at, size, Route([links[n] for n in path])) for at, size, path in plain]
    assert arrivals(*sent) == pytest.approx(model(plain, links), abs=3 * (1 + len(plan)))


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.tuples(st.integers(0, 3).map(lambda at: at * S), st.integers(1, 4), st.integers(0, 5)),
        min_size=1,
        max_size=25,
    )
)
def test_machines_with_like_links_of_their_own(plan: Any) -> None:
    """Many begin and end in the same instant, and go from stream to stream together."""
    lan = Link("lan", 3_000_000, 1_000)
    own = [Link(str(n), 1_000_000, 1_000, is_private=True) for n in range(6)]
    there = arrivals(*[(at, size * 1e6, Route([lan, own[n]])) for at, size, n in plan])
    plain = [(at, size * 1e6, [0, n + 1]) for at, size, n in plan]
    assert there == pytest.approx(model(plain, [lan, *own]), abs=3 * (1 + len(plan)))


def test_a_hundred_machines_with_like_links_are_one_stream() -> None:
    """So that one more transfer costs one new pace, not a hundred."""
    engine = Engine()
    lan, traffic = Link("lan", 1000 * MBIT, MS), Traffic(engine)
    for number in range(100):
        own = Link(str(number), 100 * MBIT, MS, is_private=True)
        for _ in range(1 + number % 2):
            traffic.send(GB, Route([lan, own]), print)
    engine.run(until=S)
    assert (len(lan.flows), len(lan.transfers), len(lan.streams)) == (100, 150, 2)
    assert [t.rate * S / MBIT for t in lan.transfers] == pytest.approx([1000 / 150] * 150)


@settings(deadline=None, max_examples=100)
@given(sendings)
def test_a_single_bottleneck_is_never_idle_while_there_is_something_to_send(plan: Any) -> None:
    """It moves its full rate whenever it is busy, whatever the weights: a few µs of rounding."""
    engine = Engine()
    narrow, traffic = Link("narrow", 1_000_000, 100), Traffic(engine)
    for number, (at, size, _, _) in enumerate(plan):
        route = Route([narrow, Link("broad", 1e12, number * 1_000)])
        engine.put(at, Rank.SENDING, lambda _, r=route, s=size: traffic.send(s, r, lambda _: None))
    engine.run()
    assert narrow.bytes == sum(size for _, size, _, _ in plan)
    assert narrow.busy_us(engine.now) == pytest.approx(narrow.bytes, abs=1 + len(plan))


def test_storage_takes_what_fits() -> None:
    storage = Storage(100)
    assert storage.store(60) and not storage.store(50) and storage.store(40)
    assert (storage.free, storage.refused) == (0, 1)
    storage.remove(60)
    assert storage.free == 60
    with pytest.raises(ValueError, match="only 40 are stored"):
        storage.remove(41)
    assert Storage().store(10**18) and Storage().free is None


def test_an_end_that_is_half_a_microsecond_away_is_not_forgotten() -> None:
    """By the last digit of a clock it was not due yet, and nothing came to look again."""
    lan = Link("lan", 3_000_000, 1_000)
    own = [Link(str(n), 1_000_000, 1_000, is_private=True) for n in range(3)]
    plan = [*[(0, 1, 1)] * 4, (0, 2, 0), (S, 1, 2), (2 * S, 1, 1), (3 * S, 1, 1)]
    there = arrivals(*[(at, size * 1e6, Route([lan, own[n]])) for at, size, n in plan])
    assert there[4] == pytest.approx(4_125_810, abs=1)
