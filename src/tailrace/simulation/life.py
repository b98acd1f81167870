"""When a machine is there. It is, as long as nothing keeps it away: `Presence` holds what does.

Own failures, those of its site, its owner, the terms of its lease are processes of their own beside
each other, each with its own moments; a machine that fails while it is away anyway stays away until
the last of them lets go. `Presence` tells the world when it comes, goes, or is about to go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import partial

from tailrace.simulation.availability import Availability
from tailrace.simulation.engine import NEVER, Engine, Rank

Draw = Callable[[], int]  # microseconds


class Cause(Enum):
    ABSENT = "absent"  # it has not come yet, or is gone for good
    FAILURE = "failure"  # its own
    SITE = "site"  # with others of its site
    OWNER = "owner"  # wants it for himself


OnUp = Callable[["Presence"], object]
OnDown = Callable[["Presence", Cause], object]
OnNotice = Callable[["Presence", Cause, int], object]  # …, when it will go


class Presence:
    """Whether a machine is there, why not, and for how long it was."""

    __slots__ = (
        "_announced",
        "_away",
        "_on_down",
        "_on_notice",
        "_on_up",
        "availability",
        "engine",
        "final",
        "gone",
        "partings",
        "tag",
    )

    def __init__(
        self,
        engine: Engine,
        on_up: OnUp,
        on_down: OnDown,
        on_notice: OnNotice | None = None,
        *,
        tag: object = None,
        arrived: bool = True,
    ) -> None:
        """A machine that has arrived is up from now; `on_up` is not called for that."""
        self.engine = engine
        self.tag = tag  # by which the world knows the machine
        self.availability = Availability()
        self.gone = False
        self.final = False  # it will never be up again, though it may still belong to the system
        self._on_up, self._on_down, self._on_notice = on_up, on_down, on_notice
        self._away: dict[Cause, int] = {} if arrived else {Cause.ABSENT: 1}
        self._announced: dict[tuple[Cause, int], None] = {}  # ends that are still to come
        self.partings: dict[int, None] = {}  # when it will go or be warned, though it may not know
        if arrived:
            self.availability.arrive(engine.now)

    @property
    def up(self) -> bool:
        return not self._away

    @property
    def causes(self) -> tuple[Cause, ...]:
        return tuple(self._away)

    def hold(self, cause: Cause, *, for_good: bool = False) -> None:
        """It is away for this cause, until it is let go as often as it was held."""
        if self.gone:
            return
        self.partings.pop(self.engine.now, None)
        self.final = self.final or for_good
        if self._announced:
            self._announced.pop((cause, self.engine.now), None)
        first = not self._away
        self._away[cause] = self._away.get(cause, 0) + 1
        if first:
            self.availability.go_down(self.engine.now)
            self._on_down(self, cause)

    def let_go(self, cause: Cause) -> None:
        if self.gone:
            return
        left = self._away.pop(cause) - 1
        if left:
            self._away[cause] = left
        elif not self._away:
            self.availability.come_up(self.engine.now)
            self._on_up(self)

    def arrive(self, _: object = None) -> None:
        """It belongs to the system from now on; up, if nothing else keeps it away."""
        if self.gone or self._away.pop(Cause.ABSENT, None) is None:
            return
        self.availability.arrive(self.engine.now)
        if self._away:
            self.availability.go_down(self.engine.now)
        else:
            self._on_up(self)

    def depart(self, _: object = None) -> None:
        """It is gone for good, and every process about it comes to rest."""
        if self.gone:
            return
        was_up = not self._away
        self._away, self.gone, self.final = {Cause.ABSENT: 1}, True, True
        self.availability.depart(self.engine.now)
        if was_up:
            self._on_down(self, Cause.ABSENT)

    def warn(self, cause: Cause, goes_us: int) -> None:
        """One that is away has nothing to save, and learns of it when it comes."""
        self.partings.pop(self.engine.now, None)
        self._announced[cause, goes_us] = None
        if not self._away and self._on_notice is not None:
            self._on_notice(self, cause, goes_us)

    def part_at(self, at_us: int) -> None:
        """It will go then, or be warned. The world is told, though the machine may not know it:
        what would be sent to it in that very instant is sent when this has happened."""
        for past_us in [one for one in self.partings if one < self.engine.now]:
            del self.partings[past_us]
        self.partings[at_us] = None

    def stays(self) -> None:
        """It did not go now after all."""
        self.partings.pop(self.engine.now, None)

    @property
    def goes_us(self) -> int | None:
        """When it will go, by the first of all the ends that it knows of."""
        return min((goes_us for _, goes_us in self._announced), default=None)


def stay(
    presence: Presence,
    *,
    arrives_us: int | None = None,
    startup_us: int = 0,
    departs_us: int | None = None,
    notice_us: int | None = None,
) -> None:
    """It arrives, is up after its start-up delay, and departs for good: a lease, a new machine.
    With `arrives_us`, the presence was made with `arrived=False`."""
    engine = presence.engine
    if arrives_us is not None:
        engine.put(arrives_us + startup_us, Rank.LIFE, presence.arrive)
    if departs_us is not None:
        _warn_before(presence, Cause.ABSENT, departs_us, notice_us)
        presence.part_at(departs_us)
        engine.put(departs_us, Rank.LIFE, presence.depart)


def _warn_before(presence: Presence, cause: Cause, goes_us: int, notice_us: int | None) -> None:
    """A notice longer than what is left comes at once."""
    if notice_us is not None:
        engine = presence.engine
        at = max(goes_us - notice_us, engine.now)
        presence.part_at(at)
        engine.put(at, Rank.LIFE, partial(presence.warn, cause), goes_us)


class Alternating:
    """There for a drawn time, away for a drawn time, and so on (thesis 3.2): failure and repair,
    owners who come and go. Without `away` it does not come back.

    The draws run in calendar time, whatever else keeps the machine away meanwhile."""

    __slots__ = ("_away", "_cause", "_here", "_notice_us", "_presence")

    def __init__(
        self,
        presence: Presence,
        cause: Cause,
        here: Draw,
        away: Draw | None,
        *,
        notice_us: int | None = None,
    ) -> None:
        self._presence, self._cause = presence, cause
        self._here, self._away = here, away
        self._notice_us = notice_us
        self._returned()

    def _returned(self) -> None:
        """Its time begins."""
        presence = self._presence
        if presence.final:
            return
        goes_us = presence.engine.now + self._here()
        _warn_before(presence, self._cause, goes_us, self._notice_us)
        presence.part_at(goes_us)
        presence.engine.put(goes_us, Rank.LIFE, self._go)

    def _go(self, _: object) -> None:
        presence = self._presence
        if presence.final:
            return
        if self._away is not None:
            presence.engine.put(presence.engine.now + self._away(), Rank.LIFE, self._return)
        presence.hold(self._cause, for_good=self._away is None)

    def _return(self, _: object) -> None:
        """First the end of its time: who comes must not be sent what its notice finds there."""
        self._returned()
        self._presence.let_go(self._cause)


class Outages:
    """Away in given intervals `(from_us, to_us)`, in order and apart: a trace, or working hours.
    The list may have no end: only its next one is asked for. One that begins now or before holds at
    once, and one that ends at `NEVER` for good."""

    __slots__ = ("_cause", "_intervals", "_notice_us", "_presence")

    def __init__(
        self,
        presence: Presence,
        cause: Cause,
        intervals: Iterable[tuple[int, int]],
        *,
        notice_us: int | None = None,
    ) -> None:
        self._presence, self._cause = presence, cause
        self._intervals: Iterator[tuple[int, int]] = iter(intervals)
        self._notice_us = notice_us
        self._await_next()

    def _await_next(self) -> None:
        """Intervals in the past, or without length, are none."""
        now = self._presence.engine.now
        for begins_us, ends_us in self._intervals:
            if ends_us > max(begins_us, now):
                self._await(max(begins_us, now), ends_us)
                return

    def _await(self, begins_us: int, ends_us: int) -> None:
        presence, engine = self._presence, self._presence.engine
        hold = partial(presence.hold, for_good=ends_us >= NEVER)
        if begins_us <= engine.now:
            hold(self._cause)
        else:
            _warn_before(presence, self._cause, begins_us, self._notice_us)
            presence.part_at(begins_us)
            engine.put(begins_us, Rank.LIFE, hold, self._cause)
        if ends_us < NEVER:
            engine.put(ends_us, Rank.LIFE, self._return)

    def _return(self, _: object) -> None:
        if not self._presence.final:
            self._await_next()
        self._presence.let_go(self._cause)


class SiteFailures:
    """A process of the whole site, beside the machines' own: each time, every machine that has
    joined is hit with the chance `share` (1: all of them), and so is who joins before it is over;
    those hit come back together. It rests while no machine is left that could be up again."""

    __slots__ = ("_between", "_chance", "_engine", "_hit", "_joined", "_out", "_repair", "_rests",
                 "_share", "_strikes_us")  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        between: Draw,
        repair: Draw,
        *,
        share: float = 1.0,
        chance: Callable[[], float] | None = None,
    ) -> None:
        if share < 1.0 and chance is None:
            raise ValueError("a share below 1 was given: draws from [0, 1) are needed as `chance`")
        self._engine = engine
        self._between, self._repair = between, repair
        self._share, self._chance = share, chance
        self._joined: list[Presence] = []
        self._hit: list[Presence] = []
        self._rests = False
        self._out = False  # from a failure to its end
        self._await_next()

    def join(self, presence: Presence) -> None:
        self._joined.append(presence)
        if self._rests:
            self._await_next()
        elif not self._out:
            presence.part_at(self._strikes_us)
        elif self._is_hit(presence):
            self._hit.append(presence)
            presence.hold(Cause.SITE)

    def _is_hit(self, presence: Presence) -> bool:
        if self._chance is None or self._chance() < self._share:
            return True
        presence.stays()
        return False

    def _await_next(self) -> None:
        self._rests = False
        self._strikes_us = at_us = self._engine.now + self._between()
        for presence in self._joined:
            presence.part_at(at_us)
        self._engine.put(at_us, Rank.LIFE, self._strike)

    def _strike(self, _: object) -> None:
        self._joined = [presence for presence in self._joined if not presence.final]
        if not self._joined:
            self._rests = True
            return
        self._out = True
        self._hit = [presence for presence in self._joined if self._is_hit(presence)]
        for presence in tuple(self._hit):  # for one that is lost, another may join at once
            presence.hold(Cause.SITE)
        self._engine.put(self._engine.now + self._repair(), Rank.LIFE, self._restore)

    def _restore(self, _: object) -> None:
        self._out = False
        self._await_next()
        for presence in self._hit:
            presence.let_go(Cause.SITE)
