"""A machine of the virtual world: room for jobs, a shared processor, checkpoints, failure.

Room is counted in thousandths of cores, as jobs need them; a job of one core takes a *slot*. The
life of a job (thesis 2.2, 5.3.1): its slot is *reserved* while its input travels, then it
*runs*; when its work is done its slot is free and others speed up, although its output may still be
*travelling*. All that is on a machine is lost when it goes down. For one job at a time at a fixed
speed, `SingleMachine` does the same with one event per job.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tailrace.bag.needs import Amounts, fits
from tailrace.simulation.engine import Engine, Handle, Rank
from tailrace.simulation.job import Job, Stage
from tailrace.simulation.sharing import EqualShare, Sharing
from tailrace.simulation.usage import Book, Usage
from tailrace.simulation.workclock import WorkClock

OnEnd = Callable[[Job], object]
Arrived = Callable[[object], None]
Travel = Callable[[Job, Arrived], object]  # carries a checkpoint, then calls `arrived(anything)`


class Machine:
    __slots__ = (
        "_background", "_book", "_clock", "_due", "_due_us", "_engine", "_held", "_on_end",
        "_rest", "_room", "_running", "_sharing", "_speed", "_taken", "tag", "up",
    )  # fmt: skip

    def __init__(
        self,
        engine: Engine,
        on_end: OnEnd,
        *,
        speed: float = 1.0,
        slots: int = 1,
        sharing: Sharing | None = None,
        has: Amounts | None = None,
        up: bool = True,
        tag: object = None,
    ) -> None:
        """`slots` are the cores that it offers, and `has` what it has beside them."""
        self.tag = tag  # by which the world knows it
        self.up = up
        self._engine = engine
        self._on_end = on_end
        self._speed = speed
        self._background = 0.0
        self._sharing: Sharing = sharing or EqualShare()
        self._clock: WorkClock[Job] = WorkClock()
        self._held: dict[Job, None] = {}  # all that a failure takes, in order of arrival
        self._room = self._sharing.room(slots)
        self._taken = 0  # of the room
        self._running = 0  # of the room: by jobs that use the processor
        self._rest = dict(has or {})  # what is left of all else
        self._due: Handle = 0
        self._due_us: int | None = None  # when the first job ends
        self._book = Book()
        self._book.up.set(up, engine.now)

    # Jobs come and go

    @property
    def free(self) -> int:
        """Thousandths of cores that no job needs."""
        return self._room - self._taken if self.up else 0

    def has_room(self, job: Job) -> bool:
        return job.share <= self.free and (not job.holds or fits(job.holds, self._rest))

    @property
    def jobs(self) -> tuple[Job, ...]:
        return tuple(self._held)

    def start(self, job: Job) -> bool:
        """Take the job and run it, from `job.saved` on; or not, if there is no room."""
        if not self.reserve(job):
            return False
        self.launch(job)
        return True

    def reserve(self, job: Job) -> bool:
        """Take a slot, if there is one, for a job that is still on its way here, or its input."""
        if not self.has_room(job):
            return False
        self._held[job] = None
        self._take(job, 1)
        job.stage, job.done, job.wait, job.begun = Stage.RESERVED, job.saved, 0, job.saved
        return True

    def launch(self, job: Job) -> None:
        """A job of a reserved slot has come: it begins, when it has all that it needs."""
        self.begin(job)

    def begin(self, job: Job) -> None:
        """A job of a reserved slot runs now."""
        self._occupy(job, Stage.RUNNING)
        self._resume(job)

    def hang(self, job: Job) -> None:
        """A job of a reserved slot is here until it is dropped: it has its share of the processor
        like any other, and does nothing with it that would count as work."""
        self._occupy(job, Stage.HANGING)
        self._retime()

    def _occupy(self, job: Job, stage: Stage) -> None:
        self._expect(job, Stage.RESERVED)
        job.stage, job.wait = stage, 0
        self._running += job.share
        self._book.busy.set(True, self._engine.now)

    def drop(self, job: Job) -> float:
        """End it; says how much work is lost by that. A job that is not here costs nothing."""
        if job not in self._held:
            return 0.0
        lost = self._remove(job, Stage.DROPPED)
        self._book.dropped += 1
        self._retime()
        return lost

    def keep_output(self, job: Job) -> None:
        """Called within `on_end`: its output travels from here until `output_sent`; till then a
        failure takes it, and with it all the work of the job."""
        self._expect(job, Stage.ENDED)
        job.stage = Stage.SENDING
        self._held[job] = None

    def output_sent(self, job: Job) -> None:
        self._expect(job, Stage.SENDING)
        del self._held[job]
        job.stage = Stage.ENDED

    def progress(self, job: Job) -> float:
        """Work done so far, with that before its checkpoint."""
        if not job.entry or job not in self._held:
            return job.done
        left = self._clock.needs(job, self._engine.now) * job.cores
        return max(job.work - left, job.done)

    # Checkpoints (thesis 4.3.1: C, L)

    def save(
        self,
        job: Job,
        pause_us: int = 0,
        latency_us: int = 0,
        *,
        on_saved: OnEnd | None = None,
        travel: Travel | None = None,
    ) -> bool:
        """Pause the job for C and write what it has done; it is available, and `on_saved` called,
        L after the pause, or when `travel` has brought it there. False: the job does not run now.

        A paused job keeps its share of the processor: writing is work, only not progress."""
        if job.stage is not Stage.RUNNING or job not in self._held:
            return False
        self._settle(job)
        self._clock.remove(job)
        job.stage = Stage.SAVING
        carry = travel or partial(self._wait_latency, latency_us)
        written = partial(self._written, carry, on_saved)
        job.wait = self._engine.put(self._engine.now + pause_us, Rank.RESULT, written, job)
        self._retime()
        return True

    def _written(self, carry: Travel, on_saved: OnEnd | None, job: Job) -> None:
        job.wait = 0
        self._book.saves += 1
        if self._goes_on(job):
            job.stage = Stage.RUNNING
            self._resume(job)
        carry(job, partial(self._available, job, job.epoch, job.done, on_saved))

    def _goes_on(self, job: Job) -> bool:
        """When it is written; or else it stands still."""
        return True

    def _wait_latency(self, latency_us: int, job: Job, arrived: Arrived) -> None:
        """What has no latency is there at once: put for this instant, it would come after a failure
        of the machine in the same instant."""
        if latency_us:
            self._engine.put(self._engine.now + latency_us, Rank.RESULT, arrived)
        else:
            arrived(None)

    def _available(
        self, job: Job, epoch: int, done: float, on_saved: OnEnd | None, _: object
    ) -> None:
        if job.epoch != epoch:
            return  # it was cut off on its way: the job had gone
        job.saved = max(job.saved, done)
        if on_saved is not None:
            on_saved(job)

    def keeps(self, job: Job, goes_us: int, on_kept: OnEnd) -> bool:
        """The machine hears that it will go: whether it has something to do for the job until then,
        as a `StagedMachine` may. If not, the job can as well be handed back."""
        return False

    # The machine itself

    def fail(self) -> list[Job]:
        """It goes down, and all jobs are lost: `job.done` says how far each was, `job.saved` from
        where it can go on elsewhere."""
        if self.up:
            self._book.failures += 1
        return self.leave()

    def leave(self) -> list[Job]:
        """The same without a failure: it is taken away, or given back."""
        lost = list(self._held)
        for job in lost:
            self._remove(job, Stage.LOST)
        self._book.lost += len(lost)
        self.up = False
        self._book.up.set(False, self._engine.now)
        self._retime()
        return lost

    def discount(self, job: Job) -> None:
        """It was done to its end, and is of no use all the same but for what is saved: counted
        once, whoever else finds that out."""
        self._book.work_lost += job.done - job.saved
        job.done = job.saved

    def waste(self, job: Job) -> None:
        """It had ended, but its result went with the machine before anybody was told."""
        self._book.ended -= 1
        self._book.lost += 1
        self.discount(job)

    def come(self) -> None:
        """It is there, empty: for the first time, or after a repair."""
        self.up = True
        self._book.up.set(True, self._engine.now)

    def set_speed(self, speed: float) -> None:
        """Of each core, in reference-µs per µs."""
        self._speed = speed
        self._retime()

    def set_background(self, load: float) -> None:
        """What others use of each core (eq. 5.1), as speed."""
        self._background = load
        self._retime()

    def usage(self) -> Usage:
        for job in self._held:
            self._settle(job)
        return self._book.usage(self._engine.now)

    # Inside

    def _expect(self, job: Job, stage: Stage) -> None:
        if job.stage is not stage or (stage is not Stage.ENDED and job not in self._held):
            raise ValueError(f"a {stage.value} job of this machine was expected, not {job.stage}")

    def _resume(self, job: Job) -> None:
        needs = max(job.work - job.done, 0.0) / job.cores
        self._clock.add(job, needs, self._engine.now)
        self._retime()

    def _settle(self, job: Job) -> None:
        """Book its progress."""
        done = self.progress(job)
        self._book.work_done += done - job.done
        job.done = done

    def _remove(self, job: Job, stage: Stage) -> float:
        """Take away a job before its end; what it did since its checkpoint is lost."""
        self._settle(job)
        if job.wait:
            self._engine.cancel(job.wait)
        if job.stage is not Stage.SENDING:
            self._vacate(job)
        del self._held[job]
        job.stage, job.wait = stage, 0
        job.epoch += 1
        lost = job.done - job.saved
        self._book.work_lost += lost
        return lost

    def _vacate(self, job: Job) -> None:
        """Its slot and its share of the processor are free."""
        if job.entry:
            self._clock.remove(job)
        if job.stage is not Stage.RESERVED:
            self._running -= job.share
            self._book.busy.set(self._running > 0, self._engine.now)
        self._take(job, -1)

    def _take(self, job: Job, times: int) -> None:
        """Its room; -1: give it back."""
        self._taken += times * job.share
        for name, amount in (job.holds or {}).items():
            self._rest[name] -= times * amount
        self._book.full.set(self._taken >= self._room, self._engine.now)

    def _retime(self) -> None:
        """After any change: the new rate, and when the first job ends by it."""
        now = self._engine.now
        if self._running:
            speed = max(self._speed - self._background, 0.0)
            self._clock.set_rate(self._sharing.rate(speed, self._running), now)
            self._expect_end(self._clock.next_end(now))
        else:
            self._clock.reset(now)
            self._expect_end(None)

    def _expect_end(self, at: int | None) -> None:
        if at == self._due_us:
            return
        if self._due_us is not None:
            self._engine.cancel(self._due)
        self._due_us = at
        if at is not None:
            self._due = self._engine.put(at, Rank.RESULT, self._ended)

    def _ended(self, _: object) -> None:
        self._due_us = None
        jobs = self._clock.ended(self._engine.now)
        for job in jobs:
            self._finish(job)
        for job in jobs:
            self._on_end(job)  # mostly starts the next one here, which finds the new time by itself
        self._retime()

    def _finish(self, job: Job) -> None:
        self._book.work_done += job.work - job.done
        job.done = job.work
        self._vacate(job)
        del self._held[job]
        job.stage = Stage.ENDED
        job.epoch += 1
        self._book.ended += 1
