"""Budgets of a scenario that hold back nothing, as nothing has a price: told, as in a real run.

One in another unit than what is paid is refused when the scenario is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tailrace.pools.budget import paid_in
from tailrace.quantities import show_money
from tailrace.simulation.scenario import Scenario

REMEDY = 'lease machines at a price (max = 10, price = "0.10 {}/h"), or leave the budget out'


def unpriced(scenarios: Iterable[Scenario]) -> list[str]:
    """A sentence for each such budget, once."""
    return list(dict.fromkeys(told for one in scenarios for told in _of(one)))


def _of(scenario: Scenario) -> Iterator[str]:
    for terms in (tasks.terms for tasks in scenario.bags):
        pools = [pool.terms for pool in scenario.pools]
        may = [pool for pool in pools if not terms.pools or pool.name in terms.pools]
        if paid_in(pool.billing for pool in may):
            continue
        for unit, micros in terms.budget.items():
            told = f"bag {terms.name} runs on machines that cost nothing, so that its budget of"
            yield f"{told} {show_money(unit, micros)} does not bind; {REMEDY.format(unit)}"
