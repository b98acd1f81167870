"""What a host of a pool is made of: its speed, its machine, and all that keeps it away or slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tailrace.simulation.changes import Changing
from tailrace.simulation.draws import Streams
from tailrace.simulation.engine import Engine
from tailrace.simulation.host import SimulatedHost
from tailrace.simulation.life import Alternating, Cause, Outages, SiteFailures
from tailrace.simulation.luggage import Luggage
from tailrace.simulation.machine import Machine, OnEnd
from tailrace.simulation.scenario import Alternation, Machines
from tailrace.simulation.sharing import EqualShare, Reservation
from tailrace.simulation.single import SingleMachine
from tailrace.simulation.sites import Network, SiteOutages
from tailrace.simulation.staged import StagedMachine
from tailrace.simulation.transport import Transport

See = Callable[[SimulatedHost], object]


class Staging(NamedTuple):
    """What machines need whose jobs have luggage, as `StagedMachine` takes it."""

    on_freed: See
    on_refused: OnEnd
    transport: Transport
    bags: Sequence[Luggage]


class Machinery:
    def __init__(
        self,
        engine: Engine,
        streams: Streams,
        network: Network,
        on_end: OnEnd,
        staging: Staging | None,
        plain: bool,
    ) -> None:
        """`plain`: every task needs one core."""
        self._engine, self._streams, self._plain = engine, streams, plain
        self._on_end, self._staging = on_end, staging
        self._outages = {
            site.name: self._site_failures(site.name, site.outages)
            for site in network.sites
            if site.outages is not None
        }

    def equip(self, host: SimulatedHost, see: See) -> None:
        """`see` is called with it whenever its speed has changed."""
        host.speed = self._speed(host.pool, host.number)
        pool = host.pool
        host.many = pool.slots > 1 or not self._plain
        if self._staging or host.many or pool.load or pool.pace:
            machine = host.machine = self._general(host)
            self._let_change(host, machine, see)
        else:
            host.machine = SingleMachine(
                self._engine, self._on_end, speed=host.speed, up=False, tag=host
            )
        self._let_live(host)

    def _speed(self, machines: Machines, number: int) -> float:
        """Of this machine: its own, by the spread of its type."""
        pool = machines.terms.name
        speed = self._streams.stream("speed", pool).values(machines.speed, 1, number)
        factor = self._streams.stream("spread", pool).values(machines.type.spread, 1, number)
        return float(speed.item(0) / factor.item(0))

    def _general(self, host: SimulatedHost) -> Machine:
        pool, staging = host.pool, self._staging
        kind = Reservation if pool.sharing == "reserved" else EqualShare
        facts: dict[str, Any] = {
            "speed": host.speed, "slots": pool.slots, "sharing": kind(pool.cores),
            "has": pool.has, "up": False, "tag": host,
        }  # fmt: skip
        if staging is None:
            return Machine(self._engine, self._on_end, **facts)
        if host.site is not None:
            staging.transport.place(host.name, host.site, pool.link)
        return StagedMachine(self._engine, self._on_end, *staging, **facts)

    def _let_change(self, host: SimulatedHost, machine: Machine, see: See) -> None:
        machines = host.pool
        if machines.load is None and machines.pace is None:
            return

        def on_change() -> None:
            host.speed = changing.speed
            see(host)

        changing = Changing(machine, host.speed, on_change)
        streams = self._streams.below("changes", machines.terms.name, host.number)
        changing.follow(host.presence, streams, machines.load, machines.pace)

    def _let_live(self, host: SimulatedHost) -> None:
        machines, presence = host.pool, host.presence
        if host.lease is None:
            self._begin_life(host)
        else:
            host.unborn = self._begin_life
        if machines.owner_hours is not None:
            hours = machines.owner_hours.outages(self._engine.now)
            Outages(presence, Cause.OWNER, hours, notice_us=machines.notice_us)
        if machines.trace is not None:
            away = machines.trace.outages(host.number)
            Outages(presence, Cause.FAILURE, away, notice_us=machines.notice_us)
        if host.site in self._outages:
            self._outages[host.site].join(presence)

    def _begin_life(self, host: SimulatedHost) -> None:
        """Of one that is leased, when it is first up: until then it only starts."""
        host.unborn = None
        if host.pool.failures is not None:
            self._alternate(host, host.pool.failures, Cause.FAILURE)
        if host.pool.owner is not None:
            self._alternate(host, host.pool.owner, Cause.OWNER)

    def _site_failures(self, site: str, outages: SiteOutages) -> SiteFailures:
        streams = self._streams.below("site", site)
        between = streams.stream("between").durations(outages.between)
        repair = streams.stream("repair").durations(outages.repair)
        chance = streams.stream("hit").uniforms() if outages.share < 1 else None
        return SiteFailures(self._engine, between, repair, share=outages.share, chance=chance)

    def _alternate(self, host: SimulatedHost, law: Alternation, cause: Cause) -> None:
        streams = self._streams.below(cause.value, host.pool.terms.name, host.number)
        here = streams.stream("here").durations(law.here)
        away = streams.stream("away").durations(law.away) if law.away is not None else None
        Alternating(host.presence, cause, here, away, notice_us=law.notice_us)
