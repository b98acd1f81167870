"""Runs of `tailrace simulate` under way: how many are done, and what is kept of them at Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, TextIO

import msgspec

from tailrace.cli.here.live import PLAIN_EVERY_S
from tailrace.cli.virtual.interrupts import Interrupts
from tailrace.errors import TailraceError
from tailrace.quantities import show_duration
from tailrace.simulation.experiment import Killed, Run, Todo, run_all

if TYPE_CHECKING:
    from rich.progress import Progress


class Found(msgspec.Struct, frozen=True):
    """The runs that have ended, each at its place; None where one has not."""

    runs: list[Run | None]
    interrupted: bool = False
    killed: TailraceError | None = None  # a run, again and again

    @property
    def done(self) -> int:
        return sum(run is not None for run in self.runs)


class Bar:
    """Shows nothing (`--quiet`, `--json`)."""

    def begin(self, count: int) -> None: ...

    def update(self, done: int) -> None: ...

    def end(self) -> None: ...


class PlainBar(Bar):
    """One line every ten seconds."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def begin(self, count: int) -> None:
        self._count = count
        self._began = time.monotonic()
        self._next = self._began + PLAIN_EVERY_S

    def update(self, done: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PLAIN_EVERY_S
            gone = show_duration(int(now - self._began) * 1_000_000)
            text = f"tailrace: {done:,} of {self._count:,} runs done, {gone} gone"
            print(text, file=self._out, flush=True)


class TerminalBar(Bar):
    """Drawn when it is told of something, by no thread of its own: workers are forked beside it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def begin(self, count: int) -> None:
        self._progress = _progress(self._out)
        self._task = self._progress.add_task("runs", total=count)
        self._progress.start()

    def update(self, done: int) -> None:
        self._progress.update(self._task, completed=done, refresh=True)

    def end(self) -> None:
        self._progress.stop()


def _progress(out: TextIO) -> Progress:
    from rich import progress

    from tailrace.cli.screen import console

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.BarColumn(40),
        progress.MofNCompleteColumn(),
        progress.TextColumn("runs"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("gone,"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("left"),
        console=console(out),
        auto_refresh=False,
        transient=True,
    )


def bar_for(*, quiet: bool) -> Bar:
    if quiet:
        return Bar()
    return TerminalBar(sys.stderr) if sys.stderr.isatty() else PlainBar(sys.stderr)


def carry_out(todos: Sequence[Todo], processes: int, bar: Bar) -> Found:
    """Ctrl-C, or SIGTERM, ends it with what is done."""
    runs: list[Run | None] = [None] * len(todos)
    done = 0
    with Interrupts(at_once=processes <= 1) as interrupts:
        try:
            bar.begin(len(todos))
            with closing(run_all(todos, processes)) as coming:
                for ended in coming:
                    if ended is not None:
                        runs[ended[0]] = ended[1]
                        done += 1
                    bar.update(done)
                    if interrupts.heard:
                        raise KeyboardInterrupt
            interrupts.wait()
        except KeyboardInterrupt:
            return Found(runs, interrupted=True)
        except Killed as error:
            return Found(runs, killed=error)
        finally:
            bar.end()
    return Found(runs)
