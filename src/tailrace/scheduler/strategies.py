"""The strategies by name. A user's package may add its own: the world that loads it says so here
before the scheduler begins."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from tailrace.bag.tables import meant
from tailrace.bag.terms import Strategy
from tailrace.errors import BadInput
from tailrace.scheduler import fleet, policies, wanting
from tailrace.scheduler.matching.fastest import Fastest, LongestToFastest, ShortestToFastest
from tailrace.scheduler.matching.fcfs import FirstCome, RandomMachine
from tailrace.scheduler.matching.matching import Matching
from tailrace.scheduler.replication.budget import WithinBudget
from tailrace.scheduler.replication.ntdmr import NTDMr
from tailrace.scheduler.replication.planned import Planned
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.replication.requirements import ByRequirements
from tailrace.scheduler.replication.wqr import WorkQueueWithReplication
from tailrace.scheduler.state import Bag, State

MATCHING: dict[str, Callable[..., Matching]] = {
    "fcfs": FirstCome,
    "random": RandomMachine,
    "fjbcr": Fastest,
    "maxmax": LongestToFastest,
    "minmax": ShortestToFastest,
}
REPLICATION: dict[str, Callable[..., Replication]] = {
    "wqr": WorkQueueWithReplication,
    "ntdmr": NTDMr,
    "planned": Planned,
    "budget": WithinBudget,
}
# Of bags that say in their policy when a task is repeated.
BY_POLICY: dict[str, Callable[[], Replication]] = {"ReplicationRequirements": ByRequirements}

# By what an option is unless it is given (annotations are lost where a strategy is compiled): which
# values are good, and how to call them.
KINDS: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), bool: (bool,)}
SAID = {int: "a whole number", float: "a number", bool: "true or false"}


def matching(strategy: Strategy) -> Matching:
    return _made("matching", MATCHING, strategy)  # type: ignore[no-any-return]


def replication(strategy: Strategy) -> Replication:
    return _made("replication", REPLICATION, strategy)  # type: ignore[no-any-return]


def equip(bag: Bag) -> None:
    policies.equip(bag)
    bag.matching = matching(bag.terms.matching)
    if bag.terms.replication is None:
        bag.replication = _by_requirements(bag)
    elif not (bag.terms.last and bag.arrived is None):  # until its last task is called
        bag.replication = replication(bag.terms.replication)


def policy_changed(state: State, bag: Bag) -> None:
    """Its owner has set another: what follows from it begins anew."""
    policies.changed(state, bag)
    fleet.queue_anew(state, bag)
    if bag.terms.replication is not None:
        return
    wanting.leave(state, bag)
    bag.replication = _by_requirements(bag)
    if bag.replication is not None and bag.id in state.open:
        wanting.enter(state, bag)
        bag.replication.restore(state, bag)


def _by_requirements(bag: Bag) -> Replication | None:
    last_called = bag.terms.last and bag.arrived is None
    wanted = bag.rules is not None and bag.rules.replicates
    if not wanted or not bag.terms.repeatable or last_called:
        return None
    return BY_POLICY["ReplicationRequirements"]()


def admit(family: str, strategy: Strategy) -> str:
    """For those who read bags: BadInput before it is handed in rather than when it begins. The
    order in which the strategy wants the tasks: listed, longest or shortest first."""
    if family == "matching":
        return matching(strategy).order
    found = replication(strategy).contradiction()
    if found is not None:
        raise BadInput(f"{strategy.name}: {found[0]}", remedy=found[1])
    return "listed"


def _made(family: str, known: dict[str, Callable[..., Any]], strategy: Strategy) -> Any:
    make = known.get(strategy.name)
    if make is None:
        raise BadInput(
            f"there is no {family} strategy {strategy.name!r}",
            remedy=f"{meant(strategy.name, list(known))}it is one of: {', '.join(sorted(known))}",
        )
    takes = _options(make)
    for key, value in strategy.options.items():
        _check(strategy.name, takes, key, value)
    try:
        return make(**strategy.options)
    except ValueError as fault:
        raise BadInput(f"{strategy.name}: {fault}", remedy=_taken(strategy.name, takes)) from None


def _options(make: Callable[..., Any]) -> dict[str, Parameter]:
    return dict(signature(make).parameters)


def _check(name: str, takes: dict[str, Parameter], key: str, value: object) -> None:
    if key not in takes:
        raise BadInput(f"{name} has no option {key!r}", remedy=_taken(name, takes))
    kind = type(takes[key].default)
    if kind in KINDS and type(value) not in KINDS[kind]:
        message = f"{name}: {key} is {value!r}, not {SAID[kind]}"
        raise BadInput(message, remedy=_taken(name, takes))


def _taken(name: str, takes: dict[str, Parameter]) -> str:
    """`wqr takes most (2)`, with what holds unless it is given."""
    if not takes:
        return f"{name} takes no options"
    return f"{name} takes " + ", ".join(
        f"{key} ({str(one.default).lower()})" for key, one in takes.items()
    )
