"""The keys of a bag file that say who runs its tasks; in bag files and in scenarios alike.

* `priority`: bags with a higher one are served first. `weight`: the bag's share beside others of
  its owner.
* `max_running`: so many tasks are under way at a time. `tasks_per_host`: so many on one host.
* `pools`, `hosts`: where its tasks may run: names, `"node0*"`, or `"!spot"` for all but one.
* `max_attempts`: so many attempts of a task at once. `timeout`: of an attempt.
* `[policy]`: expressions, see the room `policy`; `tail_below`, `tail_stays`: when the bag is in its
  tail; `losers`: whether attempts end when their task has its result from another.

`timeout`, `max_running` and names of pools the scheduler knows by itself; all else is a
`BagPolicy`. Whether that can be believed: see `policysaid`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tailrace.bag import patterns
from tailrace.bag.policy import EXPRESSIONS, BagPolicy, Plain, Policy
from tailrace.bag.tables import Table
from tailrace.errors import BadInput
from tailrace.quantities import duration_us

MOST = 10**15  # of a priority, or a weight
LOSERS = END, RUN_ON = "end", "run on"


def read_policies(table: Table) -> dict[str, Any]:
    """As fields of a BagSpec, or of Terms."""
    plain, own = take_plain(table), table.table("policy")
    native = patterns.are_names(plain.pools)
    beside = Plain(
        priority=plain.priority,
        tasks_per_host=plain.tasks_per_host,
        pools=() if native else plain.pools,
        hosts=plain.hosts,
        max_attempts=plain.max_attempts,
    )
    policy = BagPolicy(Policy(**expressions(own, EXPRESSIONS)), beside)
    tail = {"tail_below": count(own, "tail_below"), "tail_stays": own.take("tail_stays", bool)}
    losers = own.choice("losers", LOSERS, END)
    own.finish()
    if tail["tail_stays"] and tail["tail_below"] is None:
        remedy = "say when it begins: tail_below = 100"
        raise own.bad("tail_stays", "a tail that stays needs its beginning", remedy)
    return {
        "timeout_us": plain.timeout_us,
        "most_running": plain.max_running,
        "pools": plain.pools if native else (),
        "policy": None if policy == BagPolicy() else policy,
        "weight": _weight(table),
        "losers_run_on": losers == RUN_ON,
        **{key: value for key, value in tail.items() if value is not None},
    }


def take_plain(table: Table) -> Plain:
    return Plain(
        priority=_priority(table),
        max_running=count(table, "max_running"),
        tasks_per_host=count(table, "tasks_per_host"),
        pools=_names(table, "pools", '["local"]'),
        hosts=_names(table, "hosts", '"node0*"'),
        max_attempts=count(table, "max_attempts"),
        timeout_us=table.read("timeout", _some_time, None, example='"2h"'),
    )


def expressions(table: Table, words: dict[str, str]) -> dict[str, str | None]:
    """By field, as they are written; `words`: the field of each name."""
    return {field: _text(table, name) for name, field in words.items()}


def _text(table: Table, key: str) -> str | None:
    """An expression in quotes; numbers and booleans need none."""
    wanted = "an expression in quotes"
    given = table.take(key, str, bool, int, Decimal, wanted=wanted, example="'…'")
    if given is None or isinstance(given, str):
        return given
    return str(given).lower()


def _priority(table: Table) -> int | float | None:
    given = table.take("priority", int, Decimal)
    if given is None:
        return None
    if not abs(float(given)) < MOST:  # also NaN
        raise table.bad("priority", f"priority is {given}", "write a smaller number")
    return given if isinstance(given, int) else float(given)


def _weight(table: Table) -> float:
    given = table.take("weight", int, Decimal)
    if given is None:
        return 1.0
    if not 0 < float(given) < MOST:
        raise table.bad("weight", f"weight is {given}", "it is a number above 0, 1 unless given")
    return float(given)


def count(table: Table, key: str) -> int | None:
    value = table.take(key, int)
    if value is not None and not 1 <= value < 2**31:
        raise table.bad(key, f"{table.label(key)} is {value}", "it is a whole number from 1")
    return value  # type: ignore[no-any-return]


def _names(table: Table, key: str, example: str) -> tuple[str, ...]:
    if isinstance(table.peek(key), dict):
        message = f"{key} is a table, but should be a list of names"
        raise table.bad(key, message, f"write {key} = {example}; tailrace.toml describes pools")
    given = table.take(key, list, str, wanted="a name or a list of names", example=example)
    names = tuple([given] if isinstance(given, str) else given or [])
    with table.origin.at(*table.path, key):
        if not all(isinstance(name, str) for name in names):
            raise BadInput(f"{key} is not a list of names", remedy=f"write {key} = {example}")
        for name in names:
            patterns.check_pattern(name)
    return names


def _some_time(written: Any) -> int | None:
    found = duration_us(written)
    if found <= 0:
        raise ValueError(f"{written} leaves nothing; leave the key out for no limit")
    return found
