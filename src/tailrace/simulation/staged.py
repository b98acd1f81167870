"""A machine whose jobs have luggage: input comes before they run, output goes after that, and on
the way checkpoints are taken (thesis 2.2, 4.3.1).

The slot is reserved while the input travels and the recovery lasts. When the work is done the slot
is free, although the output is still on its way; a failure of the machine takes it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tailrace.bag.needs import Amounts
from tailrace.simulation.engine import Engine, Rank
from tailrace.simulation.files import Saving
from tailrace.simulation.flow import Transfer
from tailrace.simulation.host import Sent, SimulatedHost
from tailrace.simulation.job import Job, Stage
from tailrace.simulation.luggage import Luggage
from tailrace.simulation.machine import Arrived, Machine, OnEnd
from tailrace.simulation.sharing import Sharing
from tailrace.simulation.transport import Transport


class StagedMachine(Machine):
    __slots__ = ("_bags", "_deliver", "_journeys", "_leaving", "_on_freed", "_refuse", "_transport")

    def __init__(
        self,
        engine: Engine,
        on_end: OnEnd,
        on_freed: Callable[[SimulatedHost], object],
        on_refused: OnEnd,
        transport: Transport,
        bags: Sequence[Luggage],
        *,
        speed: float,
        slots: int,
        sharing: Sharing,
        has: Amounts | None,
        up: bool,
        tag: object,
    ) -> None:
        """`on_freed`: it has room again, while an output is still on its way; `on_refused`: there
        was no room for the output."""
        super().__init__(
            engine, self._worked, speed=speed, slots=slots, sharing=sharing, has=has, up=up, tag=tag
        )
        self._deliver, self._on_freed, self._refuse = on_end, on_freed, on_refused
        self._transport, self._bags = transport, bags
        self._journeys: dict[Job, dict[Transfer, None]] = {}
        self._leaving: dict[Job, OnEnd] = {}  # when all that each has done is saved, call this

    # before

    def launch(self, job: Job) -> None:
        luggage = self._luggage(job)
        luggage.resume(job)
        job.done = job.begun = job.saved  # it may be more than when the slot was reserved
        size = luggage.input(job.tag.index)
        if size:
            self._travel(job, partial(self._transport.bring, size), self._prepare)
        else:
            self._prepare(job)

    def _prepare(self, job: Job) -> None:
        recovery_us = self._luggage(job).recovery_us(job)
        if recovery_us:
            at = self._engine.now + recovery_us
            job.wait = self._engine.put(at, Rank.SENDING, self.begin, job)
        else:
            self.begin(job)

    def begin(self, job: Job) -> None:
        job.tag.began_us = self._engine.now  # what a worker measures is the work alone
        saving = self._luggage(job).saving
        if saving is not None:
            self._await_save(job, saving, saving.every_us)
        super().begin(job)

    # meanwhile

    def _await_save(self, job: Job, saving: Saving, after_us: int) -> None:
        """Ranked after all that ends: none is taken of a job that is done just then."""
        what = job, job.epoch, saving
        self._engine.put(self._engine.now + after_us, Rank.LOAD, self._save, what)

    def _save(self, what: tuple[Job, int, Saving]) -> None:
        job, epoch, saving = what
        if job.epoch != epoch:
            return
        self._save_now(job, saving)
        self._await_save(job, saving, saving.pause_us + saving.every_us)

    def _save_now(self, job: Job, saving: Saving) -> None:
        travel = partial(self._carry, saving.size) if saving.size else None
        self.save(job, saving.pause_us, saving.latency_us, on_saved=self._saved, travel=travel)

    def _carry(self, size: int, job: Job, arrived: Arrived) -> None:
        self._travel(job, partial(self._transport.fetch, size), arrived)

    def _saved(self, job: Job) -> None:
        self._luggage(job).save(job, self._transport.storage)
        on_kept = self._leaving.get(job)
        if on_kept is not None and job.saved >= job.done:  # and not an older one, that came late
            on_kept(job)

    # before the machine goes

    def keeps(self, job: Job, goes_us: int, on_kept: OnEnd) -> bool:
        """An output goes on travelling. What runs is saved, if that can be done in time, and stands
        still from then on: nothing that it does would be kept. If not, it works till the end."""
        if job.stage is Stage.SENDING:
            return True
        saving = self._luggage(job).saving
        if job.stage not in (Stage.RUNNING, Stage.SAVING) or saving is None or not saving.at_notice:
            return False
        if self._engine.now + saving.pause_us + self._way_us(saving) <= goes_us:
            self._leaving[job] = on_kept
            self._save_now(job, saving)  # one that is just being written does as well
        return True

    def _way_us(self, saving: Saving) -> int:
        """Of a checkpoint, at least: others may be on the same links."""
        if not saving.size:
            return saving.latency_us
        return self._transport.least_us(saving.size, self._host.name)

    def _goes_on(self, job: Job) -> bool:
        return job not in self._leaving

    # after

    def _worked(self, job: Job) -> None:
        size = self._luggage(job).output(job.tag.index)
        if not size:
            self._deliver(job)
        elif self._transport.storage.store(size):
            self.keep_output(job)
            job.tag.worked_us = self._engine.now
            self._host.lend(self._luggage(job).needs)
            self._travel(job, partial(self._transport.fetch, size), self._arrived)
            self._on_freed(self._host)
        else:
            self.discount(job)
            self._refuse(job)

    def _arrived(self, job: Job) -> None:
        sent: Sent = job.tag
        self.output_sent(job)
        sent.began_us += self._engine.now - sent.worked_us  # the way of its output is no work
        self._host.lend(self._luggage(job).needs, -1)
        self._luggage(job).keep(sent.index, self._transport.storage)
        self._deliver(job)

    # inside

    @property
    def _host(self) -> SimulatedHost:
        host: SimulatedHost = self.tag  # type: ignore[assignment]
        return host

    def _luggage(self, job: Job) -> Luggage:
        sent: Sent = job.tag
        return self._bags[sent.bag - 1]

    def _travel(
        self, job: Job, send: Callable[..., Transfer], then: Callable[[Job], object]
    ) -> None:
        """Until it is there, or the job is no longer here."""

        def done(_: object) -> None:
            del under_way[transfer]
            if not under_way:
                del self._journeys[job]
            then(job)

        under_way = self._journeys.setdefault(job, {})
        transfer = send(self._host.name, done)
        under_way[transfer] = None

    def _call_off(self, job: Job) -> None:
        for transfer in self._journeys.pop(job, ()):
            self._transport.cancel(transfer)

    def _remove(self, job: Job, stage: Stage) -> float:
        if job.stage is Stage.SENDING:
            self._host.lend(self._luggage(job).needs, -1)
            self._transport.storage.remove(self._luggage(job).output(job.tag.index))
        self._call_off(job)
        self._leaving.pop(job, None)
        return super()._remove(job, stage)

    def _finish(self, job: Job) -> None:
        """A checkpoint that is still on its way is of no use any more."""
        super()._finish(job)
        self._call_off(job)
