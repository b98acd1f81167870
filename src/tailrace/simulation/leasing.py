"""Leases in the virtual world: machines that start when they are wanted, and end with them."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.scheduler.decisions import Acquire, Release, Renew
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.simulation.draws import Streams
from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.host import SimulatedHost
from tailrace.simulation.life import Cause
from tailrace.simulation.population import Population
from tailrace.simulation.scenario import Detection, NeverUp, Scenario
from tailrace.simulation.telling import Teller


class Leasing:
    def __init__(
        self,
        scenario: Scenario,
        engine: Engine,
        streams: Streams,
        teller: Teller,
        population: Population,
    ) -> None:
        self._engine, self._population = engine, population
        self._report = teller.report
        self._leased: dict[int, SimulatedHost] = {}
        self._dead: dict[int, str] = {}  # of them, those whose machine has gone, and why
        self._pools = {machines.terms.name: machines for machines in scenario.pools}
        self._starts = {
            name: streams.stream("startup", name).durations(machines.startup)
            for name, machines in self._pools.items()
        }
        self._endings = {
            name: streams.stream("ending", name).durations(machines.ending)
            for name, machines in self._pools.items()
            if machines.ending is not None
        }
        self.last_gone_us = 0  # when the last is gone that was given back
        self._never_up = {
            name: _misfortune(machines.never_up, streams.below("never_up", name))
            for name, machines in self._pools.items()
            if machines.never_up is not None
        }
        population.on_lease_lost = self._lose

    @property
    def ends_slowly(self) -> bool:
        return bool(self._endings)

    def acquire(self, call: Acquire) -> None:
        up = self._engine.now + self._starts[call.pool]()
        host = self._population.new_host(self._pools[call.pool], call.lease)
        self._leased[call.lease] = host
        self._report(LeaseChanged(call.lease, LeaseState.STARTING))
        gone_us = self._gone_before_it_is_up(call.pool)
        if gone_us is None:
            self._engine.put(up, Rank.LIFE, host.presence.arrive)
        else:
            self._engine.put(self._engine.now + gone_us, Rank.LIFE, self._miss, host)
        host.ends = self._engine.put(call.ends_us, Rank.LIFE, self._end, host)

    def _gone_before_it_is_up(self, pool: str) -> int | None:
        draw = self._never_up.get(pool)
        return None if draw is None else draw()

    def _miss(self, host: SimulatedHost) -> None:
        self._over(host, "it was gone before its first call")

    def _lose(self, host: SimulatedHost, cause: Cause) -> None:
        """Its machine goes. Until somebody finds out, at the latest when the lease is over that
        nobody is there to renew, it stands in the books, and is paid."""
        why = f"{cause.value}: its machine has gone"
        detection = host.pool.detects(leased=True)
        if cause is Cause.ABSENT or detection is Detection.REPORTED:
            self._over(host, why)
            return
        assert host.lease is not None
        self._dead[host.lease] = why
        host.presence.depart()
        if detection is Detection.SILENT:
            due = self._engine.now + host.pool.terms.silent_after_us
            self._engine.put(due, Rank.LIFE, self._end, host)

    def renew(self, call: Renew) -> None:
        host = self._leased.get(call.lease)
        if host is not None and call.lease not in self._dead:
            self._engine.cancel(host.ends)
            host.ends = self._engine.put(call.ends_us, Rank.LIFE, self._end, host)

    def release(self, call: Release) -> None:
        host = self._leased.get(call.lease)
        if call.lease in self._dead:
            self._engine.put(self._engine.now, Rank.LIFE, self._end, host)
        elif host is not None:
            draw = self._endings.get(host.pool.terms.name)
            gone_us = self._engine.now + (0 if draw is None else draw())
            self.last_gone_us = max(self.last_gone_us, gone_us)
            self._engine.put(gone_us, Rank.LIFE, self._end, host)

    def _end(self, host: SimulatedHost) -> None:
        host.presence.depart()
        self._over(host, self._dead.get(host.lease or 0, ""))

    def _over(self, host: SimulatedHost, why: str) -> None:
        """Gone for good: another machine, if one is wanted, is another lease."""
        if host.lease in self._leased:
            del self._leased[host.lease]
            self._dead.pop(host.lease, None)
            self._engine.cancel(host.ends)
            host.forgotten.clear()
            if not host.presence.gone:
                host.presence.depart()
            del self._population.hosts[host.name]
            self._report(LeaseChanged(host.lease, LeaseState.GONE, why))


def _misfortune(law: NeverUp, streams: Streams) -> Callable[[], int | None]:
    """For each lease: None, or after what time it is gone."""
    chance = streams.stream("share").uniforms()
    after = streams.stream("after").durations(law.after)
    return lambda: after() if chance() < law.share else None
