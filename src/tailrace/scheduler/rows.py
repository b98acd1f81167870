"""The scheduler's memory as rows: what is stored, and what it is restored from."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tailrace.bag.columns import Columns
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import HostPolicy
from tailrace.bag.terms import Limits, Terms
from tailrace.knowledge.inquiry import Plan
from tailrace.pools.terms import Billing
from tailrace.scheduler.events import LeaseState


class BagPhase(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  # by its owner
    BRAKED = "braked"  # by a brake
    STOPPED = "stopped"  # by the budget
    CANCELLED = "cancelled"
    FINISHED = "finished"


class BagRow(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    bag: int
    terms: Terms
    phase: BagPhase
    submitted_us: int
    why: str = ""
    ended_us: int | None = None
    arrived: int | None = None  # None: all its tasks are there
    tail_us: int | None = None  # when its tail began
    tail_hosts: int = 0  # unreliable hosts there were then
    taken: int = 0  # tasks whose results came from earlier bags
    added: tuple[int, ...] = ()  # of its tasks, how many came later, each time
    forgiven: int = 0  # of its failed tasks: those from before it was last resumed
    scattered: bool = False  # its policy had tasks sent that others came before in the order
    plan: Plan | None = None  # of its tail


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """A failure whose blame is not yet settled."""

    host: str
    sign: str


class TaskRow(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """A task that has had trouble; gone when the task is settled."""

    bag: int
    index: int
    sent: int = 0
    counts: dict[str, int] = {}  # booked, by outcome
    unsettled: tuple[Failure, ...] = ()
    limits: Limits | None = None
    needs: dict[str, int] | None = None
    why: str = ""
    avoid: tuple[str, ...] = ()  # hosts the next attempt keeps away from
    expired: tuple[int, ...] = ()  # live attempts whose time-out has passed and is booked
    at_once: bool = False  # sent only where it begins at once
    tail: int = 0  # attempts on unreliable pools since the tail began
    dear: bool = False  # it had one on a reliable pool since then
    longer_us: int = 0  # it takes more: it ran so long, and was given up only for that


class AttemptRow(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """A live attempt."""

    attempt: int
    bag: int
    index: int
    host: str
    sent_us: int
    timeout_us: int | None = None


class PastRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attempt that has ended."""

    bag: int
    host: str
    sent_us: int
    ended_us: int
    timeout_us: int | None
    outcome: Outcome
    index: int = 0
    ran_us: int | None = None  # as its host said, if it did

    @property
    def took_us(self) -> int:
        return self.ended_us - self.sent_us

    @property
    def expired(self) -> bool:
        """Its time-out had passed, whatever came after."""
        timeout_us = self.timeout_us
        late = timeout_us is not None and self.took_us >= timeout_us
        return self.outcome is Outcome.EXPIRED or late


MOST_PAST = 4000  # attempts of a bag, by which its strategy knows hosts again


class HostRow(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    host: str
    pool: str
    kind: str
    capacity: dict[str, int]
    lease: int | None = None
    succeeded: int = 0
    booked: int = 0  # failures settled to be the host's
    exclusions: int = 0
    excluded_until_us: int = 0  # 0 again once a probe has succeeded
    why: str = ""  # it was excluded
    speed: float = 1.0
    told: str = ""  # of the task it could not run: not for everybody
    owner: str = ""
    cpu: str = ""
    says: HostPolicy | None = None
    benchmark: float | None = None  # None: not measured yet
    preempted: int = 0  # attempts lost because it was taken away
    turnaround_us: int = 0  # from sending to result, of all that were accepted
    good_us: int = 0  # spent on accepted results of late, as it was at `good_at_us`
    good_at_us: int = 0
    today: int = 0  # attempts sent to it on that day
    day: int = 0  # since the epoch
    expired: int = 0  # attempts whose time-out passed before it said anything of them
    lost: int = 0  # attempts of which nothing is heard any more

    @property
    def felt_speed(self) -> float:
        """What a policy is told: as its pool says, times what it measured of itself, if it has."""
        return self.speed * (1.0 if self.benchmark is None else self.benchmark)


class UseRow(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """What an owner, or one of his bags, has had of the machines of late, as it counted then."""

    owner: str
    bag: int  # 0: all of them
    used: int  # in milliseconds of a core, of attempts that have ended
    at_us: int


class LeaseRow(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    lease: int
    pool: str
    bag: int
    state: LeaseState
    wanted_us: int
    ends_us: int
    up_us: int | None = None
    gone_us: int | None = None
    host: str = ""
    why: str = ""
    idle: bool = False  # given back because nothing was left for it at the end of a paid unit
    billing: Billing = Billing()  # agreed when it was taken: later prices do not change its cost
    results: int = 0  # that were paid, where they are
    billed: int = 0  # for them, in micro-units


ON_THEIR_WAY = (LeaseState.WANTED, LeaseState.STARTING)
STANDING = (*ON_THEIR_WAY, LeaseState.UP)


class Restored(msgspec.Struct, frozen=True):
    """Everything at once, as the store hands it over; the bits are one per task."""

    bags: list[BagRow]
    done: dict[int, bytes]
    failed: dict[int, bytes]
    permutations: dict[int, bytes]
    tasks: list[TaskRow]
    attempts: list[AttemptRow]
    hosts: list[HostRow]
    leases: list[LeaseRow]
    next_attempt: int = 1
    next_lease: int = 1
    uses: list[UseRow] = []
    columns: dict[int, Columns] = {}  # parameters that a bag's policy looks at
    past: list[PastRow] = []  # of bags with a replication strategy, in the order of their ends
