"""The virtual world: the same scheduler as the server's, on simulated machines.

What happens on the machines becomes events, told at once or as late as the scenario says; what the
scheduler decides is done to the machines. There is no scheduling here.
"""

from __future__ import annotations

from tailrace.bag.outcome import Outcome
from tailrace.errors import BadInput
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import (
    Acquire,
    Assign,
    Drop,
    PauseBag,
    Release,
    Renew,
    Replan,
    Settle,
    StopBag,
)
from tailrace.scheduler.events import PlanReady, Restarted
from tailrace.simulation.attempts import Attempts
from tailrace.simulation.bounds import Bounds
from tailrace.simulation.drawn import Book, between
from tailrace.simulation.draws import Streams
from tailrace.simulation.engine import Engine, Rank, Stop
from tailrace.simulation.host import SimulatedHost
from tailrace.simulation.leasing import Leasing
from tailrace.simulation.luggage import luggage_of
from tailrace.simulation.machinery import Machinery, Staging
from tailrace.simulation.network import Link
from tailrace.simulation.patience import END_OF_TIME, LOOK, Patience
from tailrace.simulation.population import Population
from tailrace.simulation.scenario import Machines, Scenario
from tailrace.simulation.seeds import seed_of
from tailrace.simulation.storage import Storage
from tailrace.simulation.submissions import Submissions
from tailrace.simulation.telling import Teller, Watch
from tailrace.simulation.transport import Transport

LOOK_US = 60_000_000


class World:
    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        *,
        check: bool = False,
        watch: Watch | None = None,
        book: Book | None = None,
    ) -> None:
        """`watch` is called with each event, its decisions and the time: a trace; in the `book`
        all is noted that is drawn."""
        self.scenario = scenario
        self.engine = Engine()
        self.scheduler = Scheduler(check=check)
        self.hosts: dict[str, SimulatedHost] = {}  # those there are, or will be again
        count = sum(tasks.terms.count for tasks in scenario.bags)
        self._left = min(count, scenario.stop.tasks or count)  # results to come
        self._resting: dict[int, None] = {}  # bags that were paused, or stopped by their budget
        self._looks = False  # now and then, whether anything is left to do
        self._nothing_left = False  # for any machine that there is or will be
        stop = scenario.stop
        asked = stop.failed is not None or stop.spent is not None
        self._bounds = Bounds(stop, self.engine, self.scheduler.state) if asked else None
        self.given_up = ""  # why the run ended without any prospect
        self._between = between(scenario.events, book)
        streams = Streams(seed, self._between)
        self._furnish(streams)
        if watch is not None:
            self._teller.watch(watch)
        self._begin(seed_of(streams.stream("scheduler", "seed")))

    def _furnish(self, streams: Streams) -> None:
        scenario, engine = self.scenario, self.engine
        teller = self._teller = Teller(engine, self.scheduler, scenario.news, streams)
        bags = self._submissions = Submissions(scenario, engine, streams, teller)
        self.records = bags.records
        attempts = Attempts(scenario, engine, streams, teller, self.hosts, bags.records)
        self._unheard = attempts.unheard
        self._luggage = luggage_of(scenario, streams)
        self._transport = Transport(engine, scenario.network)
        staging = Staging(attempts.freed, attempts.refused, self._transport, self._luggage)
        machinery = Machinery(
            engine, streams, scenario.network, attempts.ended,
            staging if self._luggage else None, plain=scenario.is_plain,
        )  # fmt: skip
        population = Population(
            engine, streams, teller, attempts, machinery, bags.works, self.hosts
        )
        self._population, self.every_host = population, population.every
        population.on_left = self._look_soon
        leasing = self._leasing = Leasing(scenario, engine, streams, teller, population)
        teller.acts = {
            Assign: attempts.assign,
            Drop: attempts.drop,
            Settle: self._settle,
            Acquire: leasing.acquire,
            Renew: leasing.renew,
            Release: leasing.release,
            PauseBag: self._rest,
            Replan: self._plan,
            StopBag: self._rest,
        }

    def _begin(self, seed: int) -> None:
        pools = self.scenario.pools
        terms = tuple(machines.told_terms for machines in pools)
        self._teller.tell(Restarted(seed, terms, stores=False))
        self._submissions.begin()
        for machines in pools:
            self._population.begin(machines)
        self._teller.begin()

    def _settle(self, end: Settle) -> None:
        self.records[end.bag - 1].settle(end.index, self.engine.now, end.outcome)
        winner = end.attempt if end.outcome is Outcome.SUCCEEDED else None
        if self._unheard is not None:
            self._unheard.settle(end.bag, end.index, winner)
        if self._luggage:
            self._luggage[end.bag - 1].settle(end.index, winner, self._transport.storage)
        self._left -= 1
        if not self._left:
            self._end()
        if self._bounds is not None:
            self._bounds.settled(end.outcome)

    def _end(self) -> None:
        if self._leasing.ends_slowly:
            self.engine.put(self.engine.now, Rank.WATCH, self._end_when_gone)
        else:
            self.engine.stop()

    def _end_when_gone(self, _: object) -> None:
        """Machines that were given back are paid until they are gone."""
        gone_us = self._leasing.last_gone_us
        if gone_us > self.engine.now:
            self.engine.put(gone_us, Rank.WATCH, self._end_when_gone)
        else:
            self.engine.stop()

    def _plan(self, asked: Replan) -> None:
        """Planning takes no time of this world. What it takes to load, only those need who ask."""
        from tailrace.planning.answering import answer

        number = asked.inquiry.number
        try:
            self._teller.tell(PlanReady(asked.bag, number, answer(asked.inquiry)))
        except BadInput as none:
            self._teller.tell(PlanReady(asked.bag, number, None, none.message))

    def _rest(self, end: PauseBag | StopBag) -> None:
        """Nobody is here who would let it go on: what is out comes back, and then it is over."""
        self._resting[end.bag] = None
        if len(self._resting) == 1:
            self._look(None)

    def _look_soon(self) -> None:
        if not self._looks:
            self._looks = True
            self.engine.put(self.engine.now + LOOK_US, Rank.WATCH, self._look)

    def _look(self, _: object) -> None:
        """Other machines may fail and be mended without end: that alone is no reason to go on."""
        self._looks = False
        if not self._goes_on():
            self._nothing_left = any(bag not in self._resting for bag in self._open())
            self.engine.stop()
        elif not self.engine.only_looks_on():
            self._look_soon()

    def _goes_on(self) -> bool:
        if any(bag not in self._resting and self._has_prospects(bag) for bag in self._open()):
            return True
        return any(host.at_work for host in self.hosts.values())

    def _rests(self) -> bool:
        """What is out, if anything, neither ends by itself nor is given up in time."""
        live = self.scheduler.state.attempts.values()
        if any(one.timeout_us is not None and not one.expired for one in live):
            return False
        return not any(host.at_work for host in self.hosts.values())

    def _open(self) -> list[int]:
        bags = enumerate(self.records, 1)
        return [bag for bag, record in bags if record.settled < len(record.done)]

    def _has_prospects(self, number: int) -> bool:
        """Tasks are yet to come, an attempt to be given up, or some machine may take one."""
        bag = self.scheduler.state.bags.get(number)
        if bag is None or bag.live or bag.arrived is not None:
            return True
        names = bag.terms.pools or tuple(pool.terms.name for pool in self.scenario.pools)
        pools = [pool for pool in self.scenario.pools if pool.terms.name in names]
        return any(pool.terms.max or self._lasts(pool) for pool in pools)

    def _lasts(self, pool: Machines) -> bool:
        """Some machine of it is there, or will be again."""
        hosts = self.hosts.values()
        return any(host.pool is pool and not host.presence.final for host in hosts)

    @property
    def links(self) -> list[Link]:
        """Of its network, with what went over each."""
        return self._transport.links()

    @property
    def storage(self) -> Storage:
        return self._transport.storage

    @property
    def never_drawn(self) -> dict[str, str]:
        """Names of the scenario's events that changed nothing."""
        return self._between.never_drawn() if self._between is not None else {}

    @property
    def told(self) -> int:
        """Events that the scheduler has handled."""
        return self._teller.told

    def run(self) -> Stop:
        """Until all tasks have their result, or as the scenario says."""
        stop, bags, met = self.scenario.stop, self.scenario.bags, self._bounds
        patience = Patience(self.records, saves=any(tasks.files.saving for tasks in bags))
        when = None if met is None else met.are_met
        left = stop.events
        while (why := self.engine.run(stop.time_us, _few(left), when)) is Stop.COUNT:
            if left is not None and (left := left - LOOK) <= 0:
                return why
            if not stop.surely and (lost := patience.lost(self.engine.now, self._rests())):
                self.given_up = lost
                return Stop.EMPTY
        if why is Stop.TIME and stop.time_us is None:
            self.given_up = END_OF_TIME
        return Stop.EMPTY if self.given_up or self._nothing_left else why


def _few(left: int | None) -> int:
    """Events until somebody looks."""
    return LOOK if left is None else min(LOOK, left)
