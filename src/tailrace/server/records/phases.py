"""How a bag stands, in words: the same for whoever asks."""

from __future__ import annotations

from tailrace.scheduler.rows import BagPhase
from tailrace.server.records.continuing import CONTINUED
from tailrace.server.records.reading import BagFacts

_WORDS = {
    BagPhase.RUNNING: "running",
    BagPhase.PAUSED: "paused",
    BagPhase.BRAKED: "paused by a brake",
    BagPhase.STOPPED: "stopped by the budget",
    BagPhase.CANCELLED: "cancelled",
    BagPhase.FINISHED: "finished",
}


def phase(facts: BagFacts, *, served: bool) -> str:
    if is_interrupted(facts, served=served):
        return "interrupted"
    if is_continued(facts):
        return "continued"
    return _WORDS[BagPhase(facts.phase)]


def is_interrupted(facts: BagFacts, *, served: bool) -> bool:
    """A bag that runs without a server was interrupted, however its server ended."""
    if facts.phase == BagPhase.RUNNING:
        return not served
    return facts.phase == BagPhase.PAUSED and facts.why.startswith("interrupted")


def is_continued(facts: BagFacts) -> bool:
    """A later bag has all that it left."""
    return facts.phase == BagPhase.CANCELLED and facts.why.startswith(CONTINUED)


def reason(facts: BagFacts) -> str:
    """Why, where the phase does not say it already."""
    return "" if facts.why.startswith("interrupted") else facts.why.removeprefix("continued ")
