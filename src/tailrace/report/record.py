"""What a report is made of: plain values the store fills in, with no I/O of their own.

All moments are microseconds of the server's wall clock, all durations microseconds, all memory
bytes, all money micro-units of its currency.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One sending of a task to a host, as far as it has come."""

    attempt: int
    index: int
    host: str
    pool: str
    lease: int | None = None
    sent_us: int
    ended_us: int | None = None
    outcome: Outcome | None = None
    exit: int | None = None
    run_us: int | None = None
    cpu_us: int | None = None
    memory: int | None = None
    #: Its success is the result of its task; true for at most one attempt of a task.
    accepted: bool = False
    #: Why it was sent: first time, again after a failure, a replica.
    why: str = ""
    #: The error, or the last line of stderr.
    error: str = ""


class HostRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One machine that did, or could have done, work for the bag."""

    host: str
    name: str
    pool: str
    kind: str = ""
    #: In thousandths, as in the work call.
    cores: int = 0
    memory: int = 0
    #: How many tasks of this bag fit side by side (`bag.needs.times`); 0 when not known.
    slots: int = 0
    first_seen_us: int
    last_seen_us: int
    #: From when to when it was there, lease by lease; empty when it was there without one.
    up: list[tuple[int, int]] = msgspec.field(default_factory=list)
    booked_failures: int = 0


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One machine of a pool for a time, and what it cost."""

    lease: int
    pool: str
    host: str | None = None
    state: str
    #: Why it was given back, or gone.
    why: str = ""
    wanted_us: int
    up_us: int | None = None
    gone_us: int | None = None
    #: Billing units entered so far.
    units: int = 0
    billed_micro: int = 0
    currency: str = ""
    #: The pool's terms in words, such as ``0.10 USD per hour``.
    price: str = ""


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the tail of a bag was planned to come to, from then on."""

    at_us: int
    strategy: str
    left: int  # tasks without a result
    #: Mean, and between which nine of ten such bags lie.
    lasts_us: tuple[int, int, int]
    costs_micro: tuple[int, int, int]
    currency: str = ""
    #: Until then.
    spent_micro: int = 0


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All a report says about one bag, at the moment ``now_us``."""

    bag: int
    name: str
    state: str
    #: Why the bag is in that state, where the state alone says too little.
    reason: str = ""
    count: int
    submitted_us: int
    started_us: int | None = None
    ended_us: int | None = None
    now_us: int
    done: int = 0
    succeeded: int = 0
    #: Of these, from earlier bags.
    taken: int = 0
    failed: int = 0
    #: Micro-units by currency, as in the bag's terms; empty when there is none.
    budget: dict[str, int] = msgspec.field(default_factory=dict)
    #: From the submission on, as in the bag's terms.
    deadline_us: int | None = None
    attempts: list[AttemptRecord] = msgspec.field(default_factory=list)
    hosts: list[HostRecord] = msgspec.field(default_factory=list)
    leases: list[LeaseRecord] = msgspec.field(default_factory=list)
    command: str = ""
    folder: str = ""
    #: What a task needs, in words.
    needs: str = ""
    #: Matching and replication in words, where they are not the usual ones.
    strategies: str = ""
    #: One line for each time a host was excluded: which, how long, why.
    excluded: list[str] = msgspec.field(default_factory=list)
    #: One line for each time that tasks were preempted so often that it was told.
    taken_away: list[str] = msgspec.field(default_factory=list)
    plans: list[PlanRecord] = msgspec.field(default_factory=list)


class Which(StrEnum):
    """Of which tasks results are wanted."""

    ALL = "all"
    DONE = "done"
    FAILED = "failed"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one task; of a task that has not ended, ``outcome`` is null."""

    task: int
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    outcome: Outcome | None = None
    exit: int | None = None
    value: Any = None
    stdout: str = ""
    stderr: str = ""
    #: Each as in the work call: ``{"name", "path", "size"}``.
    outputs: list[Any] = msgspec.field(default_factory=list)
    #: How many attempts the task has had.
    attempts: int = 0
    host: str | None = None
    pool: str | None = None
    run_s: float | None = None
    turnaround_s: float | None = None
    #: Amounts by currency, ``{"USD": 0.0125}``; empty when it cost nothing.
    cost: dict[str, float] = msgspec.field(default_factory=dict)
    #: The earlier bag whose attempt made the result, when it was taken over; else null.
    from_bag: int | None = None
