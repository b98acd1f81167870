"""What is left of a bag, and what its owner may do next."""

from __future__ import annotations

from tailrace.scheduler.rows import BagPhase
from tailrace.server.records import phases
from tailrace.server.records.reading import BagFacts


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
    elif left(facts) and not phases.is_continued(facts):
        steps.append((f"tailrace resume {number}", going_on(facts)))
    if facts.failed:
        steps.append((f"tailrace retry {number}", f"try the {facts.failed:,} failed again"))
    if facts.done:
        steps.append((f"tailrace results {number}", "see what came out"))
    if facts.phase == BagPhase.BRAKED:
        steps.append((f"tailrace explain {number}", "why it was paused"))
    return steps
