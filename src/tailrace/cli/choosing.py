"""Which bag is meant: by number, by name, or the newest."""

from __future__ import annotations

from tailrace.errors import BadInput
from tailrace.scheduler.rows import BagPhase
from tailrace.server import reading
from tailrace.server.link import Link
from tailrace.server.reading import BagFacts


def choose(link: Link, text: str | None) -> BagFacts:
    bags = reading.bags(link)
    if not bags:
        raise BadInput("there is no bag here yet", remedy="Start one with `tailrace run`.")
    if text is None:
        return bags[-1]
    named = [bag for bag in bags if str(bag.bag) == text or bag.name == text]
    if not named:
        known = ", ".join(f"{bag.bag} ({bag.name})" for bag in bags[-10:])
        raise BadInput(f"there is no bag {text!r}", remedy=f"There are: {known}.")
    return named[-1]


def choose_unfinished(link: Link, text: str | None) -> BagFacts:
    """The newest that is not finished, unless one is named."""
    if text is not None:
        return choose(link, text)
    open_bags = [bag for bag in reading.bags(link) if bag.phase != BagPhase.FINISHED]
    return open_bags[-1] if open_bags else choose(link, None)
