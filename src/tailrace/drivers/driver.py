"""A driver starts, renews, stops and lists the machines of a pool. It decides nothing.

The lease's number is the idempotency key: starting a lease that is there already does nothing.
Calls may fail after they took effect; `list` tells what is, and the server acts on that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tailrace.errors import ServerError

Gone = Callable[[int, str], None]  # a lease, and why


class NotStarted(ServerError):
    """A start that cannot have taken effect: nothing need be stopped."""


class Driver(Protocol):
    def start(self, lease: int, ends_us: int) -> None: ...

    def renew(self, lease: int, ends_us: int) -> None:
        """A machine that is there ends then, if that is later; one that is not, or no longer, stays
        away. The same end is told again and again: a call may have been lost."""

    def stop(self, lease: int) -> None: ...

    def list(self) -> list[int]: ...

    def close(self, *, now: bool = False) -> None:
        """The server ends: machines that belong to it end with it; `now`: at once."""
