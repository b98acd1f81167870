"""All that a policy may look at: the one table from which names, types and the reference come.

A scope is written before the name: `Host.ErrorRate`. Names of a bag or of a task that no other
scope has, may stand alone, as in the paper's `!Tail` (GridBot, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, StrEnum

import msgspec

Plain = (
    bool | int | float | str | tuple[str, ...] | None
)  # what an attribute can be; None: not known

MOST_REPLICAS = 8


class Scope(StrEnum):
    HOST = "Host"
    JOB = "Job"
    BOT = "BOT"
    QUEUE = "Queue"
    POOL = "Pool"
    OURS = ""


class Type(StrEnum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    REAL = "real"
    STRING = "string"
    LIST = "list"


class Pace(Enum):
    """When an attribute changes: what was found with it is good until then."""

    NEVER = 0
    EVENT = 1
    TIME = 2  # by itself
    DECISION = 3  # another one each time


class Attribute(msgspec.Struct, frozen=True):
    scope: Scope
    name: str  # `Replica1.Age` too
    type: Type
    unit: str
    about: str
    pace: Pace
    may_lack: bool  # it can be UNDEFINED
    samples: tuple[Plain, ...]  # the first is that of something new

    @property
    def key(self) -> str:
        """As the library sees it: the dot is a part of the name."""
        return f"{self.scope}.{self.name}" if self.scope else self.name


SAMPLES: dict[Type, tuple[Plain, ...]] = {
    Type.BOOLEAN: (False, True),
    Type.INTEGER: (0, 1, 4, 1000),
    Type.REAL: (0.0, 0.05, 0.5, 2.5),
    Type.STRING: ("node001", "node017", "spot023"),
    Type.LIST: ((), ("cluster",), ("cluster", "spot")),
}
NEVER, EVENT, TIME = Pace.NEVER, Pace.EVENT, Pace.TIME
Row = tuple[str, str, Pace, str] | tuple[str, str, Pace, str, tuple[Plain, ...]]

# name, type and unit, pace, meaning, samples where the usual ones would mislead; a `?` behind the
# type: it may be UNDEFINED. Amounts that are never 0 have no 0 among their samples, for who divides
# by one that can be 0 is told so.
HOST: tuple[Row, ...] = (
    ("Name", "string", NEVER, "name of the host"),
    ("Pool", "string", NEVER, "name of its pool", ("cluster", "spot")),
    ("Owner", "string", NEVER, "to whom it belongs", ("alice", "bob")),
    ("CpuModel", "string", NEVER, "its processor, as it calls itself", ("EPYC 7742", "Xeon E5")),
    ("NumCpus", "integer cores", NEVER, "its cores", (1, 4, 64)),
    ("Memory", "integer bytes", NEVER, "its memory", (2**30, 2**36)),
    ("Speed", "real", NEVER, "beside the reference; 1 until it is measured", (0.5, 1.0, 2.0)),
    ("Running", "integer attempts", EVENT, "what it holds, of all bags"),
    ("RunningOfBot", "integer attempts", EVENT, "of those: of this bag"),
    ("ErrorRate", "real", EVENT,
     "share of its attempts that failed by its fault, expired or were lost, 0 to 1",
     (0.0, 0.05, 0.5)),
    ("MeanTurnaround", "real? seconds", EVENT, "from sending to result, mean of its attempts",
     (0.5, 600.0)),
    ("RecentGoodSeconds", "real seconds", EVENT, "spent on accepted results of late"),
    ("JobsToday", "integer attempts", EVENT, "sent to it since midnight"),
    ("Succeeded", "integer attempts", EVENT, "that succeeded on it, ever"),
    ("Failed", "integer attempts", EVENT, "that failed by its fault, ever"),
    ("Expired", "integer attempts", EVENT, "whose time-out passed on it, ever"),
    ("Lost", "integer attempts", EVENT, "that were lost with it, ever"),
    ("Preempted", "integer attempts", EVENT, "lost because it was taken away, ever"),
    ("Reliable", "boolean", NEVER, "as its pool says"),
    ("PricePerHour", "real? money", NEVER, "of the machine, in the unit of its pool", (0.2, 4.0)),
    ("TimeLeft", "real? seconds", TIME, "until its known end, such as that of its batch job",
     (0.5, 3600.0)),
)  # fmt: skip
REPLICA: tuple[Row, ...] = (
    ("Name", "string?", EVENT, "name of the host that has it"),
    ("Pool", "string?", EVENT, "pool of that host", ("cluster", "spot")),
    ("Owner", "string?", EVENT, "owner of that host", ("alice", "bob")),
    ("ErrorRate", "real?", EVENT, "of that host", (0.0, 0.05, 0.5)),
    ("Age", "real? seconds", TIME, "since it was sent"),
)
JOB: tuple[Row, ...] = (
    ("NumberOfReplicas", "integer attempts", EVENT, "that run now"),
    ("LastReplicaAge", "real? seconds", TIME, "since the youngest of them was sent"),
    ("OldestReplicaAge", "real? seconds", TIME, "since the oldest of them was sent"),
    ("MaxReplicaErrorRate", "real?", EVENT, "the worst of their hosts", (0.0, 0.05, 0.5)),
    ("ReplicaPools", "list", EVENT, "names of the pools in which they run"),
    ("Attempts", "integer attempts", EVENT, "so far, with those that ended"),
    ("Preemptions", "integer attempts", EVENT, "of those: whose machine was taken away"),
    ("Failures", "integer attempts", EVENT, "of those: that failed"),
)
BOT: tuple[Row, ...] = (
    ("Name", "string", NEVER, "name of the bag", ("sweep", "docking")),
    ("Owner", "string", NEVER, "who submitted it", ("alice", "bob")),
    ("Jobs", "integer tasks", EVENT, "all of them", (1, 4, 1000)),
    ("JobsLeft", "integer tasks", EVENT, "without a result"),
    ("JobsQueued", "integer tasks", EVENT, "of those: that wait to be sent"),
    ("JobsRunning", "integer tasks", EVENT, "of those: that are out"),
    ("JobsDone", "integer tasks", EVENT, "with a result"),
    ("JobsFailed", "integer tasks", EVENT, "given up"),
    ("Tail", "boolean", EVENT, "few tasks wait: the bag is in its tail"),
    ("Priority", "real", EVENT, "as its owner set it; 0 unless he did"),
    ("Deadline", "integer? seconds since the epoch", EVENT, "by when the bag is to be done",
     (1_700_000_000, 1_800_000_000)),
)  # fmt: skip
QUEUE: tuple[Row, ...] = (
    ("BOTsInQueue", "integer bags", EVENT, "that have tasks to send", (1, 4, 1000)),
)
POOL: tuple[Row, ...] = (
    ("Name", "string", NEVER, "name of the pool", ("cluster", "spot")),
    ("Machines", "integer machines", EVENT, "that it has lent or that have called"),
    ("Max", "integer? machines", NEVER, "the most it lends", (1, 100)),
    ("Reliable", "boolean", NEVER, "its machines stay until their end"),
    ("PricePerHour", "real? money", NEVER, "of a machine", (0.2, 4.0)),
)
OURS: tuple[Row, ...] = (
    ("Spent", "real money", EVENT, "by this bag"),
    ("BudgetLeft", "real? money", EVENT, "of the bag's budget"),
    ("Elapsed", "real seconds", TIME, "since the bag was submitted"),
    ("PredictedRemaining", "real? seconds", EVENT, "until the bag is done, by the last estimate"),
    ("Now", "integer seconds since the epoch", TIME, "the scheduler's time", (1_750_000_000,)),
    ("HourOfDay", "integer", TIME, "0 to 23, by the server's clock", (0, 6, 23)),
    ("Lottery", "real", Pace.DECISION, "from 0 to below 1, uniform, another one for each decision",
     (0.0, 0.5, 0.99)),
)  # fmt: skip
TABLES = {
    Scope.HOST: HOST, Scope.JOB: JOB, Scope.BOT: BOT, Scope.QUEUE: QUEUE, Scope.POOL: POOL,
    Scope.OURS: OURS,
}  # fmt: skip


def _made(scope: Scope, row: Row, before: str = "") -> Attribute:
    name, kind, pace, about = row[:4]
    word, _, unit = kind.partition(" ")
    type_ = Type(word.rstrip("?"))
    samples = row[4] if len(row) == 5 else SAMPLES[type_]
    lacks = word.endswith("?")
    return Attribute(scope, before + name, type_, unit, about, pace, lacks, samples)


def _replica(number: int) -> Iterator[Attribute]:
    """`Job.Replica1`: what is said of it, and all of its host. There may be none."""
    for row in REPLICA:
        yield _made(Scope.JOB, row, f"Replica{number}.")
    for row in HOST:
        found = _made(Scope.JOB, row, f"Replica{number}.Host.")
        pace = max(found.pace, Pace.EVENT, key=lambda one: one.value)
        yield msgspec.structs.replace(found, may_lack=True, pace=pace)


def _all() -> Iterator[Attribute]:
    for scope, rows in TABLES.items():
        yield from (_made(scope, row) for row in rows)
    for number in range(1, MOST_REPLICAS + 1):
        yield from _replica(number)


ATTRIBUTES: dict[str, Attribute] = {one.key: one for one in _all()}  # by key
