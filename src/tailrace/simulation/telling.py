"""The way between the world and the scheduler: events go in, at once or as late as the scenario
says, and what is decided is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.events import AnyEvent, LeaseChanged, OfferWithdrawn, Tick
from tailrace.simulation.draws import Streams
from tailrace.simulation.engine import NEVER, Engine, Rank
from tailrace.simulation.host import SimulatedHost
from tailrace.simulation.polling import Unread
from tailrace.simulation.scenario import News

Watch = Callable[[AnyEvent, list[Any], int], None]


class Report(Protocol):
    def __call__(self, event: AnyEvent, then: AnyEvent | None = None, /) -> None:
        """A machine tells of one thing, or of two in one call."""


class Teller:
    def __init__(self, engine: Engine, scheduler: Scheduler, news: News, streams: Streams) -> None:
        self.told = 0  # events that the scheduler has handled
        self.acts: Mapping[type, Callable[[Any], None]] = {}  # what is done for each decision
        self.served: dict[str, SimulatedHost] = {}  # by the decisions being done now
        self._engine = engine
        self._handle = scheduler.handle  # looked up for every event
        self._timers = scheduler.state.timers
        self._every_us = news.every_us
        self._delay = streams.stream("news").durations(news.delay) if news.delay else None
        self._heard_us: dict[str | int, int] = {}  # the latest news under way, by machine
        self._unread = Unread()
        self._soon: deque[AnyEvent] = deque()  # caused by what is being done now
        self._handling = False
        self._alarm_us = NEVER
        self._always_late = news.delay is not None or bool(news.every_us)
        self._outage = news.outage
        self._cut_off_until_us = NEVER  # until it is over
        self.on_told: Callable[[AnyEvent], None] | None = None  # of what was on its way
        self.report: Report = self._way()  # of what happens on a machine

    def _way(self) -> Report:
        if self._delay is not None:
            return self._tell_later
        if self._outage is not None:
            return self._tell_when_joined
        return self._unread_until_polled if self._every_us else self.tell

    @property
    def is_late(self) -> bool:
        """What is reported now is heard later."""
        return self._always_late or self._is_cut_off()

    def _is_cut_off(self) -> bool:
        if self._outage is None:
            return False
        return self._outage[0] <= self._engine.now < self._cut_off_until_us

    def begin(self) -> None:
        """After all that comes at the beginning has been put."""
        if self._every_us:
            self._engine.put(self._every_us, Rank.WATCH, self._poll)
        if self._outage is not None:
            self._engine.put(self._outage[1], Rank.WATCH, self._join)

    def watch(self, watch: Watch) -> None:
        """From now on it sees each event with its decisions: a trace."""
        handle = self._handle

        def watched(event: AnyEvent, now: int) -> list[Any]:
            decisions = handle(event, now)
            watch(event, decisions, now)
            return decisions

        self._handle = watched

    # what happens is told

    def _tell_later(self, event: AnyEvent, then: AnyEvent | None = None, /) -> None:
        self._delayed(event)
        if then is not None:
            self._delayed(then)

    def _delayed(self, event: AnyEvent) -> None:
        """News of one machine does not overtake what it said before."""
        assert self._delay is not None
        whose = event.lease if isinstance(event, LeaseChanged) else event.host  # type: ignore
        due = max(self._engine.now + self._delay(), self._heard_us.get(whose, 0))
        self._heard_us[whose] = due
        self._engine.put(due, Rank.ARRIVAL, self._tell_at_last, event)

    def _tell_when_joined(self, event: AnyEvent, then: AnyEvent | None = None, /) -> None:
        """In an outage machines go on, and tell when it is over what came of it."""
        if self._is_cut_off():
            self._unread_until_polled(event, then)
        else:
            self.tell(event, then)

    def _join(self, _: object) -> None:
        self._cut_off_until_us = 0
        for event in self._unread.read():
            self._tell_at_last(event)

    def _unread_until_polled(self, event: AnyEvent, then: AnyEvent | None = None, /) -> None:
        self._unread.add(event)
        if then is not None:
            self._unread.add(then)

    def back_unmissed(self, host: str) -> None:
        """It begins anew, and nobody has heard that it had gone: its open offer is of before. News
        that is merely delayed comes in its order, and needs no telling."""
        if self._delay is None:
            self._unread.add(OfferWithdrawn(host))

    def _poll(self, _: object) -> None:
        for event in self._unread.read():
            self._tell_at_last(event)
        if not self._engine.only_looks_on():
            self._engine.put(self._engine.now + self._every_us, Rank.WATCH, self._poll)

    def _tell_at_last(self, event: AnyEvent) -> None:
        if self.on_told is not None:
            self.on_told(event)
        self.tell(event)

    # the one door to the scheduler

    def tell(self, event: AnyEvent, then: AnyEvent | None = None, /) -> None:
        """What a decision causes is told after the decisions that came with it. One function, since
        it is called for every event."""
        soon = self._soon
        if self._handling:
            soon.append(event)
            if then is not None:
                soon.append(then)
            return
        self._handling = True
        handle, acts, now = self._handle, self.acts, self._engine.now
        while True:
            self.told += 1
            for decision in handle(event, now):
                act = acts.get(type(decision))
                if act is not None:
                    act(decision)
            if self.served:
                self._offer_the_rest()
            if soon:
                event = soon.popleft()
            elif then is not None:
                event, then = then, None
            else:
                break
        self._handling = False
        if self._timers.next_us < self._alarm_us:
            self._set_alarm(self._timers.next_us)

    def _set_alarm(self, alarm: int) -> None:
        self._alarm_us = alarm
        self._engine.put(max(alarm, self._engine.now), Rank.ALARM, self._ring, alarm)

    def _offer_the_rest(self) -> None:
        """A host that was sent something, and has room for more, asks again; not one whose present
        life nobody has heard of: its offer is on its way, and what is sent before it is lost."""
        served, self.served = self.served, {}
        for host in served.values():
            if host.machine.free and not host.warned and host.awaits is None:
                self.report(host.offer)

    def _ring(self, alarm: int) -> None:
        """A later alarm was overtaken by an earlier one, or is not needed any more."""
        if alarm != self._alarm_us:
            return
        if self._outage is not None and self._is_cut_off():
            self._engine.put(self._outage[1], Rank.ALARM, self._ring, alarm)
            return
        self._alarm_us = NEVER
        if self._timers.next_us <= self._engine.now:
            self.tell(Tick())
        elif self._timers.next_us < NEVER:
            self._set_alarm(self._timers.next_us)
