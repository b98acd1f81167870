"""A server that refuses this worker, as when its token expires.

What runs goes on to its end: its results wait on disk, and the calls go on for some time. Whoever
puts a new token into the worker's file loses nothing.
"""

from __future__ import annotations

from typing import Optional

from .line import SECOND

PATIENCE = 600 * SECOND  # after the last task has ended
TEXTS = {
    401: "the server refused this worker's token (401)",
    403: "the server does not take this worker (403)",
    409: "the server speaks another version of the protocol (409)",
    422: "the server does not take what the owner of this machine says (422)",
}


BAD_WORDS = 422
SAYS_WHY = (403, BAD_WORDS)  # in words for whoever started this worker
OLDER = "the server is older than this worker, and speaks an older protocol (409)"


class Refusal:
    """A server of another version says which: an older one is asked again now and then, until it is
    brought up to date; from a newer one, the worker takes its new file once nothing runs."""

    def __init__(self) -> None:
        self.why: Optional[str] = None
        self.until: Optional[int] = None
        self.by_older = self.by_newer = False
        self.was_taken = False  # by the server, in this session

    def heard(self) -> None:
        """It was taken by the server, at first or again."""
        self.was_taken = True
        self.why = self.until = None
        self.by_older = self.by_newer = False

    def note(self, status: int, now: int, newer: Optional[bool] = None, told: str = "") -> None:
        """`newer`: whether the server is, where that is known. `told`: its own words."""
        self.by_newer, self.by_older = newer is True, newer is False
        if self.by_older:
            self.why, self.until = OLDER, None
            return
        if self.until is None:
            self.until = now + PATIENCE if self.was_taken else now
        self.why = f"{TEXTS[status]}: {told}" if status in SAYS_WHY and told else TEXTS[status]

    def task_ended(self, now: int) -> None:
        if self.until is not None:
            self.until = now + PATIENCE

    def is_final(self, running: bool, kept: bool, now: int) -> bool:
        if self.until is None or running:
            return False
        return self.by_newer or not kept or now >= self.until
