"""Whether the tasks of a scenario can end at all on machines that live as long as it says."""

from __future__ import annotations

import math

import numpy as np

from tailrace.bag.tables import Table
from tailrace.errors import BadInput
from tailrace.quantities import show_duration
from tailrace.simulation.draws import microseconds
from tailrace.simulation.laws import Law
from tailrace.simulation.scenario import Machines, Stopping, Tasks
from tailrace.simulation.turns import LEAST, MOST, check_turns, in_us
from tailrace.simulation.workload import Given

MANY = 1_000_000  # sendings: nobody waits for so many that are all in vain


def check_lives(table: Table, machines: Machines) -> None:
    life, owner = machines.failures, machines.owner
    if life is not None:
        check_turns(table, "up", "down", life.here, life.away)
    if owner is not None:
        check_turns(table, "owner_away", "owner_there", owner.here, owner.away)
    if machines.departs is not None and not in_us(machines.departs, MOST):
        raise table.bad("departs", "it departs when it comes", "give it some time, or leave it out")
    lives = _lives_us(machines)
    if machines.departs is not None:
        lives.append(in_us(machines.departs, MOST) - (machines.notice_us or 0))
    if machines.notice_us is not None and any(life_us <= 0 for life_us in lives):
        message = "a machine that is told so early takes no work: it is never up for longer"
        remedy = "give a notice shorter than its life, or leave it out"
        raise table.bad("notice", message, remedy)


def check_reach(table: Table, tasks: Tasks, pools: tuple[Machines, ...], stop: Stopping) -> None:
    """A task that is longer than its machines live is sent again as often as its bag allows; one
    that was taken away with notice, without end."""
    if stop.surely or tasks.files.saving is not None:
        return
    names = tasks.terms.pools or tuple(pool.terms.name for pool in pools)
    may = [pool for pool in pools if pool.terms.name in names and (pool.count or pool.terms.max)]
    if not all(_outlives(tasks, pool) for pool in may):
        return
    if any(map(_gives_back, may)) or tasks.terms.count * (tasks.terms.retries.lost + 1) > MANY:
        raise _never_ends(table, tasks, may)


def _gives_back(pool: Machines) -> bool:
    """Again and again, what its machines do not get done before they go."""
    return pool.notice_us is not None and bool(pool.failures or pool.owner or pool.owner_hours)


def _outlives(tasks: Tasks, pool: Machines) -> bool:
    """Each of the tasks each machine."""
    life_us = _longest_life_us(pool)
    return life_us is not None and pool.pace is None and shortest_us(tasks, pool) > life_us


def _longest_life_us(pool: Machines) -> int | None:
    """None: without end."""
    return min(_lives_us(pool), default=None)


def _lives_us(pool: Machines) -> list[int]:
    """At the longest, by each of its causes. Work that is taken away with notice ends with that."""
    laws = [life.here for life in (pool.failures, pool.owner) if life is not None]
    if pool.departs is not None and not pool.terms.max:
        laws.append(pool.departs)
    longest = [in_us(law, MOST) for law in laws]
    if pool.owner_hours is not None:
        longest.append(pool.owner_hours.longest_free_us)
    return [life_us - (pool.notice_us or 0) for life_us in longest]


def shortest_us(tasks: Tasks, pool: Machines) -> int:
    """Of all tasks of the bag, on the fastest of the machines."""
    kind, laws = pool.type, [tasks.failing.lengths] if tasks.failing.lengths else []
    given = tasks.lengths
    if isinstance(given, Given):
        known = np.array(given.seconds[: tasks.terms.count])
        lengths = known[~np.isnan(known)].tolist()
        laws += [given.others] if given.others else []
    else:
        lengths, laws = [], [*laws, given]
    shortest = min([*lengths, *(_value(law, LEAST) for law in laws)])
    line = max(kind.slope * shortest + _value(kind.offset, LEAST), 0.0)
    least = (_value(law, LEAST) for law in (kind.noise, kind.spread, pool.luck))
    factor = math.prod(least) / _value(pool.speed, MOST)
    return int(microseconds(np.array([line * factor])).item())


def _value(law: Law, u: float) -> float:
    return float(law.quantile(np.array([u])).item())


def _never_ends(table: Table, tasks: Tasks, pools: list[Machines]) -> BadInput:
    lives = {pool.terms.name: _longest_life_us(pool) or 0 for pool in pools}
    name, life_us = max(lives.items(), key=lambda one: one[1])
    least_us = min(shortest_us(tasks, pool) for pool in pools)
    message = (f"no task of bag {tasks.terms.name} can end: the shortest takes "
               f"{show_duration(least_us)}, and no machine is up for longer than "
               f"{show_duration(life_us)} (pool {name})")  # fmt: skip
    remedy = "give the bag shorter tasks or a checkpoint, or the scenario a stop.time"
    return table.origin.bad(table.path, message, remedy)
