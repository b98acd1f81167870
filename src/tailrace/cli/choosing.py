"""Which bag is meant: by number, by name, or the newest."""

from __future__ import annotations

from typing import Protocol

from tailrace.errors import BadInput
from tailrace.scheduler.rows import BagPhase
from tailrace.server.reading import BagFacts


class Bags(Protocol):
    """As much of a reader as is needed here."""

    def bags(self) -> list[BagFacts]: ...


def choose(reader: Bags, text: str | None) -> BagFacts:
    bags = reader.bags()
    if not bags:
        raise BadInput("there is no bag here yet", remedy="Start one with `tailrace run`.")
    if text is None:
        return bags[-1]
    named = [bag for bag in bags if str(bag.bag) == text or bag.name == text]
    if not named:
        known = ", ".join(f"{bag.bag} ({bag.name})" for bag in bags[-10:])
        raise BadInput(f"there is no bag {text!r}", remedy=f"There are: {known}.")
    return named[-1]


def choose_unfinished(reader: Bags, text: str | None) -> BagFacts:
    """The newest that is not finished, unless one is named."""
    if text is not None:
        return choose(reader, text)
    open_bags = [bag for bag in reader.bags() if bag.phase != BagPhase.FINISHED]
    return open_bags[-1] if open_bags else choose(reader, None)
