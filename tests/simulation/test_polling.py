"""What a poll sees of all that happened since the last."""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.events import (
    AnyEvent,
    Ended,
    HostSeen,
    HostSilent,
    LeaseChanged,
    LeaseState,
    Offer,
    OfferWithdrawn,
)
from tailrace.simulation.polling import Unread

CORE = {"cores": 1000}


def seen_by_a_poll(*events: AnyEvent) -> list[AnyEvent]:
    unread = Unread()
    for event in events:
        unread.add(event)
    found = unread.read()
    assert unread.read() == []
    return found


def done(attempt: int, host: str) -> Ended:
    return Ended(attempt, 1, attempt, host, Outcome.SUCCEEDED)


def seen(host: str, lease: int | None = None) -> HostSeen:
    return HostSeen(host, "p", "p", CORE, lease, 1.0)


def test_results_come_first_then_the_offers_that_stand_in_their_order() -> None:
    a, b, again = Offer("a", CORE), Offer("b", CORE), Offer("a", {"cores": 2000})
    told = seen_by_a_poll(a, b, done(1, "b"), done(2, "a"), again)
    assert told == [done(1, "b"), done(2, "a"), b, again]


def test_an_offer_of_an_earlier_life_is_not_seen() -> None:
    old, new = Offer("a", CORE), Offer("a", CORE)
    told = seen_by_a_poll(done(1, "a"), old, HostSilent("a"), seen("a"), new)
    assert told == [OfferWithdrawn("a"), done(1, "a"), HostSilent("a"), seen("a"), new]
    assert told[-1] is new


def test_one_that_is_down_has_no_offer_and_its_open_one_ends_before_all_else() -> None:
    told = seen_by_a_poll(done(1, "b"), Offer("a", CORE), HostSilent("a"))
    assert told == [OfferWithdrawn("a"), done(1, "b"), HostSilent("a")]


def test_a_warned_one_takes_nothing_more() -> None:
    assert seen_by_a_poll(Offer("a", CORE), OfferWithdrawn("a")) == [OfferWithdrawn("a")]


def test_another_speed_leaves_the_offer_open() -> None:
    offer = Offer("a", CORE)
    assert seen_by_a_poll(seen("a"), offer, seen("a")) == [seen("a"), seen("a"), offer]


def test_with_a_lease_that_is_gone_goes_the_offer_of_its_machine() -> None:
    unread = Unread()
    unread.add(seen("a", 7))
    unread.add(Offer("a", CORE))
    assert unread.read() == [seen("a", 7), Offer("a", CORE)]
    unread.add(Offer("a", CORE))
    gone = LeaseChanged(7, LeaseState.GONE)
    unread.add(gone)
    assert unread.read() == [OfferWithdrawn("a"), gone]
