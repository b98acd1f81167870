"""Which machines stay, where a policy says which are asked for.

The policy of a bag may look at what its leases themselves change: how many machines a pool has, how
much money is left. If each answer held for those that are there, three machines of "fewer than
three" would all be given back, and bought again at once. So one stays if it would be asked for were
it not there, nor any that has less right to stay: those that work have the most, then the oldest.
"""

from __future__ import annotations

from tailrace.pools.terms import Pool
from tailrace.scheduler import asking, facts, fleet
from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import STANDING, LeaseRow
from tailrace.scheduler.rules import POOL
from tailrace.scheduler.state import Bag, State


def stay(state: State, bag: Bag, pool: Pool, rows: list[LeaseRow]) -> list[LeaseRow]:
    """Of these leases of the bag, which stand in this pool."""
    if bag.rules is None:
        return rows
    if not _counts_machines(bag):
        return rows if asking.would_ask(state, bag, pool) else []
    but = _without_each(state, bag, pool)
    return [row for row in rows if asking.would_ask(state, bag, pool, but[row.lease])]


def _counts_machines(bag: Bag) -> bool:
    asked = None if bag.rules is None else bag.rules.policy.grid_policy
    return asked is not None and facts.MACHINES in asked.keys[POOL]


def _without_each(state: State, bag: Bag, pool: Pool) -> dict[int, int]:
    """By lease: how many are not there when it is judged. What ends is as good as gone."""
    rows = [state.leases[lease] for lease in bag.leases if state.leases[lease].pool == pool.name]
    ends = sum(row.state is LeaseState.ENDING for row in rows)
    there = [row for row in rows if row.state in STANDING]
    there.sort(key=lambda row: (not fleet.busy(state, row), row.lease))
    return {row.lease: ends + len(there) - place for place, row in enumerate(there)}
