"""The strategies that are looked at, by the name of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailrace.cli.planning.compiling import sampled

if TYPE_CHECKING:
    from tailrace.planning.frontier import Frontier
    from tailrace.planning.setting import Setting
    from tailrace.planning.strategy import Strategy


def searched(
    setting: Setting, grid: str, t_ur_s: float, mr_max: float, repetitions: int, seed: int
) -> Frontier:  # fmt: skip
    from tailrace.planning import grids
    from tailrace.planning.frontier import frontier
    from tailrace.planning.search import adaptive

    if grid == "paper":
        return frontier(sampled(setting, grids.paper(t_ur_s, mr_max), repetitions, seed))
    if grid == "fine":
        return frontier(sampled(setting, _fine(setting, t_ur_s, mr_max), repetitions, seed))
    first = [*grids.paper(t_ur_s, mr_max), *_endless(setting, grids.endless(5, t_ur_s))]
    return adaptive(
        first, lambda some: sampled(setting, some, repetitions, seed), t_ur_s, mr_max,
        setting.admits,
    )  # fmt: skip


def _fine(setting: Setting, t_ur_s: float, mr_max: float) -> list[Strategy]:
    from tailrace.planning import grids

    found = grids.fine(t_ur_s, mr_max)
    return [one for one in found if one.n is not None] + _endless(setting, found)


def _endless(setting: Setting, some: Sequence[Strategy]) -> list[Strategy]:
    """Those that need no reliable host, and yet end: where hardly anything returns, none does."""
    return [one for one in some if one.n is None and setting.admits(one)]
