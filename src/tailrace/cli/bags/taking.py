"""What a run need not do again: results of earlier bags, here or at a server, and the question
whether they still hold when the program has changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import click

from tailrace.bag.bag import Bag
from tailrace.bag.identity import basis, program_names
from tailrace.cli.screen import plain
from tailrace.errors import BadInput
from tailrace.report.words import count
from tailrace.server.records import reading
from tailrace.server.records.continuing import continued
from tailrace.server.records.taking import MOST_TASKS, Earlier, Taken, earlier, take
from tailrace.server.tables.link import Link
from tailrace.server.tables.whereabouts import holds_runs


class Kept(Protocol):
    """What of a bag need not be done."""

    @property
    def size(self) -> int: ...

    @property
    def bags(self) -> tuple[int, ...]: ...

    @property
    def changed(self) -> int: ...


K = TypeVar("K", bound=Kept)
K_co = TypeVar("K_co", bound=Kept, covariant=True)


class Past(Protocol[K_co]):
    """Who knows of earlier bags: the store of a folder, or a server."""

    def earlier(self, sign: str) -> list[Earlier]: ...

    def take(self, bag: Bag, bags: list[int], programs: dict[str, str]) -> K_co: ...


class Stored:
    """What lies in a folder of runs."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def earlier(self, sign: str) -> list[Earlier]:
        return earlier(self._link, sign)

    def take(self, bag: Bag, bags: list[int], programs: dict[str, str]) -> Taken:
        return take(self._link, bag, bags, programs)


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
    """What earlier bags of the folder have done already; said before anything else."""
    link = _opened(folder)
    if link is None:
        return None
    try:
        return taken_from(Stored(link), bag, programs, options, say)
    finally:
        link.close()


def taken_from(
    past: Past[K],
    bag: Bag,
    programs: dict[str, str],
    options: dict[str, Any],
    say: Callable[[str], None],
) -> K | None:
    bags = _earlier(past, bag, programs)
    if not bags:
        return None
    _refuse_too_many(bag, bags)
    same = [one.bag for one in bags if not one.changed]
    taken = sure = past.take(bag, same, programs)
    if len(same) < len(bags):
        taken = past.take(bag, [one.bag for one in bags], programs)
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


def told(taken: Kept, total: int) -> str:
    bags = " and ".join(map(str, sorted(taken.bags)))
    of = f"bag{'s' * (len(taken.bags) > 1)} {bags}"
    stale = f" ({count(taken.changed, 'task')} whose files have changed since not counted)"
    left = total - taken.size
    text = f"{taken.size:,} of {count(total, 'task')} have results from {of}"
    text += stale if taken.changed else ""
    return f"{text}; {left:,} to do; --again does all" if left else f"{text}; --again does all"


def _earlier(past: Past[K], bag: Bag, programs: dict[str, str]) -> list[_Of]:
    sign = basis(bag.spec)
    found = past.earlier(sign) if sign else []
    names = dict.fromkeys([*program_names(bag), *programs]) if found else {}
    return [_Of(one.bag, _changed(list(names), one.programs, programs)) for one in found]


def _refuse_too_many(bag: Bag, bags: list[_Of]) -> None:
    """To do again what is done, unasked, would be worse."""
    if bag.count > MOST_TASKS:
        raise BadInput(
            f"bag {bags[0].bag} has results of such tasks, and {bag.count:,} are too many to be "
            f"compared with them (at most {MOST_TASKS:,})",
            remedy=f"`tailrace resume {bags[0].bag}` goes on with it; --again does all tasks anew.",
        )


def _changed(names: list[str], before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Also what is gone; but nothing that this bag has no name for."""
    return [name for name in names if name in before and before[name] != now.get(name)]


def _newest(bags: list[_Of], taken: Kept) -> _Of:
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
