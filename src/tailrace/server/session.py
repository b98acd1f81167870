"""A worker as it is known between its calls, and by which it is known again: its key.

All machines of a pool have one token, and so have, on many, the tasks they run. What tells one host
from another is a key that its worker makes up and keeps in its folder; of which the server keeps a
hash, from the first call on. The worker makes it, not the server: were it told in a reply, a reply
that is lost would leave a host that nobody can speak for.
"""

from __future__ import annotations

import hashlib
import hmac

from tailrace.scheduler.events import HostSeen
from tailrace.server.calls import SECOND_US
from tailrace.server.protocol import WorkRequest

SAME_END_US = 5 * SECOND_US
# It grows by one with each start of a worker: nobody starts a million times unheard.
MOST_LEAP = 1_000_000


class Session:
    """`number` is durable, and so is `seq` as far as a call was told to start something: no older
    call can deny having heard of that."""

    __slots__ = (
        "about", "ends_us", "facts", "first_us", "gone", "held", "host", "key_hash", "number",
        "seen_us", "sent", "seq", "shared", "told",
    )  # fmt: skip

    def __init__(
        self,
        host: str,
        number: int,
        seq: int,
        about: bytes,
        first_us: int,
        seen_us: int,
        key_hash: bytes | None = None,
    ) -> None:
        self.host = host
        self.number = number
        self.seq = seq
        self.about = about
        self.first_us = first_us
        self.seen_us = seen_us
        self.key_hash = key_hash  # None: of one that has not come with a key yet
        self.facts: HostSeen | None = None  # as the scheduler was told
        self.gone = False  # the scheduler was told that it is silent
        self.held: dict[int, None] = {}  # as its newest call said
        self.told: dict[int, int] = {}  # attempts it was told to drop, and when
        self.ends_us: int | None = None  # of its lease, as it was told
        self.sent: dict[str, None] = {}  # small blobs it was given
        self.shared: dict[int, None] = {}  # bags of which we told it what all tasks share

    def admits(self, key: str) -> bool:
        """A host from before there were keys belongs to the first that comes with one."""
        return self.key_hash is None or hmac.compare_digest(hashed(key), self.key_hash)

    def learn(self, key: str) -> bool:
        """Is that news?"""
        if self.key_hash is not None or not key:
            return False
        self.key_hash = hashed(key)
        return True

    def end_of(self, request: WorkRequest, now: int) -> int | None:
        """When its machine ends. It tells how long it has, and calls take their time: nearly the
        same is the same."""
        if request.ends_s is None:
            return None
        ends = now + round(request.ends_s * SECOND_US)
        known = self.facts.ends_us if self.facts is not None else None
        return known if known is not None and abs(ends - known) < SAME_END_US else ends


def hashed(key: str) -> bytes:
    """It is long and drawn: nothing slower is needed."""
    return hashlib.sha256(key.encode()).digest()


def refusal(session: Session | None, request: WorkRequest) -> str:
    """Why a call is not taken for one of the host it names; '': it is."""
    if session is not None and not session.admits(request.key):
        return (
            f"host {request.host} is known by another key. If this worker's folder is a copy, or "
            "its key was lost, remove the folder: the machine then joins as a new host"
        )
    if request.session > (0 if session is None else session.number) + MOST_LEAP:
        return f"host {request.host} cannot have begun {request.session} sessions"
    return ""
