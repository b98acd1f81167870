"""What a run need not do again: results of earlier bags in its folder, and the question whether
they still hold when the program has changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from tailrace.bag.bag import Bag
from tailrace.bag.identity import program_names
from tailrace.cli.screen import plain
from tailrace.errors import BadInput
from tailrace.report.words import count
from tailrace.server.records import reading
from tailrace.server.records.continuing import continued
from tailrace.server.records.taking import MOST_TASKS, Taken, earlier, take
from tailrace.server.tables.link import Link
from tailrace.server.tables.whereabouts import holds_runs


class _Of(NamedTuple):
    """An earlier bag, and what has changed since of that which it was made of."""

    bag: int
    changed: list[str]


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
        bags = _earlier(link, bag, programs)
        _refuse_too_many(bag, bags)
        same = [one.bag for one in bags if not one.changed]
        sure = take(link, bag, same, programs)
        doubted = len(same) < len(bags)
        taken = take(link, bag, [one.bag for one in bags], programs) if doubted else sure
    finally:
        link.close()
    if taken.size <= sure.size or not _keeps(_newest(bags, taken), options):
        taken = sure
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


def _earlier(link: Link, bag: Bag, programs: dict[str, str]) -> list[_Of]:
    found = earlier(link, bag)
    names = dict.fromkeys([*program_names(bag), *programs]) if found else {}
    return [_Of(one.bag, _changed(list(names), one.programs, programs)) for one in found]


def _refuse_too_many(bag: Bag, bags: list[_Of]) -> None:
    """To do again what is done, unasked, would be worse."""
    if bags and bag.count > MOST_TASKS:
        raise BadInput(
            f"bag {bags[0].bag} has results of such tasks, and {bag.count:,} are too many to be "
            f"compared with them (at most {MOST_TASKS:,})",
            remedy=f"`tailrace resume {bags[0].bag}` goes on with it; --again does all tasks anew.",
        )


def _changed(names: list[str], before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Also what is gone; but nothing that this bag has no name for."""
    return [name for name in names if name in before and before[name] != now.get(name)]


def _newest(bags: list[_Of], taken: Taken) -> _Of:
    return next(one for one in bags if one.changed and one.bag in taken.bags)


def _keeps(newest: _Of, options: dict[str, Any]) -> bool:
    """Only their owner knows whether the change concerns the results."""
    if options.get("keep"):
        return True
    names = newest.changed
    have = "has" if len(names) == 1 else "have"
    message = f"{plain(', '.join(names))} {have} changed since bag {newest.bag} ran"
    if not sys.stdin.isatty() or options["quiet"] or options["as_json"]:
        remedy = "--again does all tasks anew, --keep keeps the results there are."
        raise BadInput(message, remedy=remedy)
    question = f"tailrace: {message}. Do all tasks again? (No keeps the results.)"
    return not click.confirm(question, default=True, err=True)
