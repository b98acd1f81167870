"""The life of attempts in the virtual world: sent, begun, ended, dropped, lost with their host."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.bag.needs import ONE_CORE, THOUSANDTHS, Amounts
from tailrace.bag.outcome import Outcome
from tailrace.scheduler.decisions import Assign, Drop
from tailrace.scheduler.events import Ended, Measured
from tailrace.simulation.calling import Calls
from tailrace.simulation.draws import Streams
from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.failing import failing_of, failure
from tailrace.simulation.host import Sent, SimulatedHost
from tailrace.simulation.job import Job
from tailrace.simulation.progress import Progressing
from tailrace.simulation.record import Record
from tailrace.simulation.scenario import Calling, Machines, Scenario
from tailrace.simulation.telling import Teller
from tailrace.simulation.timelimits import time_limits

SUCCEEDED, TASK_FAILED = Outcome.SUCCEEDED, Outcome.TASK_FAILED
LOST, CANCELLED = Outcome.LOST, Outcome.CANCELLED
NO_ROOM = "the storage has no room for the output"


class Attempts:
    def __init__(
        self,
        scenario: Scenario,
        engine: Engine,
        streams: Streams,
        teller: Teller,
        hosts: dict[str, SimulatedHost],
        records: list[Record],
    ) -> None:
        self._engine, self._teller = engine, teller
        self._hosts, self._records = hosts, records
        self._report = teller.report
        self._dispatch_us = scenario.query_us + scenario.dispatch_us
        self._needs = [_beyond_a_core(tasks.terms.needs) for tasks in scenario.bags]
        every_us = scenario.progress.every_us
        progress = Progressing(engine, teller.report, every_us) if every_us else None
        limits = self._limits = time_limits(scenario.bags, engine, self._over_limit)
        self._followers = [one for one in (progress, limits) if one is not None]
        self._failing = failing_of(scenario.bags, streams)
        self._returns = {
            machines.terms.name: _uniforms(machines, streams)
            for machines in scenario.pools
            if machines.returns < 1
        }

    def assign(self, new: Assign) -> None:
        now, number, index, bag = self._engine.now, new.attempt, new.index, new.bag - 1
        self._records[bag].send(index, now)
        host = self._hosts.get(new.host)
        if host is None:
            return  # it is gone, and the news is on its way
        if host.calls is not None:
            host.calls.answered()
        elif host.many:
            self._teller.served[host.name] = host
        sent = Sent(number, new.bag, index, host, -1 if self._dispatch_us else now)
        if self._limits is not None:
            sent.limit_us = self._limits.of(new)
        run_us, needs = host.works[bag][index], self._needs[bag]
        job = Job(run_us, sent) if needs is None else _needy(run_us, sent, needs)
        if host.awaits is not None:  # it answers a call of an earlier life, which went with that
            self.report_lost(host, job)
            return
        host.attempts[number] = job
        if not self._dispatch_us:
            self._start(host, job)
        elif host.machine.up:
            due = now + self._dispatch_us
            sent.late = self._engine.put(due, Rank.SENDING, self._arrived, job)
        else:  # the call that it answers went with the machine, which may be up again by then
            self._begin_later(host, job)

    def _arrived(self, job: Job) -> None:
        sent: Sent = job.tag
        sent.began_us, sent.late = self._engine.now, 0
        self._start(sent.host, job)

    def _start(self, host: SimulatedHost, job: Job) -> None:
        if self._returns and self._never_returns(host):
            job.tag.returns = False  # it holds its place until it is given up
            return
        if host.waiting or not host.machine.take(job):
            self._begin_later(host, job)
        elif self._followers:
            self._follow(job)

    def _begin_later(self, host: SimulatedHost, job: Job) -> None:
        """Behind what the machine has; or never, if the machine is not there any more."""
        sent: Sent = job.tag
        sent.began_us = -1
        if host.machine.up:
            host.waiting[sent.attempt] = job
            if host.calls is not None:
                host.calls.stocked()
        else:
            del host.attempts[sent.attempt]
            host.forgotten[sent.attempt] = job

    def _begin_next(self, host: SimulatedHost) -> None:
        while host.waiting:
            attempt, job = next(iter(host.waiting.items()))
            if not host.machine.has_room(job):
                return
            del host.waiting[attempt]
            job.tag.began_us = self._engine.now
            host.machine.take(job)
            if self._followers:
                self._follow(job)

    def _follow(self, job: Job) -> None:
        for one in self._followers:
            one.begin(job)

    def _unfollow(self, sent: Sent) -> None:
        for one in self._followers:
            one.end(sent)

    def _never_returns(self, host: SimulatedHost) -> bool:
        draw = self._returns.get(host.pool.terms.name)
        return draw is not None and draw() >= host.pool.returns

    def ended(self, job: Job) -> None:
        sent: Sent = job.tag
        host, number, report = sent.host, sent.attempt, self._report
        ran = self._engine.now - sent.began_us
        del host.attempts[number]
        if self._followers:
            self._unfollow(sent)
        if host.waiting:
            self._begin_next(host)
        outcome, measured = SUCCEEDED, Measured(ran, 0)
        if self._failing and self._fails(sent):
            outcome, measured = TASK_FAILED, failure(ran)
        ended = Ended(number, sent.bag, sent.index, host.name, outcome, measured)
        if host.calls is not None:
            host.calls.ended(ended, job)
        else:
            report(ended, None if host.warned else host.offer)

    def equip(self, host: SimulatedHost) -> None:
        """With a worker, if its pool says so."""
        if host.pool.calls is Calling.WORKER:
            host.calls = Calls(host, self._engine, self._report, self._dispatch_us)

    def offer(self, host: SimulatedHost) -> None:
        """With all that it has to say."""
        if host.calls is not None:
            host.calls.call()
        elif not host.warned:
            self._report(host.offer)

    def freed(self, host: SimulatedHost) -> None:
        """Something works no more there, though it has not ended yet."""
        self._begin_next(host)
        self.offer(host)

    def refused(self, job: Job) -> None:
        """There was no room for its output."""
        sent: Sent = job.tag
        host = sent.host
        del host.attempts[sent.attempt]
        self._unfollow(sent)
        measured = Measured(sent.ran_us(self._engine.now), 1, text=NO_ROOM)
        self._report(Ended(sent.attempt, sent.bag, sent.index, host.name, TASK_FAILED, measured))
        self.freed(host)

    def _fails(self, sent: Sent) -> bool:
        failing = self._failing.get(sent.bag)
        return failing is not None and failing.fails(sent.index)

    def drop(self, one: Drop) -> None:
        host = self._hosts.get(one.host)
        job = host.attempts.get(one.attempt) if host is not None else None
        if host is not None and job is not None:
            self._end_early(host, job, CANCELLED)
            self.freed(host)

    def _over_limit(self, job: Job) -> None:
        host: SimulatedHost = job.tag.host
        self._end_early(host, job, Outcome.OVER_LIMIT, "time")
        self.freed(host)

    def hand_back(self, host: SimulatedHost) -> None:
        """All that a host runs which is about to go."""
        if host.calls is not None:
            host.calls.call()
        for job in list(host.attempts.values()):
            self._end_early(host, job, Outcome.PREEMPTED)

    def _end_early(self, host: SimulatedHost, job: Job, outcome: Outcome, limit: str = "") -> None:
        sent: Sent = job.tag
        del host.attempts[sent.attempt]
        host.waiting.pop(sent.attempt, None)
        self._call_off(sent)
        if job in host.machine.jobs:
            host.machine.drop(job)
        measured = Measured(sent.ran_us(self._engine.now), limit=limit)
        self._report(Ended(sent.attempt, sent.bag, sent.index, host.name, outcome, measured))

    def _call_off(self, sent: Sent) -> None:
        """What was on its way to the host does not get there, and it tells nothing more."""
        self._unfollow(sent)
        if sent.late:
            self._engine.cancel(sent.late)
            sent.late = 0

    def lose(self, host: SimulatedHost) -> None:
        """All that a host has which goes; nobody is told yet."""
        for job in host.attempts.values():
            self._call_off(job.tag)
        if host.calls is not None:
            host.calls.lost()
        host.forgotten.update(host.attempts)
        host.attempts.clear()
        host.waiting.clear()

    def report_lost(self, host: SimulatedHost, job: Job) -> None:
        sent: Sent = job.tag
        host.forgotten.pop(sent.attempt, None)
        self._report(Ended(sent.attempt, sent.bag, sent.index, host.name, LOST))


def _uniforms(machines: Machines, streams: Streams) -> Callable[[], float]:
    return streams.stream("returns", machines.terms.name).uniforms()


def _beyond_a_core(needs: Amounts) -> tuple[int, Amounts] | None:
    """Thousandths of cores, and all else. None: a core and nothing else, as most."""
    if needs == ONE_CORE:
        return None
    holds = {name: amount for name, amount in needs.items() if name != "cores"}
    return needs.get("cores", THOUSANDTHS), holds


def _needy(run_us: int, sent: Sent, needs: tuple[int, Amounts]) -> Job:
    """So long it runs when it has what it needs; its work is that of all its cores."""
    share, holds = needs
    return Job(run_us * share / THOUSANDTHS, sent, share=share, holds=holds)
