"""Work is conserved: the work clock against a model that rescales every job at every change.

The model is exact (fractions) and slow. Both end a job at the nearest microsecond, so each end may
differ by one where a float falls on the other side of a half; hence tolerances of a few µs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.simulation.engine import Engine
from tailrace.simulation.job import Job, Stage
from tailrace.simulation.machine import Machine
from tailrace.simulation.sharing import EqualShare, Reservation
from tailrace.simulation.single import SingleMachine

FEW_US = 20
HALF = Fraction(1, 2)


class Naive:
    """Remaining work of each job, brought up to date by every job's own rate at every change."""

    def __init__(self, cores: int, equal: bool) -> None:
        self.cores, self.equal = cores, equal
        self.speed, self.background = Fraction(1), Fraction(0)
        self.now, self.up = 0, True
        self.work: dict[int, Fraction] = {}
        self.share: dict[int, Fraction] = {}
        self.left: dict[int, Fraction] = {}  # running ones alone
        self.done: dict[int, Fraction] = {}
        self.ends: dict[int, int] = {}

    def rate(self, job: int) -> Fraction:
        net = max(self.speed - self.background, Fraction(0))
        if not self.equal:
            return net * self.share[job]
        needed = sum(self.share[other] for other in self.left)
        return net * self.share[job] * min(Fraction(1), self.cores / needed)

    def advance(self, until: int) -> None:
        while self.left and (waits := [
            self.left[job] / self.rate(job) for job in self.left if self.rate(job) > 0
        ]):  # fmt: skip
            ends = self.now + int(max(min(waits), Fraction(0)) + HALF)
            if ends > until:
                break
            self._move(ends)
            for job in [j for j in self.left if self.left[j] / self.rate(j) < HALF]:
                self.ends[job], self.done[job] = self.now, self.work[job]
                self.left[job] = Fraction(-1)
            self.left = {job: left for job, left in self.left.items() if left != -1}
        self._move(until)

    def _move(self, now: int) -> None:
        rates = {job: self.rate(job) for job in self.left}
        for job, rate in rates.items():
            self.left[job] -= rate * (now - self.now)
            self.done[job] = min(self.work[job] - self.left[job], self.work[job])
        self.now = now

    def start(self, job: int, work: int, share: Fraction) -> None:
        self.done[job] = Fraction(0)
        if self.up and (self.equal or sum(self.share[j] for j in self.left) + share <= 1):
            self.work[job], self.left[job] = Fraction(work), Fraction(work)
            self.share[job] = share

    def drop(self, job: int) -> None:
        self.left.pop(job, None)

    def fail(self) -> None:
        self.left.clear()
        self.up = False


works = st.integers(0, 3_000_000) | st.integers(0, 3)
numbers = st.integers(0, 15)
levels = st.sampled_from([0.0, 0.125, 0.3, 0.5, 1.0, 1.7, 3.0])
operations = st.one_of(
    st.tuples(st.just("start"), works),
    st.tuples(st.just("start"), works),
    st.tuples(st.just("drop"), numbers),
    st.tuples(st.just("speed"), levels),
    st.tuples(st.just("background"), levels),
    st.tuples(st.just("fail"), st.none()),
    st.tuples(st.just("come"), st.none()),
    st.tuples(st.just("look"), st.none()),
)
gaps = st.integers(0, 2_000_000) | st.integers(0, 3)
walks = st.lists(st.tuples(gaps, operations), max_size=25)


class Walk:
    """One sequence of operations on a machine and on the model beside it."""

    def __init__(self, machine_of: Any, naive: Naive, shares: list[int]) -> None:
        """The jobs have these shares in turn."""
        self.engine = Engine()
        self.ends: dict[int, int] = {}
        self.machine: Any = machine_of(self.engine, self._ended)
        self.naive, self.shares = naive, shares
        self.jobs: list[Job] = []
        self.lost: float = 0.0

    def _ended(self, job: Job) -> None:
        self.ends[job.tag] = self.engine.now

    def go(self, steps: list[tuple[int, tuple[str, Any]]], forever: int = 10**9) -> None:
        at = 0
        for gap, (kind, argument) in steps:
            at += gap
            self.engine.run(until=at)
            self.naive.advance(at)
            getattr(self, kind)(argument)
            self.agree()
        self.engine.run(until=at + forever)
        self.naive.advance(at + forever)
        self.agree()

    def agree(self) -> None:
        machine, naive = self.machine, self.naive
        for job in self.jobs:
            exact = float(naive.done[job.tag])
            assert machine.progress(job) == pytest.approx(exact, abs=FEW_US)
        for job in self.ends.keys() & naive.ends.keys():
            assert abs(self.ends[job] - naive.ends[job]) <= FEW_US
        usage = machine.usage()
        assert usage.work_done == pytest.approx(sum(map(machine.progress, self.jobs)), abs=0.01)
        ended = sum(self.jobs[number].work for number in self.ends)
        held = sum(map(machine.progress, machine.jobs))
        assert usage.useful_work == pytest.approx(ended + held, abs=0.01)
        assert usage.work_lost == pytest.approx(self.lost, abs=0.01)

    def start(self, work: int) -> None:
        number = len(self.jobs)
        job = Job(work, number, share=self.shares[number % len(self.shares)])
        self.jobs.append(job)
        self.naive.start(number, work, Fraction(job.share, 1000))
        assert self.machine.start(job) == (job.tag in self.naive.left)

    def drop(self, number: int) -> None:
        if number < len(self.jobs):
            self.lost += self.machine.drop(self.jobs[number])
            self.naive.drop(number)

    def speed(self, level: float) -> None:
        self.machine.set_speed(level)
        self.naive.speed = Fraction(level)

    def background(self, level: float) -> None:
        self.machine.set_background(level)
        self.naive.background = Fraction(level)

    def fail(self, _: None) -> None:
        self.lost += sum(job.done for job in self.machine.fail())
        self.naive.fail()

    def come(self, _: None) -> None:
        self.machine.come()
        self.naive.up = True

    def look(self, _: None) -> None:
        pass


@settings(deadline=None, max_examples=200)
@given(walks, st.integers(1, 3), st.sampled_from([[1000], [500, 1000, 2500, 40], [3000, 1]]))
def test_equal_sharing_is_the_rescaling_of_every_job(
    steps: Any, cores: int, shares: list[int]
) -> None:
    def machine(engine: Engine, on_end: Any) -> Machine:
        return Machine(engine, on_end, slots=1000, sharing=EqualShare(cores))

    Walk(machine, Naive(cores, equal=True), shares).go(steps)


@settings(deadline=None, max_examples=100)
@given(walks)
def test_reserved_shares_are_not_disturbed_by_others(steps: Any) -> None:
    """With shares of up to 40 thousandths, the 25 jobs of a walk never need more than there is."""

    def machine(engine: Engine, on_end: Any) -> Machine:
        return Machine(engine, on_end, slots=1000, sharing=Reservation())

    Walk(machine, Naive(1, equal=False), shares=[31, 40, 5]).go(steps)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.tuples(
            gaps,
            st.sampled_from(["start", "reserve", "launch", "hang", "drop", "fail", "come"]),
            st.integers(0, 3_000_000),
        ),
        max_size=25,
    ),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_the_quick_machine_does_what_the_general_one_does(steps: Any, speed: float) -> None:
    engine = Engine()
    ends: tuple[list[Any], list[Any]] = ([], [])
    both: Any = (
        Machine(engine, lambda job: ends[0].append((job.tag, engine.now)), speed=speed),
        SingleMachine(engine, lambda job: ends[1].append((job.tag, engine.now)), speed=speed),
    )
    at, started = 0, 0
    for gap, kind, work in steps:
        at += gap
        engine.run(until=at)
        if kind in ("start", "reserve"):
            assert len({getattr(m, kind)(Job(work, started)) for m in both}) == 1
            started += 1
        elif kind in ("launch", "hang"):
            for machine in both:
                for job in machine.jobs:
                    if job.stage is Stage.RESERVED:
                        getattr(machine, kind)(job)
        elif kind == "drop":
            assert len({m.drop(m.jobs[0]) for m in both if m.jobs}) <= 1
        else:
            for machine in both:
                getattr(machine, kind)()
        assert both[0].usage() == pytest.approx(both[1].usage())
        assert [len(m.jobs) for m in both] in ([0, 0], [1, 1])
    engine.run()
    assert ends[0] == ends[1]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(gaps, st.sampled_from(["start", "save", "fail", "drop"])), max_size=30))
def test_with_checkpoints_every_bit_of_work_is_useful_lost_or_at_hand(steps: Any) -> None:
    engine, ended, jobs, at = Engine(), [], [], 0
    machine = Machine(engine, ended.append, slots=5, sharing=EqualShare(2))
    for number, (gap, kind) in enumerate(steps):
        at += gap
        engine.run(until=at)
        if kind == "start":
            share = (1000, 2000, 500)[number % 3]
            jobs.append(Job(1_500_000, share=share, saved=number * 1000.0))
            machine.start(jobs[-1])
        elif kind == "fail":
            machine.fail()
            machine.come()
        elif machine.jobs and kind == "drop":
            machine.drop(machine.jobs[-1])
        elif machine.jobs:
            machine.save(machine.jobs[0], 50_000, 200_000)
        usage = machine.usage()
        assert usage.work_done + 1e-3 >= usage.work_lost >= 0  # sums of floats
        assert usage.work_done <= 2 * usage.busy_us + FEW_US
    engine.run()
    kept = sum(job.work for job in ended) + sum(j.saved for j in jobs if j not in ended)
    brought = sum(number * 1000.0 for number, (_, kind) in enumerate(steps) if kind == "start")
    assert machine.usage().useful_work == pytest.approx(kept - brought, abs=1)
