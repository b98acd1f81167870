"""`node0*` and `!spot`, as ClassAds over the name of a host or of a pool."""

from __future__ import annotations

from tailrace.bag.patterns import check_pattern

_SPECIAL = ".+?*"


def condition(key: str, patterns: tuple[str, ...]) -> str:
    """One of those without `!` holds, if there are any, and none of those with it."""
    for pattern in patterns:
        check_pattern(pattern)
    wanted = [_one(key, pattern) for pattern in patterns if not pattern.startswith("!")]
    unwanted = [_one(key, pattern[1:]) for pattern in patterns if pattern.startswith("!")]
    either = " || ".join(wanted)
    parts = [f"({either})" if len(wanted) > 1 and unwanted else either] if wanted else []
    return " && ".join([*parts, *(f"!({one})" for one in unwanted)])


def _one(key: str, pattern: str) -> str:
    if "*" not in pattern and "?" not in pattern:
        return f'{key} =?= "{pattern}"'
    return f'regexp("^{"".join(map(_letter, pattern))}$", {key})'


def _letter(letter: str) -> str:
    if letter == "*":
        return ".*"
    if letter == "?":
        return "."
    return f"[{letter}]" if letter in _SPECIAL else letter
