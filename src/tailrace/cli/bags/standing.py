"""How a bag stands, in words, and what its owner may do next."""

from __future__ import annotations

from tailrace.scheduler.rows import BagPhase
from tailrace.server.continuing import CONTINUED
from tailrace.server.reading import BagFacts

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


def left(facts: BagFacts) -> int:
    return facts.count - facts.done


def going_on(facts: BagFacts) -> str:
    if facts.phase == BagPhase.CANCELLED:
        return f"take it up again, with the {left(facts):,} left"
    return f"go on with the {left(facts):,} left"


def next_steps(facts: BagFacts, *, served: bool) -> list[tuple[str, str]]:
    """Commands and what each is for."""
    steps: list[tuple[str, str]] = []
    number = facts.bag
    if served and facts.phase == BagPhase.RUNNING:
        steps.append((f"tailrace watch {number}", "follow it"))
    elif left(facts) and not is_continued(facts):
        steps.append((f"tailrace resume {number}", going_on(facts)))
    if facts.failed:
        steps.append((f"tailrace retry {number}", f"try the {facts.failed:,} failed again"))
    if facts.done:
        steps.append((f"tailrace results {number}", "see what came out"))
    if facts.phase == BagPhase.BRAKED:
        steps.append((f"tailrace explain {number}", "why it was paused"))
    return steps
