"""`node0*` and `!spot`: names of pools and of hosts, some of them, or all but some."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from tailrace.errors import BadInput

MOST_CHARACTERS = 300
_PATTERN = re.compile(r"!?[\w.*?@: +-]+")


def check_pattern(written: str) -> None:
    if len(written) > MOST_CHARACTERS:
        found = f"{written[:20]!r}… has {len(written):,} characters"
        raise BadInput(found, remedy=f"a name or pattern has at most {MOST_CHARACTERS}")
    if not _PATTERN.fullmatch(written):
        raise BadInput(
            f"{written!r} is no name and no pattern",
            remedy='write a name, "node0*" for all that begin so, or "!spot" for all but one',
        )


def are_names(patterns: Iterable[str]) -> bool:
    """Each means itself alone."""
    return not any(sign in one for one in patterns for sign in "!*?")


def admits(patterns: Iterable[str], name: str) -> bool:
    """One of those without `!` fits, if there are any, and none of those with it."""
    wanted = [one for one in patterns if not one.startswith("!")]
    unwanted = [one[1:] for one in patterns if one.startswith("!")]
    found = any(fnmatchcase(name, one) for one in wanted) if wanted else True
    return found and not any(fnmatchcase(name, one) for one in unwanted)
