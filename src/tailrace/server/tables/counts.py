"""Facts of bags as the scheduler counts them: no result is read, however many there are.

What it has in mind is committed whenever anybody can look, so these are the tables' own facts.
"""

from __future__ import annotations

from tailrace.scheduler.state import Bag, State
from tailrace.server.records import reading
from tailrace.server.records.reading import BagFacts
from tailrace.server.tables.link import Link


def facts(link: Link, state: State, number: int, owner: str) -> BagFacts:
    bag = state.bags.get(number)
    if bag is None:
        return reading.bag(link, number)
    good = bag.done.count - bag.failed.count
    live = sum(len(attempts) for attempts in bag.live.values())
    return BagFacts(
        number, bag.terms.name, bag.phase, bag.why, bag.terms.count, good, bag.failed.count, live,
        bag.submitted_us, bag.ended_us, _last_us(link, bag), owner, bag.taken,
    )  # fmt: skip


def _last_us(link: Link, bag: Bag) -> int:
    sent = [one.sent_us for attempts in bag.live.values() for one in attempts]
    return max(bag.submitted_us, reading.last_told(link, bag.id), *sent)
