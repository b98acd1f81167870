"""Regular expressions that are never slow.

The library gives up on a pattern after some 0.2 to 0.5 s, during which nothing else in the process
runs: 80 of them in one expression hold a server for half a minute, for each host that asks. What
makes them slow is a repetition of something that repeats. So no group is repeated, there are a few
open repetitions at most, and what is rare (references back, looking around, verbs) is not taken.
"""

from __future__ import annotations

from tailrace.errors import BadInput

MOST_CHARACTERS = 200
MOST_OPEN = 2  # `*`, `+`, `{2,}`; one more where it can begin only at the beginning
MOST_TIMES = 100
REPEATING = "*+?{"


def check_pattern(pattern: str) -> None:
    """BadInput: it may be slow, or is not known to be quick."""
    if len(pattern) > MOST_CHARACTERS:
        message = f"the pattern has {len(pattern)} characters"
        raise BadInput(message, remedy=f"it may have {MOST_CHARACTERS}")
    unended, at = 0, 0
    while at < len(pattern):
        at, length = _atom(pattern, at), at
        group = pattern[length] == ")"
        while at < len(pattern) and pattern[at] in REPEATING:
            at, many = _repetition(pattern, at)
            if group and many:
                raise BadInput(
                    f"the pattern {pattern!r} repeats a group, and may take for ever",
                    remedy="repeat single characters or [classes], without parentheses",
                )
            unended += many
    most = MOST_OPEN + (pattern.startswith("^") and "|" not in pattern)
    if unended > most:
        raise BadInput(
            f"the pattern {pattern!r} has {unended} repetitions",
            remedy=f"it may have {MOST_OPEN} of *, + and {{…}}, or {MOST_OPEN + 1} behind a ^",
        )


def _atom(pattern: str, at: int) -> int:
    """Behind the character, class or parenthesis that begins here."""
    if pattern[at] == "\\":
        return _escape(pattern, at)
    if pattern[at] == "[":
        return _class(pattern, at)
    if pattern.startswith(("(?", "(*"), at):
        raise BadInput(
            f"the pattern {pattern!r} has {pattern[at : at + 2]}", remedy="write a plain ( group"
        )
    return at + 1


def _escape(pattern: str, at: int) -> int:
    letter = pattern[at + 1 : at + 2]
    if letter.isalnum() and letter not in "dwsDWSbB":
        remedy = "of the escapes with letters there are \\d \\w \\s \\b, and their opposites"
        raise BadInput(f"the pattern {pattern!r} has \\{letter}", remedy=remedy)
    return at + 2


def _class(pattern: str, at: int) -> int:
    end = at + 2 if pattern.startswith("[^", at) else at + 1
    end += 1  # a ] in first place is one of the characters
    while end < len(pattern) and pattern[end] != "]":
        end += 2 if pattern[end] == "\\" else 1
    if end >= len(pattern):
        raise BadInput(f"the pattern {pattern!r} leaves [ open", remedy="close it, or write \\\\[")
    return end + 1


def _repetition(pattern: str, at: int) -> tuple[int, bool]:
    """Behind it, and whether it repeats more than once."""
    if pattern[at] != "{":
        return at + 1, pattern[at] != "?"
    end = pattern.find("}", at)
    numbers = pattern[at + 1 : end].split(",")
    if end < 0 or not all(part.isdigit() or not part for part in numbers) or not numbers[0]:
        remedy = "write {2}, {2,} or {2,5}"
        raise BadInput(f"the pattern {pattern!r} has a {{ that says no number", remedy=remedy)
    if any(len(part) > 3 or int(part or 0) > MOST_TIMES for part in numbers):
        raise BadInput(
            f"the pattern {pattern!r} repeats too often", remedy=f"at most {MOST_TIMES} times"
        )
    return end + 1, True
