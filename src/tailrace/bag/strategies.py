"""The strategies a bag names, in bag files and in scenarios alike.

* `matching`: who gets the next task: a name, or `{strategy = "…", …}` with its options.
* `replication`: when a task that is out gets another attempt; written in the same way.
* `round`: tasks are matched only every so often.

Which strategies there are, the scheduler knows, and this room does not know the scheduler. So
whoever reads a bag brings an `Admit` along, and a name that means nothing is told with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tailrace.bag import policysaid
from tailrace.bag.tables import Origin, Table
from tailrace.bag.terms import FIRST_COME, Strategy, Terms
from tailrace.errors import BadInput
from tailrace.quantities import duration_us, show_duration

if TYPE_CHECKING:
    from tailrace.bag.spec import BagSpec

FAMILIES = ("matching", "replication")
EXAMPLES = {
    "matching": '{strategy = "fjbcr"}',
    "replication": '{strategy = "wqr", most = 2}',
}
PLANNED = "planned"
BOUNDS = {"budget": '"20 USD"', "deadline": '"6h"'}  # what a plan may prefer to keep, as written
FIRST = {"longest": "-size", "shortest": "size"}  # which task goes first, and an order that says so

# Family and strategy; says in which order it wants the tasks (listed, longest or shortest first),
# and raises BadInput where there is no such strategy, or it does not take such options.
Admit = Callable[[str, Strategy], str]


def anything(family: str, strategy: Strategy) -> str:
    """For those who only look at a bag and never run it."""
    return "listed"


def read_strategies(table: Table) -> dict[str, Any]:
    """`matching` and `replication`, where they are given, and `round_us`."""
    found: dict[str, Any] = {"round_us": table.read("round", _some_time, 0, example='"5m"')}
    for family in FAMILIES:
        strategy = _strategy(table, family)
        if strategy is not None:
            found[family] = strategy
    return found


def admit_strategies(found: dict[str, Any], table: Table, admit: Admit) -> None:
    for family in FAMILIES:
        if family in found:
            with table.origin.at(*table.path, family):
                admit(family, found[family])
    if "replication" in found:
        with table.origin.at(*table.path, "replication"):
            bounds = {"budget": found.get("budget"), "deadline": found.get("deadline_us")}
            _check_wish(found["replication"], bounds)


def check_strategies(spec: BagSpec, origin: Origin, admit: Admit) -> None:
    """What else must hold in a bag that really runs."""
    with origin.at("matching"):
        first = admit("matching", spec.matching)
    if first in FIRST and spec.order in ("listed", "shuffled"):
        raise origin.bad(
            ("matching",),
            f"{spec.matching.name} sends the {first} task first, but nobody knows how long each is",
            f'name a parameter that tells: order = "{FIRST[first]}"',
        )
    if spec.replication is None:
        return
    with origin.at("replication"):
        admit("replication", spec.replication)
        _check_wish(spec.replication, {"budget": spec.budget, "deadline": spec.deadline_us})
    if not spec.repeatable:
        raise origin.bad(
            ("replication",),
            f"{spec.replication.name} runs a task twice at once, but the bag is not repeatable",
            "if two attempts of a task do each other no harm, say so: repeatable = true, or "
            '--repeatable; with files = "staged" each has a folder of its own',
        )


def _check_wish(strategy: Strategy, bounds: Mapping[str, object]) -> None:
    """What a plan is to keep must be known."""
    wish = strategy.options.get("prefer") if strategy.name == PLANNED else None
    if wish not in BOUNDS or bounds.get(str(wish)):
        return
    raise BadInput(
        f"what is best within the {wish} is preferred, and the bag has no {wish}",
        remedy=f"say which: {wish} = {BOUNDS[str(wish)]}, or --{wish} {BOUNDS[str(wish)]}; or "
        "prefer product, makespan or cost",
    )


def _strategy(table: Table, family: str) -> Strategy | None:
    given = table.take(family, str, dict)
    if given is None or isinstance(given, str):
        return None if given is None else Strategy(given)
    options = dict(given)
    name = options.pop("strategy", None)
    if not isinstance(name, str):
        example = f"{family} = {EXAMPLES[family]}"
        raise table.bad(family, f"{family} names no strategy", f"write {example}")
    return Strategy(name, {key: _plain(table, family, key, options[key]) for key in options})


def _plain(table: Table, family: str, key: str, value: Any) -> int | float | str | bool:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (int, float, str)):
        return value
    message = f"{family}.{key} is neither a number nor a text"
    raise table.origin.bad((*table.path, family, key), message, f"write {EXAMPLES[family]}")


def _some_time(written: Any) -> int:
    found = duration_us(written)
    if not found:
        raise BadInput(
            f"round: {written} is no time at all", remedy="leave it out to match at once"
        )
    return found


def describe(strategy: Strategy | None) -> str:
    """`wqr, most 3`; `none`."""
    if strategy is None:
        return "none"
    options = (f"{key} {str(value).lower()}" for key, value in strategy.options.items())
    return ", ".join([strategy.name, *options])


def unusual(terms: Terms) -> str:
    """What a bag does otherwise than most: `replication wqr, most 3`; nothing for a plain one."""
    found = [] if terms.matching == FIRST_COME else [f"matching {describe(terms.matching)}"]
    if terms.replication is not None:
        found.append(f"replication {describe(terms.replication)}")
    if terms.round_us:
        found.append(f"a round every {show_duration(terms.round_us)}")
    policy = policysaid.describe(terms)
    return "; ".join([*found, *([f"policy {policy}"] if policy else [])])
