"""What the kernel is told, and the room it works in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# What one repetition of one strategy came to.
FIGURES = (
    "makespan", "tail_makespan", "cheap_results", "cheap_result_s", "cheap_lease_s", "dear_results",
    "dear_result_s", "dear_lease_s", "cheap_sent", "dear_sent", "most_dear", "dear_queue",
    "tail_tasks",
)  # fmt: skip
MAKESPAN, TAIL, CHEAP_RESULTS, CHEAP_RESULT_S, CHEAP_LEASE_S, DEAR_RESULTS = range(6)
DEAR_RESULT_S, DEAR_LEASE_S, CHEAP_SENT, DEAR_SENT, MOST_DEAR, DEAR_QUEUE, TAIL_TASKS = range(6, 13)

# Kinds of events, in the order in which they come at the same time: results before time-outs, and
# both before what is sent.
RESULT, FAILURE, HERE, DUE = range(4)
SLOT_BITS, SEQ_BITS = 24, 36
SLOT_MASK, SEQ_MASK = (1 << SLOT_BITS) - 1, (1 << SEQ_BITS) - 1
MOST_TASKS = SLOT_MASK  # and hosts: their numbers stand in an event
NOBODY = -1
NOT_LEASED, OWN = np.inf, -np.inf  # since when a host is leased; our own is there, and free
MOST_SENT = 1000  # attempts of a task on average, beyond which nothing will come of it
MOST_ROUNDS = 4  # for each event that can be pending, without that anything is sent

# Numbers that change, in `Work.n`; those of a pool are followed by that of the dear one.
HEAP, SEQ, DONE, IN_TAIL, FRESH, LIMIT, DEAR_OUT, FULL = range(8)
WAITING, HEAD, BEHIND, IDLE, STARTING, LEASED, SENT = range(8, 22, 2)
NUMBERS = 22

HOST = np.dtype([
    ("task", np.int64), ("seq", np.int64), ("sent", np.float64), ("beside", np.int64),
    ("leased", np.float64), ("idle_from", np.float64), ("good", np.int8), ("overdue", np.int8),
])  # fmt: skip
TASK = np.dtype([
    ("last", np.float64), ("first", np.int64), ("count", np.int64), ("copies", np.int32),
    ("queued", np.int8), ("done", np.int8), ("dear", np.int8), ("awaits", np.int8),
])  # fmt: skip


class Model(NamedTuple):
    """What is believed of the bag and of both kinds of hosts. Times are in seconds."""

    tasks: int
    cheap: int  # hosts
    dear: int  # at most, whatever a strategy wants
    turnarounds: Floats  # of attempts on cheap hosts that return: quantiles, all as probable
    returned_from: Floats  # since when, beginning with 0 …
    returned: Floats  # … this share of what is sent there returns
    failures: Floats  # after how long it is known that one failed; empty: by its time-out alone
    dear_turnarounds: Floats
    patience_s: float  # time-out before the tail
    retry_first: bool  # what failed before the tail is sent before what never was
    late: bool  # a result that comes after its time-out counts
    cancel: bool  # what runs beside a result is ended
    cheap_startup_s: float  # from wanting a lease to the first attempt
    cheap_unit_s: float  # of a lease, paid whole; 0: there is none, hosts are there at once
    dear_startup_s: float
    dear_unit_s: float
    cheap_least_s: float = 0.0  # of a lease is paid
    dear_least_s: float = 0.0
    cheap_losers: bool = True  # a result is paid also when its task has one
    dear_losers: bool = True


class Standing(NamedTuple):
    """A bag whose tail has begun; an empty one: it is simulated from its beginning."""

    tasks: Ints  # of each that is left: cheap attempts in the tail so far, and whether a dear one
    out: Floats  # of each attempt under way: task, 1 on a dear host, age, what its time-out leaves
    hosts: Floats  # of what is leased: 1 of a dear one, since when (or OWN), when it is there
    on: Ints  # which of its kind among those each attempt runs on; NOBODY: on none of them


class Work(NamedTuple):
    """Room for one repetition, written over by the next."""

    times: Floats  # a heap of when something happens …
    codes: Ints  # … and what: its kind, and of whom
    n: Ints
    hosts: Any  # of HOST: the cheap ones first
    tasks: Any  # of TASK
    idle: Ints  # stacks of idle hosts: of the cheap ones, then of the dear ones
    queue: Ints  # rings of tasks that wait: for a cheap host, then for a dear one
    left: Ints  # tasks without a result when the tail begins
    out: Floats  # FIGURES


def standing(
    tasks: Ints, out: Floats, hosts: Floats | None = None, on: Ints | None = None
) -> Standing:  # fmt: skip
    """Without hosts: as many as there are attempts under way, whose leases begin now."""
    return Standing(
        tasks, out,
        np.zeros((0, 3)) if hosts is None else hosts,
        np.full(len(out), NOBODY) if on is None else on,
    )  # fmt: skip


FROM_THE_BEGINNING = standing(np.zeros((0, 2), np.int64), np.zeros((0, 4)))


def room_for(m: Model, left: int = 0) -> Work:
    """`left`: tasks of a bag that is in its tail."""
    hosts = m.cheap + m.dear
    events = 4 * hosts + 2 * max(min(m.tasks, m.cheap), left) + 64  # twice what can be pending
    return Work(
        np.zeros(events), np.zeros(events, np.int64), np.zeros(NUMBERS, np.int64),
        np.zeros(hosts, HOST), np.zeros(m.tasks, TASK), np.zeros(hosts, np.int64),
        np.zeros(2 * (m.tasks + 1), np.int64), np.zeros(m.tasks, np.int64), np.zeros(len(FIGURES)),
    )  # fmt: skip
