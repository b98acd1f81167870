"""What a bag says of who runs its tasks, in plain words and expressions: checked, and told again.

What an expression means, this room does not know. So whoever reads a bag that is to run brings a
`Believe` along, and a fault is told with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from tailrace.bag import patterns
from tailrace.bag.places import Path
from tailrace.bag.policy import EXPRESSIONS, BagPolicy, Plain
from tailrace.bag.policykeys import MOST
from tailrace.bag.tables import Origin
from tailrace.bag.terms import Strategy
from tailrace.errors import BadInput

MOST_NAMES = 1000  # of pools or hosts
MOST_SHOWN = 200  # characters of an expression, in an error
# Of the two only one can be said: the first in plain words, the second as an expression.
EITHER = (("priority", "Rank"), ("timeout", "Deadline"))
_REPLICATION = "ReplicationRequirements"
OWN_TIMEOUTS = ("ntdmr",)  # strategies that give each attempt its time


class Says(Protocol):
    """A bag's spec, or its terms."""

    @property
    def policy(self) -> BagPolicy | None: ...
    @property
    def replication(self) -> Strategy | None: ...
    @property
    def timeout_us(self) -> int | None: ...
    @property
    def most_running(self) -> int | None: ...
    @property
    def pools(self) -> tuple[str, ...]: ...
    @property
    def repeatable(self) -> bool: ...
    @property
    def weight(self) -> float: ...
    @property
    def tail_below(self) -> int | None: ...
    @property
    def tail_stays(self) -> bool: ...
    @property
    def losers_run_on(self) -> bool: ...


# Raises BadInput where a policy cannot be read; the path is that of the bag within its file.
Believe = Callable[[Says, Origin, Path], None]


def anything(says: Says, origin: Origin, path: Path) -> None:
    """For those who only look at a bag, or have it tried elsewhere."""


def check_policies(says: Says, origin: Origin, believe: Believe, path: Path = ()) -> None:
    """What needs no library to be seen; then what does."""
    policy = says.policy
    _check_wire(says)
    if policy is None:
        return
    for word, name in EITHER:
        text = getattr(policy.own, EXPRESSIONS[name])
        if text is not None and _is_said(says, word):
            remedy = f"keep one: {name} = '{text[:MOST_SHOWN]}'"
            raise origin.bad((*path, "policy", name), f"the bag has both {word} and {name}", remedy)
    _check_beside_strategy(policy, says.replication, origin, path)
    if policy.replicates and not says.repeatable:
        key = ("max_attempts",) if policy.plain.max_attempts else ("policy", _REPLICATION)
        raise origin.bad(
            (*path, *key),
            f"{key[-1]} lets a task run twice at once, but the bag is not repeatable",
            "if two attempts of a task do each other no harm, say so: repeatable = true, or "
            '--repeatable; with files = "staged" each has a folder of its own',
        )
    believe(says, origin, path)


def _check_beside_strategy(
    policy: BagPolicy, replication: Strategy | None, origin: Origin, path: Path
) -> None:
    """What a replication strategy does by itself cannot be said once more."""
    if replication is None:
        return
    if policy.replicates:
        raise origin.bad(
            (*path, "replication"),
            f"both {replication.name} and the bag's policy say when a task is repeated",
            "keep one: replication, or ReplicationRequirements (max_attempts)",
        )
    if policy.own.deadline is not None and replication.name in OWN_TIMEOUTS:
        raise origin.bad(
            (*path, "policy", "Deadline"),
            f"both {replication.name} and the bag's Deadline say how long an attempt may take",
            f"leave Deadline out, and give {replication.name} its d_s and turnaround_s",
        )


def _is_said(says: Says, word: str) -> bool:
    assert says.policy is not None
    if word == "priority":
        return says.policy.plain.priority is not None
    return says.timeout_us is not None


def _check_wire(says: Says) -> None:
    """What no reader of a file would have let through."""
    if not (0 < says.weight < MOST) or not 0 <= (says.tail_below or 0) < 2**31:
        raise BadInput("a weight is a number above 0, and tail_below a number of tasks")
    if says.policy is None:
        return
    plain = says.policy.plain
    if plain.timeout_us is not None or plain.max_running is not None:
        raise BadInput("timeout and max_running stand beside the policy of a bag, not in it")
    if plain.priority is not None and not -MOST < plain.priority < MOST:  # nor NaN
        raise BadInput(f"priority is {plain.priority}", remedy="write a smaller number")
    for key in ("tasks_per_host", "max_attempts"):
        number = getattr(plain, key)
        if number is not None and not 1 <= number < 2**31:
            raise BadInput(f"{key} is {number}", remedy="it is a whole number from 1")
    for key, names in (("pools", plain.pools), ("hosts", plain.hosts)):
        if len(names) > MOST_NAMES:  # or the server would be held up by looking at each
            remedy = f'it may have {MOST_NAMES}; "node0*" stands for all that begin so'
            raise BadInput(f"{key} has {len(names):,} names", remedy=remedy)
        for name in names:
            patterns.check_pattern(name)


def whole(says: Says) -> BagPolicy:
    """All that was said, also what the scheduler knows by itself."""
    policy = says.policy or BagPolicy()
    plain = policy.plain
    every = Plain(
        priority=plain.priority,
        max_running=says.most_running,
        tasks_per_host=plain.tasks_per_host,
        pools=(*says.pools, *plain.pools),
        hosts=plain.hosts,
        max_attempts=plain.max_attempts,
        timeout_us=says.timeout_us,
    )
    return BagPolicy(policy.own, every, policy.params)


def may_use(says: Says, pool: str) -> bool:
    """As far as names tell: an expression may refuse it yet."""
    if says.pools and pool not in says.pools:
        return False
    return says.policy is None or patterns.admits(says.policy.plain.pools, pool)


def describe(says: Says) -> str:
    """`priority 5, hosts node0*, Rank`; what has a line of its own is left out."""
    return ", ".join(_described(says))


def _described(says: Says) -> Iterator[str]:
    policy = says.policy or BagPolicy()
    for key in ("priority", "tasks_per_host", "max_attempts"):
        value = getattr(policy.plain, key)
        if value is not None:
            yield f"{key.replace('_', ' ')} {value}"
    for key in ("pools", "hosts"):
        names = getattr(policy.plain, key)
        if names:
            yield f"{key} {' '.join(names)}"
    if says.weight != 1:
        yield f"weight {says.weight:g}"
    yield from (name for name in EXPRESSIONS if getattr(policy.own, EXPRESSIONS[name]) is not None)
    if says.tail_below is not None:
        yield f"tail below {says.tail_below:,}{', which stays' if says.tail_stays else ''}"
    if says.losers_run_on:
        yield "losers run on"
