"""The strategies that are looked at, by the name of a grid or a search: `--grid`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tailrace.cli.planning import added
from tailrace.cli.planning.compiling import sampled
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.planning.estimate import Samples
    from tailrace.planning.frontier import Frontier
    from tailrace.planning.search import Sampler
    from tailrace.planning.setting import Setting
    from tailrace.planning.strategy import Strategy

    Admits = Callable[[Strategy], bool]
    Search = Callable[[Sampler, float, float, Admits], Frontier]


def search_of(name: str) -> Search:
    if name in SEARCHES:
        return SEARCHES[name]
    theirs: Search = added.load(added.GRID, name, SEARCHES)
    return _guarded(name, theirs)


def searched(
    search: Search, setting: Setting, t_ur_s: float, mr_max: float, repetitions: int, seed: int
) -> Frontier:  # fmt: skip
    def sampler(some: Sequence[Strategy]) -> Samples:
        return sampled(setting, some, repetitions, seed)

    return search(sampler, t_ur_s, mr_max, setting.admits)


def _guarded(name: str, theirs: Search) -> Search:
    """The code is not ours: what goes wrong in it is told with its name."""
    from tailrace.planning.frontier import Frontier

    def search(sampler: Sampler, t_ur_s: float, mr_max: float, admits: Admits) -> Frontier:
        try:
            found = theirs(sampler, t_ur_s, mr_max, admits)
        except BadInput:
            raise
        except Exception as fault:
            raise BadInput(f"--grid {name}: {type(fault).__name__}: {fault}") from fault
        if isinstance(found, Frontier) and found.efficient():
            return found
        remedy = "Let it return frontier(samples), of tailrace.planning.frontier."
        raise BadInput(f"--grid {name} found no frontier", remedy=remedy)

    return search


# ours: given what estimates strategies, T_ur, the most Mr, and what tells which could ever end


def _paper(sampler: Sampler, t_ur_s: float, mr_max: float, admits: Admits) -> Frontier:
    from tailrace.planning import grids
    from tailrace.planning.frontier import frontier

    return frontier(sampler(grids.paper(t_ur_s, mr_max)))


def _fine(sampler: Sampler, t_ur_s: float, mr_max: float, admits: Admits) -> Frontier:
    from tailrace.planning import grids
    from tailrace.planning.frontier import frontier

    return frontier(sampler(_ending(grids.fine(t_ur_s, mr_max), admits)))


def _adaptive(sampler: Sampler, t_ur_s: float, mr_max: float, admits: Admits) -> Frontier:
    from tailrace.planning import grids
    from tailrace.planning.search import adaptive

    first = [*grids.paper(t_ur_s, mr_max), *_ending(grids.endless(5, t_ur_s), admits)]
    return adaptive(first, sampler, t_ur_s, mr_max, admits)


def _ending(some: Sequence[Strategy], admits: Admits) -> list[Strategy]:
    """Where hardly anything returns, those that need no reliable host never end."""
    return [one for one in some if one.n is not None or admits(one)]


SEARCHES: dict[str, Search] = {"paper": _paper, "fine": _fine, "adaptive": _adaptive}
