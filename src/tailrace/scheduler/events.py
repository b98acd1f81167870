"""What the scheduler is told. Each is a frozen value; the journal of a run is a list of them."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tailrace.bag.columns import Columns
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy, HostPolicy
from tailrace.bag.terms import Terms
from tailrace.knowledge.inquiry import Plan
from tailrace.pools.terms import Pool


class Change(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    GROW = "grow"
    POLICY = "policy"


class LeaseState(StrEnum):
    WANTED = "wanted"
    STARTING = "starting"
    UP = "up"
    ENDING = "ending"
    GONE = "gone"


class Measured(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What the worker measured of an attempt, by its own monotonic clock."""

    run_us: int = 0
    exit: int | None = None
    limit: str = ""  # which limit was passed
    text: str = ""  # the last line of stderr, or the error: what makes two failures alike
    of_bag: bool = False  # the host lacks what this bag alone asks for
    unmade: bool = False  # its task cannot be made: it was never sent
    unheard: bool = False  # its worker left, and may not have heard of it


class Event(msgspec.Struct, frozen=True, tag=True, omit_defaults=True, gc=False):
    """Base of all events."""


class Restarted(Event, frozen=True):
    """A server begins; nothing expires before `grace_us` has passed."""

    seed: int
    pools: tuple[Pool, ...]
    grace_us: int = 0
    offset_us: int = 0  # of the clock on the wall from that of the epoch
    stores: bool = True  # there may be another beginning, from what is stored until then


class BagSubmitted(Event, frozen=True):
    bag: int
    terms: Terms
    permutation: bytes | None = None  # of uint32, when the order is by a parameter
    arrived: int | None = None  # so many of its tasks are there yet; None: all
    taken: bytes | None = None  # a bit for each task: it has its result from an earlier bag
    columns: Columns | None = None  # parameters that its policy looks at


class TasksArrived(Event, frozen=True):
    """More tasks of an open bag: those below `arrived` may be sent."""

    bag: int
    arrived: int


class More(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tasks that are added to a bag, numbered on from those it has."""

    before: int  # so many it has: told twice, it grows once
    count: int
    permutation: bytes | None = None  # of uint32, counted from the first of them, as above
    columns: Columns | None = None  # parameters of theirs that the bag's policy looks at


class BagChanged(Event, frozen=True):
    bag: int
    change: Change
    tasks: tuple[int, ...] = ()
    why: str = ""
    more: More | None = None  # of a bag that grows
    policy: BagPolicy | None = None  # from now on
    columns: Columns | None = None  # parameters that it looks at, of all tasks


class BagForgotten(Event, frozen=True):
    """The time it is kept after its end is over."""

    bag: int


class HostForgotten(Event, frozen=True):
    """It has been silent for so long that nobody waits for it."""

    host: str


class HostSeen(Event, frozen=True):
    """A host calls for the first time, after silence, or has changed."""

    host: str
    pool: str
    kind: str
    capacity: dict[str, int]
    lease: int | None = None
    speed: float = 1.0  # beside other hosts, by whatever measure its world has
    ends_us: int | None = None  # when its machine ends, whoever wants it longer; None: not known
    cores: int | None = None  # that tasks share, in thousandths; None: those that it offers
    owner: str = ""  # to whom the machine belongs
    cpu: str = ""  # what its processor calls itself
    says: HostPolicy | None = None  # which bags it takes, and which it prefers
    benchmark: float | None = None  # as it measured itself, 1: the reference; None: not yet


class Offer(Event, frozen=True):
    """The host would take work. `free` is its room for attempts as if it held none of ours: the
    scheduler subtracts those it believes there, so that an offer made twice is still one."""

    host: str
    free: dict[str, int]


class OfferWithdrawn(Event, frozen=True):
    host: str


class HostSilent(Event, frozen=True):
    host: str


class Ended(Event, frozen=True):
    """An attempt has ended. Bag, index and host are told too: it may be one forgotten long ago."""

    attempt: int
    bag: int
    index: int
    host: str
    outcome: Outcome
    measured: Measured = Measured()


class Progress(Event, frozen=True):
    """How far an attempt is, as its task told its host. Not durable, and nothing waits for it."""

    attempt: int
    host: str
    done: float | None  # from 0 to 1; None: what it wrote is not understood, and `text` says why
    ran_us: int = 0  # until it told
    ago_us: int = 0  # so long the host knew it before it could say so
    cpu_us: int = 0  # used until it told; 0: not measured
    text: str = ""  # what it says beside


class LeaseChanged(Event, frozen=True):
    lease: int
    state: LeaseState
    why: str = ""


class PlanReady(Event, frozen=True):
    """The answer to `Replan`; without a plan: why there is none."""

    bag: int
    number: int  # of the inquiry
    plan: Plan | None = None
    why: str = ""


class Tick(Event, frozen=True):
    """Time has passed."""


class Stopping(Event, frozen=True):
    """The server ends in order: nothing follows."""


AnyEvent = (
    Restarted
    | BagSubmitted
    | TasksArrived
    | BagChanged
    | BagForgotten
    | HostForgotten
    | HostSeen
    | Offer
    | OfferWithdrawn
    | HostSilent
    | Ended
    | Progress
    | LeaseChanged
    | PlanReady
    | Tick
    | Stopping
)
