"""What is under way: a live attempt, and the trial that one may be.

Not beside the state that holds them: what is compiled (hatch_build.py) must not have records, for
mypyc drops what stands behind their base class.
"""

from __future__ import annotations

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.knowledge.progress import Reached


class Attempt(msgspec.Struct, eq=False, gc=False):
    """A live attempt: sent, and not yet known to have ended."""

    attempt: int
    bag: int
    index: int
    host: str
    sent_us: int
    needs: dict[str, int] | None = None  # when they are more than the bag's
    ahead: bool = False  # sent beyond what its host could run at once, to wait there
    timeout_us: int | None = None
    expired: bool = False  # another may be sent; a result of this one still counts
    ran_us: int = 0  # as its host said, if it ended without a result
    dropping: Outcome | None = None  # how its end will be booked
    reached: Reached | None = None  # how far it is, if its task tells
    unreadable: str = ""  # why the last that it told is not understood
    lease: int = 0  # to which its result is billed; 0: to none
    most: int = 0  # micro-units that its result can cost
    currency: str = ""  # of those


class Trial(msgspec.Struct):
    """A bag's first task on a new kind of host; the others wait for it, but not for long."""

    attempt: int
    since_us: int
