"""News until somebody polls for it, and what a poll sees of it: not a film of what happened, but
the results that have come, and how each machine stands now.

Otherwise a host would be sent something on an offer that it made before it went and came back: and
that would be lost with its earlier life, though the machine is there.
"""

from __future__ import annotations

from tailrace.scheduler.events import (
    AnyEvent,
    HostSeen,
    HostSilent,
    LeaseChanged,
    LeaseState,
    Offer,
    OfferWithdrawn,
)


class Unread:
    def __init__(self) -> None:
        self._news: list[AnyEvent] = []
        self._host_on: dict[int, str] = {}  # by lease

    def add(self, event: AnyEvent) -> None:
        self._news.append(event)

    def read(self) -> list[AnyEvent]:
        """Offers that hold no longer are withdrawn before anything could be sent on them; those
        that stand come last, when all is known that they are compared with."""
        news, self._news = self._news, []
        ended: dict[str, AnyEvent] = {}
        between: list[AnyEvent] = []
        stand: dict[str, AnyEvent] = {}
        for event in news:
            host = self._whose_end(event)
            if host:
                ended[host] = OfferWithdrawn(host)
                stand.pop(host, None)
            if isinstance(event, Offer):
                stand.pop(event.host, None)  # the newest comes last
                stand[event.host] = event
            elif not isinstance(event, OfferWithdrawn):
                between.append(event)
        return [*ended.values(), *between, *stand.values()]

    def _whose_end(self, event: AnyEvent) -> str:
        """The host whose offer, if there is one, has come to its end."""
        if isinstance(event, HostSilent | OfferWithdrawn):
            return event.host
        if isinstance(event, HostSeen) and event.lease is not None:
            self._host_on[event.lease] = event.host
        if isinstance(event, LeaseChanged) and event.state is LeaseState.GONE:
            return self._host_on.pop(event.lease, "")
        return ""
