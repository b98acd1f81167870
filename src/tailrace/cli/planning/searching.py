"""The strategies that are looked at, by the name of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.cli.planning.compiling import sampled

if TYPE_CHECKING:
    from tailrace.planning.frontier import Frontier
    from tailrace.planning.setting import Setting


def searched(
    setting: Setting, grid: str, t_ur_s: float, mr_max: float, repetitions: int, seed: int
) -> Frontier:  # fmt: skip
    from tailrace.planning import grids
    from tailrace.planning.frontier import frontier
    from tailrace.planning.search import adaptive

    if grid == "adaptive":
        first = grids.paper(t_ur_s, mr_max)
        return adaptive(
            first, lambda some: sampled(setting, some, repetitions, seed), t_ur_s, mr_max
        )
    strategies = grids.fine(t_ur_s, mr_max) if grid == "fine" else grids.paper(t_ur_s, mr_max)
    return frontier(sampled(setting, strategies, repetitions, seed))
