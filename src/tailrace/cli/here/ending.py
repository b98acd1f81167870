"""What came of a run: said at once, and then drawn, for drawing takes a while."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from tailrace.cli import place
from tailrace.cli.here.running import Ended
from tailrace.cli.here.terminals import STDERR, STDOUT, hush
from tailrace.cli.hints import at_hand, hint, program
from tailrace.cli.screen import plain
from tailrace.errors import Exit
from tailrace.report.headline import Headline
from tailrace.report.words import count
from tailrace.scheduler.rows import BagPhase
from tailrace.server.records import phases

REPORT_AFTER_S = 10.0


class Ending:
    def __init__(
        self,
        folder: Path,
        say: Callable[[str], None],
        options: dict[str, Any],
        report: bool | None,
    ) -> None:
        """`report` is the setting; None: if the run was long, and somebody looks."""
        self._folder = folder
        self._say = say
        self._quiet: bool = options["quiet"]
        self._as_json: bool = options["as_json"]
        self._report = report

    def tell(self, ended: Ended) -> None:
        """JSON is one object, which names the report: so it comes after it."""
        if self._as_json:
            _tell_json(ended, self._drawn(ended))
        else:
            self._tell_summary(ended)
        for text in ended.unpublished:
            _print(f"tailrace: {at_hand(text)}", err=True)

    def _tell_summary(self, ended: Ended) -> None:
        if self._quiet:
            self._tell_trouble(ended)
            self._drawn(ended)
            return
        for text in summary(ended, self._folder):
            _print(text)
        which = "" if ended.alone else f" {ended.facts.bag}"
        _print(f"  report:  {self._drawn(ended) or hint(f'report{which}', self._folder)}")

    def _tell_trouble(self, ended: Ended) -> None:
        if ended.code in (Exit.OK, Exit.SOME_FAILED):
            return
        for text in (_headline(ended), *_stopped(ended, self._folder)):
            _print(f"tailrace: {text}", err=True)

    def _drawn(self, ended: Ended) -> Path | None:
        """A run whose report cannot be written has run all the same."""
        if not self._wants_report(ended):
            return None
        try:
            with _skipped_by_interrupt():
                return _write_report(self._folder, ended)
        except OSError as error:
            later = hint("report", self._folder)
            self._say(f"the report cannot be written: {error.strerror}; later: {later}")
        return None

    def _wants_report(self, ended: Ended) -> bool:
        """Drawing takes a second or two: who ran for less, interrupts, or looks at nothing, wants
        his prompt back."""
        if ended.hurried:
            return False
        if self._report is not None:
            return self._report
        looks = not (self._quiet or self._as_json)
        return ended.took_s >= REPORT_AFTER_S and looks and ended.facts.phase != BagPhase.PAUSED


def _print(text: str, *, err: bool = False) -> None:
    """Nobody may be left to read it: how the tasks went, the exit code tells all the same."""
    try:
        click.echo(text, err=err)
    except BrokenPipeError:
        hush(STDERR if err else STDOUT)


@contextmanager
def _skipped_by_interrupt() -> Iterator[None]:
    """An interrupt ends what goes on inside, and changes nothing else of the end."""

    def skip(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, skip) for number in numbers]
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _write_report(folder: Path, ended: Ended) -> Path:
    from tailrace.report.page import write_report
    from tailrace.server.records import reading
    from tailrace.server.records.recording import record

    path = place.report_path(folder, ended.facts.bag, ended.facts.name)
    link = reading.open_store(folder)
    try:
        write_report(record(link, ended.facts.bag), path)
    finally:
        link.close()
    return path


def _tell_json(ended: Ended, report: Path | None) -> None:
    import msgspec

    facts = msgspec.to_builtins(ended.facts)
    facts |= {"exit": int(ended.code), "report": None if report is None else str(report)}
    _print(msgspec.json.encode(facts).decode())


def summary(ended: Ended, runs: Path) -> list[str]:
    facts = ended.facts
    which, of = ("", "") if ended.alone else (f" {facts.bag}", f"{facts.bag}/")
    lines = [_headline(ended), *(f"  {plain(text)}" for text in ended.remarks)]
    lines += _stopped(ended, runs)
    if facts.phase == BagPhase.FINISHED:
        lines.append(f"  results: {hint(f'results{which}', runs)}")
    else:
        lines.append(f"  go on:   {hint(f'resume {facts.bag}', runs)}{_mended(facts.phase)}")
    if facts.failed:
        name = program(runs.parent)
        first = hint(f"results{which} --failed", runs)
        lines.append(f"  failed:  {first} · {name} logs {of}TASK · {name} retry{which}")
    return lines


def _stopped(ended: Ended, runs: Path) -> list[str]:
    """Bags that ran beside it; without a word, nobody would look for them."""
    return [
        f"bag {facts.bag} ({plain(facts.name)}) was interrupted with it, "
        f"{count(facts.count - facts.done, 'task')} left; "
        f"go on: {hint(f'resume {facts.bag}', runs)}"
        for facts in ended.stopped
    ]


def _mended(phase: str) -> str:
    """A bag stays as it was handed in."""
    if phase == BagPhase.BRAKED:
        return " (when the cause is outside the bag; else mend it and run it anew)"
    if phase == BagPhase.STOPPED:
        return " (its budget stays; for another, run it anew)"
    return ""


def _headline(ended: Ended) -> str:
    facts = ended.facts
    return str(
        Headline(
            name=facts.name,
            count=facts.count,
            succeeded=facts.succeeded,
            taken=facts.taken,
            failed=facts.failed,
            state=phases.phase(facts, served=False),
            why=phases.reason(facts),
            submitted_us=facts.submitted_us,
            ended_us=facts.ended_us,
            now_us=facts.last_us,
            deadline_us=ended.deadline_us,
        )
    )
