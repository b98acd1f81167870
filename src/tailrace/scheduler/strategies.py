"""The strategies by name. A user's package may add its own: the world that loads it says so here
before the scheduler begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tailrace.bag.terms import Strategy
from tailrace.errors import BadInput
from tailrace.scheduler.matching.fastest import Fastest, LongestToFastest, ShortestToFastest
from tailrace.scheduler.matching.fcfs import FirstCome, RandomMachine
from tailrace.scheduler.matching.matching import Matching
from tailrace.scheduler.replication.ntdmr import NTDMr
from tailrace.scheduler.replication.replication import Replication
from tailrace.scheduler.replication.wqr import WorkQueueWithReplication
from tailrace.scheduler.state import Bag

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
}


def matching(strategy: Strategy) -> Matching:
    return _made("matching", MATCHING, strategy)  # type: ignore[no-any-return]


def replication(strategy: Strategy) -> Replication:
    return _made("replication", REPLICATION, strategy)  # type: ignore[no-any-return]


def equip(bag: Bag) -> None:
    bag.matching = matching(bag.terms.matching)
    if bag.terms.replication is not None:
        bag.replication = replication(bag.terms.replication)


def _made(family: str, known: dict[str, Callable[..., Any]], strategy: Strategy) -> Any:
    make = known.get(strategy.name)
    if make is None:
        raise BadInput(
            f"there is no {family} strategy {strategy.name!r}",
            remedy=f"it is one of: {', '.join(sorted(known))}",
        )
    try:
        return make(**strategy.options)
    except TypeError as error:
        raise BadInput(f"{family} strategy {strategy.name}: {error}") from None
