"""What the scheduler knows of a bag: how many tasks, and under which rules. Never their content."""

from __future__ import annotations

import msgspec

from tailrace.bag.needs import ONE_CORE
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import BagPolicy


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Enforced by the worker on the whole process tree of an attempt."""

    time_us: int | None = None
    memory: int | None = None  # bytes resident
    disk: int | None = None  # bytes written


class Retries(msgspec.Struct, frozen=True, omit_defaults=True):
    """How often each outcome is forgiven. A preemption never counts."""

    task_failed: int = 1
    over_limit: int = 0
    host_failed: int = 5
    lost: int = 5
    expired: int = 3

    def allowed(self, outcome: Outcome) -> int | None:
        """None: without end."""
        return {
            Outcome.TASK_FAILED: self.task_failed,
            Outcome.OVER_LIMIT: self.over_limit,
            Outcome.HOST_FAILED: self.host_failed,
            Outcome.LOST: self.lost,
            Outcome.EXPIRED: self.expired,
        }.get(outcome)


class Growth(msgspec.Struct, frozen=True, omit_defaults=True):
    """`on_over_limit`: more memory (or time, disk) next time, up to a ceiling."""

    factor: float = 2.0
    most: dict[str, int] = {}  # ceiling by limit: memory and disk in bytes, time in microseconds
    grow: tuple[str, ...] = ()  # which limits grow: "memory", "disk", "time"


class Strategy(msgspec.Struct, frozen=True, omit_defaults=True):
    """A named rule with its parameters; the scheduler knows the rules."""

    name: str
    options: dict[str, int | float | str | bool] = {}


FIRST_COME = Strategy("fcfs")


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """One per bag; stored, journalled, and handed to the scheduler with `BagSubmitted`."""

    count: int
    name: str = "bag"
    needs: dict[str, int] = msgspec.field(default_factory=lambda: dict(ONE_CORE))
    limits: Limits = Limits()
    retries: Retries = Retries()
    growth: Growth | None = None
    order_seed: int | None = None  # a seeded permutation; None: as listed, or as given
    last: bool = False  # its last task is sent when all others have their result
    repeatable: bool = True  # two attempts of one task may run at once
    timeout_us: int | None = None  # of an attempt
    deadline_us: int | None = None  # of the bag, from its submission
    budget: dict[str, int] = {}  # micro-units by currency
    max_failures: int | None = None  # failed tasks that pause the bag
    like_failures: int = 20  # alike in a row that pause the bag
    pools: tuple[str, ...] = ()  # empty: any
    matching: Strategy = FIRST_COME
    replication: Strategy | None = None  # None: one attempt of a task at a time
    round_us: int = 0  # tasks are matched only every so often; 0: at once
    most_running: int | None = None  # tasks under way at a time
    trial_us: int = 2_000_000  # the first task on a new kind of host runs so long alone; 0: none
    owner: str = ""  # whose part of the machines it uses
    weight: float = 1.0  # beside other bags of its owner
    policy: BagPolicy | None = None  # None: nothing was said
    tail_below: int | None = None  # its tail begins when fewer of its tasks wait to be sent
    tail_stays: bool = False  # and does not end when more of them wait again
    losers_run_on: bool = False  # they are ended else, when another has the result
