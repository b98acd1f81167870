"""Which bag is meant: by number, by name, or the newest."""

from __future__ import annotations

from typing import Protocol

from tailrace.errors import BadInput
from tailrace.scheduler.rows import BagPhase
from tailrace.server.records.phases import is_continued
from tailrace.server.records.reading import BagFacts

ENDED = (BagPhase.FINISHED, BagPhase.CANCELLED)


class Bags(Protocol):
    """As much of a reader as is needed here."""

    def names(self) -> list[tuple[int, str]]: ...

    def bags(self) -> list[BagFacts]: ...

    def bag(self, number: int) -> BagFacts: ...


def choose(reader: Bags, text: str | None) -> BagFacts:
    """A number means that bag, whatever another is called: of bags with one name, the newest."""
    names = reader.names()
    if not names:
        raise BadInput("there is no bag here yet", remedy="Start one with `tailrace run`.")
    if text is None:
        return reader.bag(names[-1][0])
    numbered = [number for number, _ in names if str(number) == text]
    named = numbered or [number for number, name in names if name == text]
    if not named:
        known = ", ".join(f"{number} ({name})" for number, name in names[-10:])
        raise BadInput(f"there is no bag {text!r}", remedy=f"There are: {known}.")
    return reader.bag(named[-1])


def choose_unfinished(reader: Bags, text: str | None) -> BagFacts:
    """The newest that has not ended, unless one is named."""
    if text is not None:
        return choose(reader, text)
    open_bags = [bag for bag in reader.bags() if bag.phase not in ENDED]
    return open_bags[-1] if open_bags else choose(reader, None)


def choose_to_resume(reader: Bags, text: str | None) -> BagFacts:
    """What was given up is taken up again only by its own name."""
    facts = choose_unfinished(reader, text)
    if text is None and facts.phase == BagPhase.CANCELLED:
        given_up = [bag for bag in reader.bags() if bag.phase == BagPhase.CANCELLED]
        waiting = [bag for bag in given_up if not is_continued(bag)] or [facts]
        known = ", ".join(f"{bag.bag} ({bag.name})" for bag in waiting[-10:])
        remedy = f"To take one up again, name it: `tailrace resume {facts.bag}`."
        raise BadInput(f"only bags that were cancelled are left: {known}", remedy=remedy)
    return facts
