"""The hosts of the virtual world: how they are made, come and go, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.scheduler.events import AnyEvent, HostSeen, HostSilent, OfferWithdrawn
from tailrace.simulation.attempts import Attempts
from tailrace.simulation.draws import Streams
from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.host import SimulatedHost
from tailrace.simulation.laws import Law
from tailrace.simulation.life import Cause, Presence, stay
from tailrace.simulation.machinery import Machinery
from tailrace.simulation.scenario import Detection, Machines
from tailrace.simulation.submissions import Works
from tailrace.simulation.telling import Teller

LeaseLost = Callable[[SimulatedHost, Cause], None]
Left = Callable[[], None]


class Population:
    def __init__(
        self,
        engine: Engine,
        streams: Streams,
        teller: Teller,
        attempts: Attempts,
        machinery: Machinery,
        works: list[Works],
        hosts: dict[str, SimulatedHost],
    ) -> None:
        self.hosts = hosts  # those there are, or will be again
        self.every: list[SimulatedHost] = []  # with those that are gone for good
        self.on_lease_lost: LeaseLost | None = None
        self.on_left: Left | None = None  # some machine may be gone for good
        self._engine, self._streams = engine, streams
        self._attempts, self._works = attempts, works
        self._machinery = machinery
        self._teller, self._report = teller, teller.report
        teller.on_told = self._heard
        self._numbers: dict[str, int] = {}  # machines of each pool so far

    # how they are made

    def begin(self, machines: Machines) -> None:
        """Those that come by themselves."""
        streams = self._streams.below("machines", machines.terms.name)
        times = self._streams.stream("machines", machines.terms.name).times(machines.arrivals)
        starts = _durations(streams, "startup", machines.starts_own)
        stays = _durations(streams, "departs", machines.departs)
        for _ in range(machines.count):
            host, arrives = self.new_host(machines, None), next(times)
            self._arrive(host, arrives + (0 if starts is None else starts()))
            if stays is not None:
                self._depart(host, arrives + stays())

    def _arrive(self, host: SimulatedHost, at_us: int) -> None:
        if at_us:
            self._engine.put(at_us, Rank.LIFE, host.presence.arrive)
        else:
            host.presence.arrive()

    def _depart(self, host: SimulatedHost, at_us: int) -> None:
        stay(host.presence, departs_us=at_us, notice_us=host.pool.notice_us)
        self._engine.put(at_us, Rank.WATCH, self._departed)

    def _departed(self, _: object) -> None:
        if self.on_left is not None:
            self.on_left()

    def new_host(self, machines: Machines, lease: int | None) -> SimulatedHost:
        pool = machines.terms.name
        number = self._numbers.get(pool, 0)
        self._numbers[pool] = number + 1
        host = SimulatedHost(f"{pool}-{number}", number, machines, lease)
        host.works = [works[pool] for works in self._works]
        host.presence = Presence(
            self._engine, self._up, self._down, self._noticed, tag=host, arrived=False
        )
        host.partings = host.presence.partings
        self._machinery.equip(host, self._see)
        self._attempts.equip(host)
        self.hosts[host.name] = host
        self.every.append(host)
        return host

    # how they come and go

    def _up(self, presence: Presence) -> None:
        host: SimulatedHost = presence.tag  # type: ignore[assignment]
        if host.unborn is not None:
            host.unborn(host)
        host.machine.come()
        self._close_old(host)
        seen = self._see(host)
        if self._teller.is_late:
            host.awaits = seen
            if host.known:
                self._teller.back_unmissed(host.name)
        host.known = True
        self._expect_end(host)
        self._attempts.offer(host)

    def _expect_end(self, host: SimulatedHost) -> None:
        """Of those that it was told of the first; one may have been while it was away."""
        goes_us = host.presence.goes_us
        host.warned, host.goes_us = goes_us is not None, goes_us or 0

    def _see(self, host: SimulatedHost) -> HostSeen | None:
        """It has come, or has another speed now."""
        if not host.presence.up:
            return None
        pool = host.pool
        seen = HostSeen(
            host.name, pool.terms.name, pool.kind or pool.terms.name,
            host.capacity, host.lease, host.speed, cores=pool.shared_cores,
            owner=pool.whose, cpu=pool.cpu, says=pool.says,
        )  # fmt: skip
        self._report(seen)
        return seen

    def _heard(self, event: AnyEvent) -> None:
        """News that was on its way has come."""
        host = self.hosts.get(event.host) if isinstance(event, HostSeen) else None
        if host is not None and host.awaits is event:
            host.awaits = None

    def _close_old(self, host: SimulatedHost) -> None:
        """It has begun anew: what it had before is lost. Who took it for lost long ago, when the
        machine fell silent, is told so once more: some of it may have waited for that."""
        for job in list(host.forgotten.values()):
            self._attempts.report_lost(host, job)

    def _down(self, presence: Presence, cause: Cause) -> None:
        host: SimulatedHost = presence.tag  # type: ignore[assignment]
        if host.warned and self._engine.now >= host.goes_us:
            self._attempts.hand_back_rest(host)
        host.machine.fail() if cause is not Cause.ABSENT else host.machine.leave()
        self._attempts.lose(host)
        if host.lease is None and host.pool.is_mortal and self.on_left is not None:
            self.on_left()
        if host.lease is None:
            self._be_missed(host)
        elif self.on_lease_lost is not None:
            self.on_lease_lost(host, cause)

    def _be_missed(self, host: SimulatedHost) -> None:
        detection = host.pool.detects(leased=False)
        if detection is Detection.REPORTED:
            self._silent(host)
        elif detection is Detection.SILENT:
            due = self._engine.now + host.pool.terms.silent_after_us
            outage = host.presence.availability.outages
            self._engine.put(due, Rank.LIFE, self._silent_for_long, (host, outage))

    def _silent_for_long(self, what: tuple[SimulatedHost, int]) -> None:
        host, outage = what
        if not host.presence.up and host.presence.availability.outages == outage:
            self._silent(host)

    def _silent(self, host: SimulatedHost) -> None:
        if host.known:
            host.known = False
            self._report(HostSilent(host.name))

    def _noticed(self, presence: Presence, cause: Cause, goes_us: int) -> None:
        """It hands back what it runs while it still can, and takes nothing more. A later end than
        the one it knows of changes nothing."""
        host: SimulatedHost = presence.tag  # type: ignore[assignment]
        if host.warned and host.goes_us <= goes_us:
            return
        self._expect_end(host)
        self._attempts.hand_back(host)
        self._report(OfferWithdrawn(host.name))


def _durations(streams: Streams, name: str, law: Law | None) -> Callable[[], int] | None:
    return None if law is None else streams.stream(name).durations(law)
