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
from tailrace.simulation.job import Job, Stage
from tailrace.simulation.progress import Progressing
from tailrace.simulation.record import UNKNOWN, Record
from tailrace.simulation.scenario import ONE, Calling, Machines, Scenario
from tailrace.simulation.telling import Teller
from tailrace.simulation.timelimits import time_limits
from tailrace.simulation.unheard import unheard_of

SUCCEEDED, TASK_FAILED = Outcome.SUCCEEDED, Outcome.TASK_FAILED
LOST, CANCELLED = Outcome.LOST, Outcome.CANCELLED
NO_ROOM = "the storage has no room for the output"
FULL = "it had no room for it"
PARTS = "it was just about to go"


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
        self.unheard = unheard_of(scenario)
        self._luck = {
            machines.terms.name: streams.stream("luck", machines.terms.name).of(machines.luck)
            for machines in scenario.pools
            if machines.luck != ONE
        }
        self._returns = {
            machines.terms.name: _uniforms(machines, streams)
            for machines in scenario.pools
            if not machines.returns.always
        }

    def assign(self, new: Assign) -> None:
        now, number, index, bag = self._engine.now, new.attempt, new.index, new.bag - 1
        host = self._hosts.get(new.host)
        if host is not None and host.partings and now in host.partings and host.machine.up:
            self._decline(host, new)
            return
        self._records[bag].send(index, now)
        if host is None:
            return  # it is gone, and the news is on its way
        if host.calls is not None:
            host.calls.answered()
        elif host.many:
            self._teller.served[host.name] = host
        sent = Sent(number, new.bag, index, host, -1 if self._dispatch_us else now)
        if self._limits is not None:
            sent.limit_us = self._limits.of(new)
        if self._returns:
            self._draw_fate(sent, new.timeout_us)
        run_us, needs = host.works[bag][index], self._needs[bag]
        if self._luck:
            run_us = self._by_luck(host, run_us)
        job = Job(run_us, sent) if needs is None else _needy(run_us, sent, needs)
        if host.awaits is not None:  # it answers a call of an earlier life, which went with that
            self.report_lost(host, job)
            return
        host.attempts[number] = job
        if not self._dispatch_us:
            self._start(host, job)
        elif host.machine.up:
            self._dispatch(host, job)
        else:  # the call that it answers went with the machine, which may be up again by then
            self._begin_later(host, job)

    def _dispatch(self, host: SimulatedHost, job: Job) -> None:
        """A slot, if one is free, is reserved while it is on its way (thesis 2.2)."""
        if not host.waiting:
            host.machine.reserve(job)
        due = self._engine.now + self._dispatch_us
        job.tag.late = self._engine.put(due, Rank.SENDING, self._arrived, job)

    def _arrived(self, job: Job) -> None:
        sent: Sent = job.tag
        sent.began_us, sent.late = self._engine.now, 0
        if job.stage is Stage.RESERVED:
            self._set_off(sent.host, job)
        else:
            self._start(sent.host, job)

    def _start(self, host: SimulatedHost, job: Job) -> None:
        """One function, since it is called for every attempt."""
        if self._returns:
            self._start_or_hang(host, job)
        elif host.waiting or not host.machine.start(job):
            self._begin_later(host, job)
        elif self._followers:
            self._follow(job)

    def _start_or_hang(self, host: SimulatedHost, job: Job) -> None:
        if host.waiting or not host.machine.reserve(job):
            self._begin_later(host, job)
        else:
            self._set_off(host, job)

    def _set_off(self, host: SimulatedHost, job: Job) -> None:
        """It is there, and has its slot."""
        if not job.tag.returns:
            host.machine.hang(job)
            self._forget_later(job)
            return
        host.machine.launch(job)
        if self._followers:
            self._follow(job)

    def _forget_later(self, job: Job) -> None:
        """One that never returns holds its place until its time-out, as in ExPERT; without one,
        until it is given up."""
        sent: Sent = job.tag
        if sent.forgotten_us is not None:
            due = max(sent.forgotten_us, self._engine.now)
            sent.late = self._engine.put(due, Rank.LIFE, self._forget, job)

    def _forget(self, job: Job) -> None:
        host: SimulatedHost = job.tag.host
        job.tag.late = 0
        self._end_early(host, job, LOST)
        self.freed(host)

    def _begin_later(self, host: SimulatedHost, job: Job) -> None:
        """Behind what the machine has; or never, if the machine is not there any more."""
        sent: Sent = job.tag
        sent.began_us = -1
        if host.machine.up and host.pool.rejects:
            self._reject(host, sent)
        elif host.machine.up:
            host.waiting[sent.attempt] = job
            if host.calls is not None:
                host.calls.stocked()
        else:
            del host.attempts[sent.attempt]
            host.forgotten[sent.attempt] = job

    def _reject(self, host: SimulatedHost, sent: Sent) -> None:
        """Handed back before it began: neither the task nor the machine is to blame, and no retry
        is spent. The machine asks for more when something there has ended, and not before: it
        would be sent the same again."""
        del host.attempts[sent.attempt]
        host.rejected += 1
        self._teller.served.pop(host.name, None)
        told = Measured(text=FULL)
        self._report(Ended(sent.attempt, sent.bag, sent.index, host.name, CANCELLED, told))

    def _decline(self, host: SimulatedHost, new: Assign) -> None:
        """It had asked before, and goes or is warned in this very instant: the work does not begin
        there, and is handed back like what it has no room for."""
        if host.calls is not None:
            host.calls.answered()
        else:
            self._offer_behind(host)
        told = Measured(text=PARTS)
        self._report(Ended(new.attempt, new.bag, new.index, host.name, CANCELLED, told))

    def _begin_next(self, host: SimulatedHost) -> None:
        while host.waiting:
            attempt, job = next(iter(host.waiting.items()))
            if not host.machine.reserve(job):
                return
            del host.waiting[attempt]
            job.tag.began_us = self._engine.now
            self._set_off(host, job)

    def _follow(self, job: Job) -> None:
        for one in self._followers:
            one.begin(job)

    def _unfollow(self, sent: Sent) -> None:
        for one in self._followers:
            one.end(sent)

    def _by_luck(self, host: SimulatedHost, run_us: int) -> int:
        draw = self._luck.get(host.pool.terms.name)
        return run_us if draw is None else round(run_us * draw())

    def _draw_fate(self, sent: Sent, timeout_us: int | None) -> None:
        draw, pool = self._returns.get(sent.host.pool.terms.name), sent.host.pool
        sent.returns = draw is None or draw() < pool.returns.at(self._engine.now)
        if timeout_us is not None:
            sent.forgotten_us = self._engine.now + timeout_us + 1  # its time-out comes first

    def ended(self, job: Job) -> None:
        sent: Sent = job.tag
        host, number, report = sent.host, sent.attempt, self._report
        if number not in host.attempts:  # another that ended with it, just before, had it dropped
            host.machine.discount(job)
            return
        now = self._engine.now
        ran = now - sent.began_us
        del host.attempts[number]
        if self._followers:
            self._unfollow(sent)
        if host.waiting:
            self._begin_next(host)
        outcome, measured = SUCCEEDED, Measured(ran, 0)
        if self._failing and self._fails(sent):
            outcome, measured = TASK_FAILED, failure(ran)
            host.machine.discount(job)
        elif self._has_result(sent):
            host.machine.discount(job)
        elif self.unheard is not None:
            self.unheard.add(job)
        ended = Ended(number, sent.bag, sent.index, host.name, outcome, measured)
        if host.calls is not None:
            host.calls.ended(ended, job)
        elif host.partings and now in host.partings:
            report(ended)
            self._offer_behind(host)
        else:
            report(ended, None if host.warned else host.offer)

    def _has_result(self, sent: Sent) -> bool:
        """From another attempt: nothing that this one did is of use."""
        return self._records[sent.bag - 1].done[sent.index] != UNKNOWN

    def equip(self, host: SimulatedHost) -> None:
        """With a worker, if its pool says so."""
        if host.pool.calls is Calling.WORKER:
            host.calls = Calls(host, self._engine, self._report, self._dispatch_us)

    def offer(self, host: SimulatedHost) -> None:
        """With all that it has to say."""
        if host.calls is not None:
            host.calls.call()
        elif host.parts_now:
            self._offer_behind(host)
        elif not host.warned:
            self._report(host.offer)

    def _offer_behind(self, host: SimulatedHost) -> None:
        """It goes or is warned in this very instant: what it were sent now would go with it."""
        self._engine.put(self._engine.now, Rank.SENDING, self._offer_after_all, host)

    def _offer_after_all(self, host: SimulatedHost) -> None:
        host.presence.stays()
        if host.machine.up:
            self.offer(host)

    def freed(self, host: SimulatedHost) -> None:
        """Something works no more there, though it has not ended yet."""
        self._begin_next(host)
        self.offer(host)

    def refused(self, job: Job) -> None:
        """There was no room for its output."""
        sent: Sent = job.tag
        host = sent.host
        if sent.attempt not in host.attempts:  # as in `ended`
            return
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
        """Of what a host has that will go, all for which it cannot do anything more."""
        if host.calls is not None:
            host.calls.call()
        for job in list(host.attempts.values()):
            if not host.machine.keeps(job, host.goes_us, self._preempted):
                self._preempted(job)

    def hand_back_rest(self, host: SimulatedHost) -> None:
        """It goes now."""
        for job in list(host.attempts.values()):
            self._preempted(job)

    def _preempted(self, job: Job) -> None:
        self._end_early(job.tag.host, job, Outcome.PREEMPTED)

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
