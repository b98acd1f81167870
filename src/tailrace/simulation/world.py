"""The virtual world: the same scheduler as the server's, on simulated machines.

What happens on the machines becomes events, told at once or as late as the scenario says; what the
scheduler decides is done to the machines. There is no scheduling here.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import Acquire, Assign, Drop, Release, Renew, Settle
from tailrace.scheduler.events import (
    AnyEvent,
    BagSubmitted,
    Ended,
    HostSeen,
    HostSilent,
    LeaseChanged,
    LeaseState,
    Measured,
    Restarted,
    TasksArrived,
    Tick,
)
from tailrace.scheduler.strategies import matching
from tailrace.simulation.draws import Streams
from tailrace.simulation.engine import NEVER, Engine, Rank, Stop
from tailrace.simulation.host import Sent, SimulatedHost
from tailrace.simulation.job import Job
from tailrace.simulation.life import Alternating, Cause, Presence
from tailrace.simulation.machine import Machine
from tailrace.simulation.record import Record
from tailrace.simulation.scenario import Alternation, Detection, Machines, Scenario, Tasks
from tailrace.simulation.sharing import EqualShare, Reservation
from tailrace.simulation.single import SingleMachine
from tailrace.simulation.workload import Workload, draw_lengths

SUCCEEDED, LOST, CANCELLED = Outcome.SUCCEEDED, Outcome.LOST, Outcome.CANCELLED


class World:
    def __init__(self, scenario: Scenario, seed: int, *, check: bool = False) -> None:
        self.scenario = scenario
        self.engine = Engine()
        self.scheduler = Scheduler(check=check)
        self.hosts: dict[str, SimulatedHost] = {}  # those there are, or will be again
        self.every_host: list[SimulatedHost] = []  # with those that are gone for good
        self.records: list[Record] = []
        self.told = 0  # events that the scheduler has handled
        self.watch: Callable[[AnyEvent, list[Any], int], None] | None = None  # a trace
        self._streams = Streams(seed)
        self._pools = {machines.terms.name: machines for machines in scenario.pools}
        self._numbers = dict.fromkeys(self._pools, 0)  # machines of each pool so far
        self._returns = {
            name: self._streams.stream("returns", name).uniforms()
            for name, machines in self._pools.items()
            if machines.returns < 1
        }
        self._starts = {
            name: self._streams.stream("startup", name).durations(machines.startup)
            for name, machines in self._pools.items()
        }
        news = scenario.news
        self._delay = self._streams.stream("news").durations(news.delay) if news.delay else None
        self._at_once = news.delay is None and not news.every_us
        self._unread: list[AnyEvent] = []  # until they are polled
        self._soon: list[AnyEvent] = []  # caused by what is being done now
        self._handling = False
        self._served: dict[str, SimulatedHost] = {}  # by the decisions being done now
        self._leased: dict[int, SimulatedHost] = {}
        count = sum(tasks.terms.count for tasks in scenario.bags)
        self._left = min(count, scenario.stop.tasks or count)  # results to come
        self._alarm_us = NEVER
        self._works: list[dict[str, array[int]]] = []  # of each bag, by pool
        self._acts: dict[type, Callable[[Any], None]] = {
            Assign: self._assign,
            Drop: self._drop,
            Settle: self._settle,
            Acquire: self._acquire,
            Renew: self._renew,
            Release: self._release,
        }
        self._begin()

    # the beginning

    def _begin(self) -> None:
        self.tell(Restarted(0, tuple(machines.terms for machines in self.scenario.pools)))
        for number, tasks in enumerate(self.scenario.bags, 1):
            self._prepare(tasks)
            self.engine.put(tasks.submitted_us, Rank.ARRIVAL, self._submit, number)
        for machines in self.scenario.pools:
            self._populate(machines)
        if self.scenario.news.every_us:
            self.engine.put(self.scenario.news.every_us, Rank.WATCH, self._poll)

    def _populate(self, machines: Machines) -> None:
        """Those that come by themselves."""
        times = machines.arrivals.times(self._streams.stream("machines", machines.terms.name))
        for _ in range(machines.count):
            host = self._new_host(machines, None)
            arrives = next(times)
            if arrives:
                self.engine.put(arrives, Rank.LIFE, host.presence.arrive)
            else:
                host.presence.arrive()

    def _prepare(self, tasks: Tasks) -> None:
        bag = len(self._works) + 1
        streams = self._streams.below("bag", bag)
        lengths = draw_lengths(tasks.lengths, tasks.terms.count, streams)
        types = {name: machines.type for name, machines in self._pools.items()}
        workload = Workload(lengths, types, streams)
        works = {}
        for name in types:
            us = np.maximum(np.rint(workload.seconds(name) * 1e6), 1).astype(np.int64)
            works[name] = array("q", us.tobytes())
        self._works.append(works)
        self.records.append(Record(tasks.terms.count))

    def _submit(self, bag: int) -> None:
        tasks = self.scenario.bags[bag - 1]
        count, now = tasks.terms.count, self.engine.now
        times = tasks.arrivals.times(self._streams.stream("arrivals", bag))
        record, arrived = self.records[bag - 1], 0
        while arrived < count and (due := now + next(times)) <= now:
            record.arrived[arrived] = due
            arrived += 1
        self.tell(BagSubmitted(bag, tasks.terms, self._order(bag), _some(arrived, count)))
        if arrived < count:
            self.engine.put(due, Rank.ARRIVAL, self._arrive, (bag, arrived, now, times))

    def _order(self, bag: int) -> bytes | None:
        """Longest or shortest first, where the matching asks for that."""
        tasks = self.scenario.bags[bag - 1]
        wanted = matching(tasks.terms.matching).order
        if wanted == "listed":
            return None
        work = np.frombuffer(self._works[bag - 1][self.scenario.pools[0].terms.name], np.int64)
        keys = -work if wanted == "longest" else work
        return np.argsort(keys, kind="stable").astype(np.uint32).tobytes()

    def _arrive(self, what: tuple[int, int, int, Any]) -> None:
        """A task has come, and with it all others of this moment."""
        bag, arrived, since, times = what
        record, now = self.records[bag - 1], self.engine.now
        count, due = self.scenario.bags[bag - 1].terms.count, now
        while due <= now:
            record.arrived[arrived] = now
            arrived += 1
            if arrived == count:
                break
            due = since + next(times)
        self.tell(TasksArrived(bag, arrived))
        if arrived < count:
            self.engine.put(due, Rank.ARRIVAL, self._arrive, (bag, arrived, since, times))

    # machines

    def _new_host(self, machines: Machines, lease: int | None) -> SimulatedHost:
        pool = machines.terms.name
        number = self._numbers[pool]
        self._numbers[pool] = number + 1
        host = SimulatedHost(f"{pool}-{number}", number, machines, lease)
        host.speed = self._speed(machines, number)
        host.machine = self._machine(machines, host)
        host.works = [works[pool] for works in self._works]
        host.presence = Presence(
            self.engine, self._up, self._down, self._noticed, tag=host, arrived=False
        )
        self.hosts[host.name] = host
        self.every_host.append(host)
        self._let_live(host, machines.failures, Cause.FAILURE)
        self._let_live(host, machines.owner, Cause.OWNER)
        return host

    def _speed(self, machines: Machines, number: int) -> float:
        """Of this machine: its own, by the spread of its type."""
        pool = machines.terms.name
        speed = machines.speed.draw(self._streams.stream("speed", pool).array(1, number)).item(0)
        factor = machines.type.spread.draw(
            self._streams.stream("spread", pool).array(1, number)
        ).item(0)
        return float(speed / factor)

    def _machine(self, machines: Machines, host: SimulatedHost) -> Machine | SingleMachine:
        if machines.slots == 1:
            return SingleMachine(self.engine, self._ended, speed=host.speed, up=False, tag=host)
        kind = Reservation if machines.sharing == "reserved" else EqualShare
        return Machine(self.engine, self._ended, speed=host.speed, slots=machines.slots,
                       sharing=kind(machines.cores), up=False, tag=host)  # fmt: skip

    def _let_live(self, host: SimulatedHost, law: Alternation | None, cause: Cause) -> None:
        if law is None:
            return
        pool = host.pool.terms.name
        streams = self._streams.below(cause.value, pool, host.number)
        here = streams.stream("here").durations(law.here)
        away = streams.stream("away").durations(law.away) if law.away is not None else None
        Alternating(host.presence, cause, here, away, notice_us=law.notice_us)

    def _up(self, presence: Presence) -> None:
        host: SimulatedHost = presence.tag  # type: ignore[assignment]
        host.machine.come()
        self._close_old(host)
        kind = host.pool.terms.name
        self._report(HostSeen(host.name, kind, kind, host.capacity, host.lease, host.speed))
        host.known = True
        self._report(host.offer)

    def _close_old(self, host: SimulatedHost) -> None:
        """It has begun anew: what it had before is lost, and now this is known."""
        for job in list(host.forgotten.values()):
            self._report_lost(host, job)

    def _report_lost(self, host: SimulatedHost, job: Job) -> None:
        sent: Sent = job.tag
        host.forgotten.pop(sent.attempt, None)
        self._report(Ended(sent.attempt, sent.bag, sent.index, host.name, LOST))

    def _down(self, presence: Presence, cause: Cause) -> None:
        host: SimulatedHost = presence.tag  # type: ignore[assignment]
        host.machine.fail() if cause is not Cause.ABSENT else host.machine.leave()
        host.forgotten.update(host.attempts)
        host.attempts.clear()
        if host.lease is not None:
            self._lease_over(host, f"{cause.value}: its machine has gone")
        elif host.pool.detection is Detection.REPORTED:
            self._silent(host)
        elif host.pool.detection is Detection.SILENT:
            due = self.engine.now + host.pool.terms.silent_after_us
            outage = presence.availability.outages
            self.engine.put(due, Rank.LIFE, self._silent_for_long, (host, outage))

    def _silent_for_long(self, what: tuple[SimulatedHost, int]) -> None:
        host, outage = what
        if not host.presence.up and host.presence.availability.outages == outage:
            self._silent(host)

    def _silent(self, host: SimulatedHost) -> None:
        if host.known:
            host.known = False
            host.forgotten.clear()
            self._report(HostSilent(host.name))

    def _noticed(self, presence: Presence, cause: Cause, goes_us: int) -> None:
        """It hands back what it runs while it still can."""
        host: SimulatedHost = presence.tag  # type: ignore[assignment]
        for job in list(host.attempts.values()):
            sent: Sent = job.tag
            ran = self._take_off(host, job)
            self._report(Ended(sent.attempt, sent.bag, sent.index, host.name, Outcome.PREEMPTED,
                               Measured(ran)))  # fmt: skip

    # leases

    def _acquire(self, call: Acquire) -> None:
        machines = self._pools[call.pool]
        host = self._leased[call.lease] = self._new_host(machines, call.lease)
        up = self.engine.now + self._starts[call.pool]()
        self._report(LeaseChanged(call.lease, LeaseState.STARTING))
        self.engine.put(up, Rank.LIFE, host.presence.arrive)
        host.ends = self.engine.put(call.ends_us, Rank.LIFE, self._lease_ends, host)

    def _renew(self, call: Renew) -> None:
        host = self._leased.get(call.lease)
        if host is not None:
            self.engine.cancel(host.ends)
            host.ends = self.engine.put(call.ends_us, Rank.LIFE, self._lease_ends, host)

    def _release(self, call: Release) -> None:
        host = self._leased.get(call.lease)
        if host is not None:
            self.engine.put(self.engine.now, Rank.LIFE, self._lease_ends, host)

    def _lease_ends(self, host: SimulatedHost) -> None:
        host.presence.depart()
        self._lease_over(host, "")

    def _lease_over(self, host: SimulatedHost, why: str) -> None:
        """Gone for good: another machine, if one is wanted, is another lease."""
        if host.lease in self._leased:
            del self._leased[host.lease]
            self.engine.cancel(host.ends)
            host.forgotten.clear()
            if not host.presence.gone:
                host.presence.depart()
            del self.hosts[host.name]
            self._report(LeaseChanged(host.lease, LeaseState.GONE, why))

    # attempts

    def _assign(self, new: Assign) -> None:
        self.records[new.bag - 1].send(new.index, self.engine.now)
        host = self.hosts.get(new.host)
        if host is None:
            return  # it is gone, and the news is on its way
        if host.pool.slots > 1:
            self._served[host.name] = host
        sent = Sent(new.attempt, new.bag, new.index, host)
        job = Job(host.works[new.bag - 1][new.index], sent)
        if self.scenario.dispatch_us:
            due = self.engine.now + self.scenario.dispatch_us
            host.attempts[new.attempt] = job
            sent.late = self.engine.put(due, Rank.SENDING, self._start, job)
        else:
            self._start(job)

    def _start(self, job: Job) -> None:
        sent: Sent = job.tag
        host = sent.host
        sent.began_us = self.engine.now
        draw = self._returns.get(host.pool.terms.name)
        if draw is not None and draw() >= host.pool.returns:
            host.attempts[sent.attempt] = job  # it holds its place until it is given up
            return
        if host.machine.start(job):
            host.attempts[sent.attempt] = job
        else:
            host.attempts.pop(sent.attempt, None)
            host.forgotten[sent.attempt] = job
            if host.presence.up:
                self._report_lost(host, job)  # it was full: the scheduler knew too little

    def _ended(self, job: Job) -> None:
        sent: Sent = job.tag
        host = sent.host
        del host.attempts[sent.attempt]
        ran = self.engine.now - sent.began_us
        self._report(
            Ended(sent.attempt, sent.bag, sent.index, host.name, SUCCEEDED, Measured(ran, 0))
        )
        self._report(host.offer)

    def _drop(self, one: Drop) -> None:
        host = self.hosts.get(one.host)
        job = host.attempts.get(one.attempt) if host is not None else None
        if host is None or job is None:
            return
        sent: Sent = job.tag
        ran = self._take_off(host, job)
        self._report(Ended(sent.attempt, sent.bag, sent.index, host.name, CANCELLED, Measured(ran)))
        self._report(host.offer)

    def _take_off(self, host: SimulatedHost, job: Job) -> int:
        """How long it ran."""
        sent: Sent = job.tag
        del host.attempts[sent.attempt]
        self.engine.cancel(sent.late)
        if job in host.machine.jobs:
            host.machine.drop(job)
        return self.engine.now - sent.began_us

    # the books

    def _settle(self, end: Settle) -> None:
        succeeded = end.outcome is SUCCEEDED
        self.records[end.bag - 1].settle(end.index, self.engine.now, succeeded=succeeded)
        self._left -= 1
        if not self._left:
            self.engine.stop()

    # news

    def _report(self, event: AnyEvent) -> None:
        if self._at_once:
            self._put_soon(event)
        elif self._delay is not None:
            self.engine.put(self.engine.now + self._delay(), Rank.ARRIVAL, self.tell, event)
        else:
            self._unread.append(event)

    def _put_soon(self, event: AnyEvent) -> None:
        """What a decision causes is told after the decisions that came with it."""
        if self._handling:
            self._soon.append(event)
        else:
            self.tell(event)

    def _poll(self, _: object) -> None:
        unread, self._unread = self._unread, []
        for event in unread:
            self.tell(event)
        due = self.engine.now + self.scenario.news.every_us
        self.engine.put(due, Rank.WATCH, self._poll)

    def tell(self, event: AnyEvent) -> None:
        """The one door to the scheduler; what it decides is done."""
        self._handling, self._soon = True, []
        self._handle(event)
        waiting = self._soon
        for one in waiting:  # grows while it is read
            self._handle(one)
        self._handling = False
        alarm = self.scheduler.state.timers.next_us
        if alarm < self._alarm_us:
            self._alarm_us = alarm
            self.engine.put(max(alarm, self.engine.now), Rank.TIMEOUT, self._ring, alarm)

    def _handle(self, event: AnyEvent) -> None:
        self.told += 1
        decisions = self.scheduler.handle(event, self.engine.now)
        if self.watch is not None:
            self.watch(event, decisions, self.engine.now)
        acts = self._acts
        for decision in decisions:
            act = acts.get(type(decision))
            if act is not None:
                act(decision)
        if self._served:
            self._offer_the_rest()

    def _offer_the_rest(self) -> None:
        """A host that was sent something, and has room for more, asks again."""
        served, self._served = self._served, {}
        for host in served.values():
            if host.machine.free:
                self._report(host.offer)

    def _ring(self, alarm: int) -> None:
        """A later alarm was overtaken by an earlier one, or is not needed any more."""
        if alarm != self._alarm_us:
            return
        self._alarm_us = NEVER
        self.tell(Tick())

    # the run

    def run(self) -> Stop:
        """Until all tasks have their result, or as the scenario says."""
        return self.engine.run(until=self.scenario.stop.time_us)


def _some(arrived: int, count: int) -> int | None:
    """None: all."""
    return None if arrived == count else arrived
