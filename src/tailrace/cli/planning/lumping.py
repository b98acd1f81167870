"""Several pools are taken as one: how far that leads astray.

The model has two kinds of hosts. So the strategy that is best by time × cost is estimated once more
for each pool by itself, with its own turnarounds, share and terms, and as many of the tasks as it
returns beside the others. Together they take as long as the slowest, and cost what all do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tailrace.cli.planning.amounts import seconds
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.cli.planning.inputs import Inputs
    from tailrace.cli.planning.seen import Given
    from tailrace.planning.estimate import Estimate
    from tailrace.planning.strategy import Strategy


class Apart(msgspec.Struct, frozen=True):
    pool: str
    tasks: int
    hosts: int
    returned: float
    turnaround_s: float
    makespan: float
    cost_per_task: float


class Lumping(msgspec.Struct, frozen=True):
    """The errors are of the figures of all as one, beside those of all apart."""

    pools: tuple[Apart, ...]
    makespan_error: float
    cost_error: float


def lumping(
    known: Given, inputs: Inputs, strategy: Strategy, lumped: Estimate
) -> Lumping | None:  # fmt: skip
    """None: there is one pool, or of some too little is known."""
    if not known.parts or known.tasks is None:
        return None
    try:
        pools = tuple(_apart(known, inputs, strategy))
    except BadInput:  # one of them alone could never finish by that strategy
        return None
    tasks = sum(one.tasks for one in pools)
    cost = sum(one.cost_per_task * one.tasks for one in pools) / tasks
    makespan = max(one.makespan for one in pools)
    return Lumping(
        pools,
        _error(lumped.makespan.mean, makespan),
        _error(lumped.cost_per_task.mean, cost),
    )


def _error(lumped: float, apart: float) -> float:
    return (lumped - apart) / apart if apart else 0.0


def _apart(known: Given, inputs: Inputs, strategy: Strategy) -> Iterator[Apart]:
    from tailrace.planning import estimate

    said = replace(inputs, tasks=None, unreliable=None, reliability=None, t_ur=None)
    together = sum(part.given.hosts or 0 for part in known.parts)
    for part in known.parts:
        tasks = max(round((known.tasks or 0) * part.share), 1)
        hosts = max(round((known.hosts or 0) * (part.given.hosts or 0) / together), 1)
        given = replace(part.given.with_said(said), tasks=tasks, hosts=hosts)
        setting = given.setting()
        samples = estimate.sample(setting, [strategy], inputs.repetitions, inputs.seed)
        found = samples.estimates()[0]
        yield Apart(
            part.pool, tasks, setting.cheap.hosts, float(given.share[-1]), given.t_ur,
            found.makespan.mean, found.cost_per_task.mean,
        )  # fmt: skip


def told(found: Lumping, strategy: Strategy) -> Iterator[str]:
    yield f"{len(found.pools)} pools are taken as one. By {strategy} each apart would come to:"
    for one in found.pools:
        yield (
            f"  {one.pool}: {one.tasks:,} tasks on {one.hosts:,} hosts ({one.returned:.1%} return, "
            f"after {seconds(one.turnaround_s)} s): {seconds(one.makespan)} s, "
            f"{one.cost_per_task:.3f} cents a task"
        )
    yield (
        f"  taken as one they are said to take {_beside(found.makespan_error, 'longer', 'shorter')}"
        f" and to cost {_beside(found.cost_error, 'more', 'less')} than so"
    )


def _beside(error: float, more: str, less: str) -> str:
    return f"{abs(error):.1%} {more if error >= 0 else less}"
