"""The policy of a stored bag: as it is told, and as its owner changes it while the bag runs."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tailrace.bag import policysaid
from tailrace.bag.policy import EXPRESSIONS, NO_POLICY, NOTHING_PLAIN, BagPolicy, Plain, Policy
from tailrace.bag.tables import Origin, near
from tailrace.bag.terms import Terms
from tailrace.errors import BadInput
from tailrace.policy.bagpolicy import show
from tailrace.policy.parameters import looked_at
from tailrace.scheduler.events import BagChanged, Change
from tailrace.scheduler.state import State
from tailrace.scheduler.verdicts import Verdict, trial, trial_twice
from tailrace.server.records import reading
from tailrace.server.tables.link import Link

WORDS = ("priority", "tasks_per_host", "pools", "hosts", "max_attempts")  # that may be changed
Name = Annotated[str, msgspec.Meta(max_length=100)]


class PolicyTold(msgspec.Struct, frozen=True):
    bag: int
    text: str  # all of it as ClassAds; empty: nothing was said
    policy: BagPolicy  # also what the scheduler knows without it: timeout, max_running, pools
    weight: float = 1.0
    tail_below: int | None = None
    tail_stays: bool = False
    losers_run_on: bool = False


class HostTried(msgspec.Struct, frozen=True):
    host: str
    pool: str
    matches: bool
    why: str  # it does not
    rank: float | None  # None: no number comes out, and other bags go first
    most: int | None  # attempts that it may hold; None: as many as fit
    timeout_us: int | None
    holds: int  # attempts, of all bags


class PolicyTrial(msgspec.Struct, frozen=True):
    """What it would do now, without doing it."""

    bag: int
    hosts: list[HostTried]  # those that match first, the highest rank first
    twice: list[tuple[int, int]]  # tasks that would get one more attempt, and how many each has


class PolicyChange(msgspec.Struct, frozen=True):
    """What is said stands above what the bag has; the rest stays."""

    own: Policy = NO_POLICY
    plain: Plain = NOTHING_PLAIN
    unset: Annotated[list[Name], msgspec.Meta(max_length=20)] = []
    whole: bool = False  # what is not said is unset


def told(number: int, terms: Terms) -> PolicyTold:
    policy = policysaid.whole(terms)
    beside = terms.weight, terms.tail_below, terms.tail_stays, terms.losers_run_on
    return PolicyTold(number, show(policy), policy, *beside)


def tried(state: State, number: int) -> PolicyTrial:
    hosts = [_tried(verdict) for verdict in trial(state, number)]
    return PolicyTrial(number, hosts, trial_twice(state, number))


def _tried(one: Verdict) -> HostTried:
    """JSON has no infinity."""
    rank = one.rank if math.isfinite(one.rank) else None
    return HostTried(
        one.host, one.pool, one.matches, one.why, rank, one.most, one.timeout_us, one.holds
    )


def changed(terms: Terms, asked: PolicyChange) -> BagPolicy | None:
    """What the bag would have then; it is to be tried yet. None: nothing is said any more."""
    _refuse_fixed(terms, asked)
    before = BagPolicy() if asked.whole or terms.policy is None else terms.policy
    own = {**_said(before.own), **_said(asked.own)}
    plain = {**_said(before.plain), **_said(asked.plain)}
    for name in asked.unset:
        own.pop(EXPRESSIONS.get(name, ""), None)
        plain.pop(name, None)
    if terms.pools:  # by name, as it was handed in
        plain.pop("pools", None)
    found = BagPolicy(Policy(**own), Plain(**plain))
    if found.own.rank is not None and found.plain.priority is not None:
        remedy = "take the other out in the same change: --unset priority, or --unset Rank"
        raise BadInput("the bag has both priority and Rank", remedy=remedy)
    policysaid.check_policies(replace(terms, policy=found), Origin(), policysaid.anything)
    return None if found == BagPolicy() else found


class Setting(NamedTuple):
    policy: BagPolicy | None  # to be tried yet
    event: BagChanged


def setting(link: Link, number: int, asked: PolicyChange) -> Setting:
    """Looks at the bag alone, and at those of its parameters that the policy names: nothing is
    changed yet."""
    policy = changed(reading.bag_row(link, number).terms, asked)
    found, columns = looked_at(policy, reading.content(link, number))
    event = BagChanged(number, Change.POLICY, policy=found, columns=columns)
    return Setting(found, event)


def see_set(number: int, terms: Terms, wanted: Setting) -> None:
    if terms.policy != wanted.policy:
        remedy = "set it again"
        raise BadInput(f"bag {number} was changed meanwhile: its policy stays", remedy=remedy)


def _said(part: Policy | Plain) -> dict[str, Any]:
    values = {field: getattr(part, field) for field in part.__struct_fields__}
    return {field: value for field, value in values.items() if value not in (None, ())}


def _refuse_fixed(terms: Terms, asked: PolicyChange) -> None:
    known = [*EXPRESSIONS, *WORDS]
    for name in asked.unset:
        if name not in known:
            remedy = f"there are {', '.join(known)}{near(name, known)}"
            raise BadInput(f"{name!r} cannot be unset", remedy=remedy)
    pools = asked.plain.pools
    if terms.pools and ("pools" in asked.unset or pools not in ((), terms.pools)):
        raise BadInput(
            f"the bag was handed in for {', '.join(terms.pools)}, and stays there",
            remedy='narrow it with JobRequirements; or with patterns from the start: "lab*"',
        )
