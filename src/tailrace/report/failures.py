"""Failures grouped: what went wrong how often, and in which tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.report.record import AttemptRecord

NOT_FAILURES = (None, Outcome.SUCCEEDED, Outcome.CANCELLED)
EXAMPLES = 5
_NUMBERS = re.compile(r"0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_TEXT_KEPT = 500


class FailureGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts that failed alike: same outcome, exit code and last line but for its numbers."""

    outcome: Outcome
    exit: int | None
    #: The text of the first of them, as it was.
    text: str
    attempts: int
    tasks: int
    #: Tasks among them that no later attempt has saved.
    unsaved: int
    #: Numbers of the first few tasks, those not saved first.
    examples: list[int]


def normalise(text: str) -> str:
    """The text with every number replaced, so that ``seed 17`` and ``seed 4`` are alike."""
    return _NUMBERS.sub("#", text[:_TEXT_KEPT].strip())


def group_failures(attempts: Iterable[AttemptRecord], saved: set[int]) -> list[FailureGroup]:
    """Most frequent first. ``saved`` are the tasks that have an accepted result."""
    alike: dict[tuple[Outcome, int | None, str], list[AttemptRecord]] = {}
    for attempt in attempts:
        if attempt.outcome is not None and attempt.outcome not in NOT_FAILURES:
            key = (attempt.outcome, attempt.exit, normalise(attempt.error))
            alike.setdefault(key, []).append(attempt)
    groups = [_group(members, saved) for members in alike.values()]
    return sorted(groups, key=lambda g: (-g.unsaved, -g.attempts, g.outcome, g.text))


def _group(members: list[AttemptRecord], saved: set[int]) -> FailureGroup:
    first = members[0]
    assert first.outcome is not None
    tasks = {attempt.index for attempt in members}
    unsaved = tasks - saved
    examples = sorted(unsaved)[:EXAMPLES] or sorted(tasks)[:EXAMPLES]
    return FailureGroup(
        outcome=first.outcome,
        exit=first.exit,
        text=first.error[:_TEXT_KEPT].strip(),
        attempts=len(members),
        tasks=len(tasks),
        unsaved=len(unsaved),
        examples=examples,
    )
