"""What the scheduler decides. The world carries each out after the commit that contains it."""

from __future__ import annotations

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Limits
from tailrace.knowledge.inquiry import Inquiry
from tailrace.scheduler.rows import BagRow, HostRow, LeaseRow, TaskRow, UseRow


class Decision(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """Base of all decisions. Values without cycles: the collector need not look at them."""


class Assign(Decision, frozen=True):
    """Send a task to a host. `needs` and `limits`, where given, replace the bag's."""

    attempt: int
    bag: int
    index: int
    host: str
    why: str
    timeout_us: int | None = None
    needs: dict[str, int] | None = None
    limits: Limits | None = None


class Drop(Decision, frozen=True):
    """End this attempt on its host; it stays believed until the host says that it is gone."""

    attempt: int
    host: str
    why: str


class Close(Decision, frozen=True):
    """The attempt has ended, with this outcome in our books (not always the one reported)."""

    attempt: int
    outcome: Outcome
    accepted: bool


class Settle(Decision, frozen=True):
    """The task has its result: that of this attempt."""

    bag: int
    index: int
    attempt: int
    outcome: Outcome
    troubled: bool = False  # what is remembered of its troubles may be forgotten


class Reopen(Decision, frozen=True):
    """A failed task is to be tried again: its result is void."""

    bag: int
    index: int


class Acquire(Decision, frozen=True):
    lease: int
    pool: str
    bag: int
    ends_us: int


class Renew(Decision, frozen=True):
    lease: int
    ends_us: int


class Release(Decision, frozen=True):
    lease: int
    why: str


class Exclude(Decision, frozen=True):
    host: str
    until_us: int
    why: str
    bag: int = 0  # whose task was the last it could not run, if that was it
    told: str = ""  # and what it said of that, which is for the owner of that bag


class PauseBag(Decision, frozen=True):
    bag: int
    why: str


class Unmatched(Decision, frozen=True):
    """Nothing of the bag is out, and policies have sent every host away for a while."""

    bag: int
    why: str


class TakenAway(Decision, frozen=True):
    """From under a task, so often that it is wanted on a reliable pool from now on."""

    bag: int
    index: int
    why: str


class Replan(Decision, frozen=True):
    """The world computes elsewhere, and answers with `PlanReady`."""

    bag: int
    inquiry: Inquiry


class StopBag(Decision, frozen=True):
    bag: int
    why: str


class Remember(Decision, frozen=True):
    """Store this row, from which `restore` builds the same state again."""

    row: BagRow | TaskRow | HostRow | LeaseRow | UseRow


class Forget(Decision, frozen=True):
    """Remove a bag, and all that is known of it."""

    bag: int


class ForgetHost(Decision, frozen=True):
    """Remove a host, and its record; one that calls again comes as a new one."""

    host: str


AnyDecision = (
    Assign
    | Drop
    | Close
    | Settle
    | Reopen
    | Acquire
    | Renew
    | Release
    | Exclude
    | PauseBag
    | Replan
    | StopBag
    | TakenAway
    | Unmatched
    | Remember
    | Forget
    | ForgetHost
)
