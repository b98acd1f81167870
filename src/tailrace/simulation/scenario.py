"""What is simulated: pools of machines, bags of tasks, and how late news travels.

Plain values. `reading` makes them from a file; the world draws everything else from its seed.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from tailrace.bag.columns import Columns
from tailrace.bag.needs import THOUSANDTHS
from tailrace.bag.policy import HostPolicy
from tailrace.bag.terms import Terms
from tailrace.pools.terms import Pool
from tailrace.quantities import Money
from tailrace.simulation.arrivals import Arrivals, AtOnce
from tailrace.simulation.changes import Change
from tailrace.simulation.drawn import Events
from tailrace.simulation.files import NO_FILES, Files
from tailrace.simulation.laws import Constant, Law
from tailrace.simulation.lives import Hours, Recorded
from tailrace.simulation.returning import ALL_RETURN, Returning
from tailrace.simulation.sites import LinkTerms, Network
from tailrace.simulation.workload import REFERENCE, Given, MachineType

ONE, NO_TIME = Constant(1.0), Constant(0.0)


class Detection(StrEnum):
    """How the scheduler learns that a machine has gone."""

    REPORTED = "reported"  # at once
    SILENT = "silent"  # when it has not called for so long
    DEADLINE = "deadline"  # never: only the time-outs of attempts tell


class Calling(StrEnum):
    """When a machine asks for work."""

    FREE = "free"  # when it has room: DSiDE
    WORKER = "worker"  # as a real worker does, see `calling`


class WhenFull(StrEnum):
    """What becomes of an attempt that finds no room on its machine."""

    WAIT = "wait"  # behind what the machine has, as with a real worker
    REJECT = "reject"  # it goes back to the scheduler: DSiDE


class Alternation(msgspec.Struct, frozen=True):
    """A machine is there for a while, then away for a while; without `away`, for good."""

    here: Law
    away: Law | None = None
    notice_us: int | None = None  # it is told before it goes


class NeverUp(msgspec.Struct, frozen=True):
    """Leases whose machine is gone before its first call."""

    share: float
    after: Law = Constant(0.0)


class Machines(msgspec.Struct, frozen=True):
    """The machines of a pool. Leased ones come when they are wanted, the others by themselves."""

    terms: Pool
    count: int = 0  # that come by themselves
    arrivals: Arrivals = AtOnce()  # of those
    cores: int = 1
    slots: int = 1  # cores that each offers to tasks, beyond its own only under equal sharing
    has: dict[str, int] = {}  # what else each offers: memory, disk, gpus
    sharing: str = "equal"  # or "reserved"
    speed: Law = ONE  # of each machine
    type: MachineType = REFERENCE
    startup: Law = NO_TIME  # of leases, from wanted to up; without any, from arrived to up
    departs: Law | None = None  # those that come by themselves, from arrived; None: never
    notice_us: int | None = None  # they are told before they go, but for failures of their site
    ending: Law | None = None  # of one that is given back, until it is gone; None: at once
    never_up: NeverUp | None = None
    failures: Alternation | None = None
    owner: Alternation | None = None
    owner_hours: Hours | None = None
    trace: Recorded | None = None
    load: Change | None = None  # the share of a machine that others use
    pace: Change | None = None  # a factor of its speed
    sites: tuple[str, ...] = ()  # where they stand, in turn
    link: LinkTerms | None = None  # of each to its site
    luck: Law = ONE  # a factor of each attempt
    returns: Returning = ALL_RETURN
    detection: Detection | None = None  # None: as it is usual, see `detects`
    calls: Calling = Calling.FREE
    kind: str = ""  # of its hosts, perhaps of other pools too; "": the name of the pool
    when_full: WhenFull = WhenFull.WAIT
    whose: str = ""  # the name of their owner
    cpu: str = ""  # what their processors call themselves
    says: HostPolicy | None = None  # their owner, of the tasks they take

    @property
    def rejects(self) -> bool:
        return self.when_full is WhenFull.REJECT

    @property
    def may_go(self) -> bool:
        """For whatever cause of its own: failures of a site come without notice."""
        causes = (self.failures, self.owner, self.owner_hours, self.trace, self.departs)
        return any(cause is not None for cause in causes)

    @property
    def is_mortal(self) -> bool:
        """Some of them may go for good."""
        laws = [law for law in (self.failures, self.owner) if law is not None]
        ends = self.trace is not None or self.departs is not None
        return ends or any(law.away is None for law in laws)

    @property
    def starts_own(self) -> Law | None:
        """Of those that come by themselves. Beside leased ones they are there: what `startup` tells
        is then what it takes to get a machine that was not."""
        return None if self.terms.max or self.startup == NO_TIME else self.startup

    def detects(self, *, leased: bool) -> Detection:
        """Unless it is said: who lends machines tells of their deaths, and nobody else does."""
        usual = Detection.REPORTED if leased else Detection.SILENT
        return usual if self.detection is None else self.detection

    @property
    def capacity(self) -> dict[str, int]:
        """What the scheduler is told of each machine."""
        reserved = self.sharing == "reserved"
        slots = min(self.slots, self.cores) if reserved else self.slots
        return {"cores": slots * THOUSANDTHS, **self.has}

    @property
    def told_terms(self) -> Pool:
        """With what each machine offers, which the scheduler may know before one has come."""
        return replace(self.terms, capacity=self.capacity)

    @property
    def shared_cores(self) -> int | None:
        """In thousandths, if each machine offers more than it has."""
        cores = self.cores * THOUSANDTHS
        return cores if cores < self.capacity["cores"] else None


class Failures(msgspec.Struct, frozen=True):
    """Of the tasks themselves, on whatever machine."""

    tasks: float = 0.0  # the share of tasks that fail whenever they are tried
    attempts: float = 0.0  # and of attempts of the others
    lengths: Law | None = None  # of tasks that fail; None: as of the others
    known: tuple[int, ...] | None = None  # those that do, of the tasks whose length is known


class Tasks(msgspec.Struct, frozen=True):
    """The tasks of a bag: its terms as in real runs, and what only a simulation knows."""

    terms: Terms
    lengths: Law | Given
    arrivals: Arrivals = AtOnce()
    submitted_us: int = 0
    even: bool = False  # lengths are the quantiles of their law, one for each task
    failing: Failures = Failures()
    files: Files = NO_FILES
    shuffled: bool = False  # in another order for each seed
    columns: Columns | None = None  # parameters that its policy looks at


class Stopping(msgspec.Struct, frozen=True):
    """Whichever comes first; without any, when every task has its result."""

    time_us: int | None = None
    tasks: int | None = None
    events: int | None = None  # of the world: machines that come and go, results, news
    failed: int | None = None  # tasks
    spent: Money | None = None  # by all bags together

    @property
    def surely(self) -> bool:
        """Whatever becomes of the tasks."""
        return self.time_us is not None or self.events is not None


class News(msgspec.Struct, frozen=True):
    """How late the scheduler learns of what happens on the machines."""

    delay: Law | None = None
    every_us: int = 0  # polled; 0: told at once
    outage: tuple[int, int] | None = None  # from, to: nothing is heard and nothing decided


class Telling(msgspec.Struct, frozen=True):
    """Whether tasks tell how far they are."""

    every_us: int = 0  # of the time that each has run; 0: they tell nothing


class Scenario(msgspec.Struct, frozen=True):
    pools: tuple[Machines, ...]
    bags: tuple[Tasks, ...]
    name: str = "scenario"
    stop: Stopping = Stopping()
    news: News = News()
    dispatch_us: int = 0  # from the decision to the machine
    events: Events | None = None  # that are known, instead of drawn
    query_us: int = 0  # asking for the state of the machines, before the dispatch
    network: Network = Network()
    progress: Telling = Telling()

    @property
    def is_plain(self) -> bool:
        """Every task needs one core: as many attempts run at once on a machine as it has slots."""
        return all(tasks.terms.needs.get("cores") == THOUSANDTHS for tasks in self.bags)
