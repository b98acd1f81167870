"""Many runs, each a scenario with its seed, on all cores."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import active_children, connection, parent_process
from pathlib import Path

import msgspec

from tailrace.errors import TailraceError
from tailrace.simulation.drawn import Book
from tailrace.simulation.ending import ASKED, left, unfinished
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.statistics import (
    Figures,
    Part,
    fates,
    figures,
    links,
    machines,
    remaining,
)
from tailrace.simulation.steadiness import Halves, halves
from tailrace.simulation.tracing import tracing
from tailrace.simulation.world import World

BEAT_S = 0.2


class Killed(TailraceError):
    """The kernel or somebody ends whatever computes this run."""


class Todo(msgspec.Struct, frozen=True):
    scenario: Scenario
    seed: int
    trace: str | None = None  # where to write what the scheduler was told and decided
    expand: str | None = None  # where to write what was drawn
    curve: bool = False


class Run(msgspec.Struct, frozen=True):
    """What one run came to."""

    seed: int
    figures: Figures
    machines: list[Part]
    links: list[Part]
    curve: list[tuple[int, int]]  # µs, and the tasks not done then; if asked for
    unfinished: str = ""  # why tasks are left without a result
    left: int = 0  # those tasks, where there is such a reason
    halves: Halves | None = None
    fates: dict[str, int] = {}  # of tasks that failed for good, by the outcome that ended them
    never_drawn: dict[str, str] = {}  # names of events, with one that may be meant


def run_one(todo: Todo) -> Run:
    book = Book() if todo.expand is not None else None
    with tracing(todo.trace) as watch:
        world = World(_own(todo), todo.seed, watch=watch, book=book)
        stop = world.run()
    if book is not None and todo.expand is not None:
        book.write(Path(todo.expand))
    cut_off_us = world.engine.now if stop in ASKED and left(world) > 0 else 0
    curve = remaining(world.records, cut_off_us) if todo.curve else []
    why = unfinished(world, stop)
    return Run(todo.seed, figures(world), machines(world), links(world), curve, why,
               left(world) if why else 0, halves(world.records, world.engine.now),
               fates(world), world.never_drawn)  # fmt: skip


def _own(todo: Todo) -> Scenario:
    """For a trace a copy, as in another process: msgspec knows defaults, which it leaves out, by
    identity, and a trace shall be the same wherever it was written."""
    if todo.trace is None:
        return todo.scenario
    copied: Scenario = pickle.loads(pickle.dumps(todo.scenario))
    return copied


def run_all(todos: Sequence[Todo], processes: int) -> Generator[tuple[int, Run] | None, None, None]:
    """Each with its number, as they end; None when for a moment none did, so that who shows the
    progress can show that it goes on. One process: here, one after the other."""
    if processes <= 1:
        yield from ((number, run_one(todo)) for number, todo in enumerate(todos))
        return
    left = dict(enumerate(todos))
    while left:
        try:
            with _workers(min(processes, len(left))) as pool:
                for ended in _as_they_end(pool, left, 2 * processes):
                    if ended is not None:
                        del left[ended[0]]
                    yield ended
        except BrokenProcessPool:  # memory may have been short: the others again, fewer at once
            processes //= 2
            if not processes:
                raise _killed() from None


@contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """An interrupt ends them at once: nobody waits for runs that nobody will see."""
    others = set(active_children())
    pool = ProcessPoolExecutor(count, initializer=_be_a_worker)
    try:
        yield pool
    except BrokenProcessPool:
        raise
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(active_children()) - others:
            worker.kill()  # one that has just been forked may still be deaf to anything less
        raise
    pool.shutdown()


def _killed() -> Killed:
    remedy = "If memory was short, take a smaller scenario, or a machine that has more."
    return Killed(
        "a run was killed from outside, and when it was repeated alone, again", remedy=remedy
    )


def _be_a_worker() -> None:
    """Ctrl-C goes to all processes of the terminal; the first of them tells the others. If it is
    killed, it tells nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _as_they_end(
    pool: ProcessPoolExecutor, todos: Mapping[int, Todo], window: int
) -> Iterator[tuple[int, Run] | None]:
    """A window of them at a time: to wait for all at once costs the square of their number."""
    coming = iter([*todos.items()])
    under_way: dict[Future[Run], int] = {}
    while True:
        for number, todo in islice(coming, window - len(under_way)):
            under_way[pool.submit(run_one, todo)] = number
        if not under_way:
            return
        ended = wait(under_way, BEAT_S, FIRST_COMPLETED).done
        for run in ended:
            yield under_way.pop(run), run.result()
        if not ended:
            yield None
