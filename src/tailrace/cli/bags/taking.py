"""What a run need not do again: results of earlier bags in its folder, and the question whether
they still hold when the program has changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tailrace.bag.bag import Bag
from tailrace.cli.screen import plain
from tailrace.errors import BadInput
from tailrace.report.words import count
from tailrace.server import reading, taking
from tailrace.server.continuing import continued
from tailrace.server.link import Link
from tailrace.server.taking import Earlier, Taken
from tailrace.server.whereabouts import holds_runs


def taken_over(
    folder: Path,
    bag: Bag,
    programs: dict[str, str],
    options: dict[str, Any],
    say: Callable[[str], None],
) -> Taken | None:
    """What earlier bags have done already; said before anything else."""
    link = _opened(folder)
    if link is None:
        return None
    try:
        bags = taking.earlier(link, bag)
        same = [one for one in bags if not _changed(one.programs, programs)]
        taken = taking.take(link, bag, [one.bag for one in same or bags], programs)
    finally:
        link.close()
    if taken.size and not same and not _keeps(bags[0], programs, options):
        return None
    if taken.size or taken.changed:
        say(told(taken, bag.count))
    return taken if taken.size else None


def gone_on_with(folder: Path, bag: Bag) -> tuple[int, ...]:
    """Unfinished bags that need not be resumed once this one runs."""
    link = _opened(folder)
    if link is None:
        return ()
    try:
        return continued(link, bag)
    finally:
        link.close()


def _opened(folder: Path) -> Link | None:
    """None: it holds nothing that could be taken over."""
    try:
        return reading.open_store(folder) if holds_runs(folder) else None
    except reading.OlderStore:
        return None


def told(taken: Taken, total: int) -> str:
    bags = " and ".join(map(str, sorted(taken.bags)))
    of = f"bag{'s' * (len(taken.bags) > 1)} {bags}"
    stale = f" ({count(taken.changed, 'task')} whose files have changed since not counted)"
    left = total - taken.size
    text = f"{taken.size:,} of {count(total, 'task')} have results from {of}"
    text += stale if taken.changed else ""
    return f"{text}; {left:,} to do; --again does all" if left else f"{text}; --again does all"


def _changed(before: dict[str, str], now: dict[str, str]) -> list[str]:
    return [name for name in now if name in before and before[name] != now[name]]


def _keeps(newest: Earlier, programs: dict[str, str], options: dict[str, Any]) -> bool:
    """Only their owner knows whether the change concerns the results."""
    if options.get("keep"):
        return True
    names = _changed(newest.programs, programs)
    have = "has" if len(names) == 1 else "have"
    message = f"{plain(', '.join(names))} {have} changed since bag {newest.bag} ran"
    if not sys.stdin.isatty() or options["quiet"] or options["as_json"]:
        remedy = "--again does all tasks anew, --keep keeps the results there are."
        raise BadInput(message, remedy=remedy)
    question = f"tailrace: {message}. Do all tasks again? (No keeps the results.)"
    return not click.confirm(question, default=True, err=True)
