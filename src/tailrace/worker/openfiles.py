"""How many files a process may have open: raised for ourselves, and put back for what we start.

Some programs look at every number up to the limit before they begin, and some hand it on to a
batch system: a task finds the limit that its user had.
"""

from __future__ import annotations

import resource
from typing import Optional

_given: Optional[int] = None  # before it was raised


def allow(count: int) -> int:
    """So many, or as many as this account may have; how many that are."""
    global _given
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            _given = soft if _given is None else _given
        except (OSError, ValueError):
            pass
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raised() -> bool:
    return _given is not None


def given() -> int:
    """As this process began; 0: as it is now."""
    return _given or 0


def take(count: int) -> None:
    """In a process of our own making: the limit that `given` told there."""
    if count:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def for_shell(command: str) -> str:
    """On the same line: what the shell says of a mistake names the line."""
    return f"ulimit -S -n {_given}; {command}" if _given else command
