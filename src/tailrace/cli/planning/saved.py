"""A frontier in a file: made once, chosen from by whoever likes, today or next week."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tailrace.cli.planning.replication import words
from tailrace.errors import BadInput
from tailrace.planning.frontier import Frontier

if TYPE_CHECKING:
    from tailrace.planning.frontier import Point
    from tailrace.planning.strategy import Strategy

FORMAT = 1


class Saved(msgspec.Struct, frozen=True):
    tailrace: str  # that this is a frontier
    format: int
    tasks: int
    unreliable: int
    frontier: Frontier


def save(path: Path, frontier: Frontier, tasks: int, unreliable: int) -> None:
    saved = Saved("frontier", FORMAT, tasks, unreliable, frontier)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(saved)) + b"\n")


def load(path: Path) -> Saved:
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=Saved)
    except OSError as fault:
        told = (fault.strerror or "").lower()
        remedy = "Make one: tailrace plan frontier … -o F.json"
        raise BadInput(f"it cannot be read: {told}", file=str(path), remedy=remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise _not_ours(path, str(fault)) from None
    if saved.tailrace != "frontier" or saved.format != FORMAT or not saved.frontier.points:
        raise _not_ours(path, f"format {saved.format} of {saved.tailrace!r}")
    _check(path, saved)
    return saved


def _check(path: Path, saved: Saved) -> None:
    """What would have been so as it was made, and may have been changed by hand."""
    for name, count in (("tasks", saved.tasks), ("unreliable", saved.unreliable)):
        if count < 1:
            raise _not_ours(path, f"$.{name} is {count}, but is at least 1")
    for at, point in enumerate(saved.frontier.points):
        if not _can_be(point.strategy):
            raise _not_ours(path, f"$.frontier.points[{at}] has {point.strategy}, which cannot be")
    if not saved.frontier.efficient():
        told = "of $.frontier.points none has efficient = true, and one of them is chosen"
        raise _not_ours(path, told)


def _can_be(one: Strategy) -> bool:
    return (one.n is None or one.n >= 0) and 0 <= one.t_s <= one.d_s < math.inf and one.mr >= 0


def _not_ours(path: Path, told: str) -> BadInput:
    remedy = "Make one: tailrace plan frontier … -o F.json"
    return BadInput(f"this is no frontier: {told}", file=str(path), remedy=remedy)


def row(point: Point) -> dict[str, object]:
    """As scripts read it: means, in seconds and cents."""
    one, strategy = point.estimate, point.strategy
    return {
        "N": "inf" if strategy.n is None else strategy.n,
        "T": strategy.t_s, "D": strategy.d_s, "Mr": strategy.mr,
        "makespan": one.makespan.mean, "tail_makespan": one.tail_makespan.mean,
        "cost_per_task": one.cost_per_task.mean, "used_mr": one.used_mr.mean,
        "reliable_queue_max": one.reliable_queue_max.mean, "efficient": point.efficient,
        "sure": point.sure, "replication": words(strategy),
        "se": {"tail_makespan": one.tail_makespan.se, "cost_per_task": one.cost_per_task.se},
    }  # fmt: skip
