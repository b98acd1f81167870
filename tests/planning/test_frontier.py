"""Which strategies are efficient, which is chosen, and what a closer search finds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.settings import T_UR, paper

from tailrace.errors import BadInput, Infeasible
from tailrace.planning import decision, grids
from tailrace.planning.estimate import NAMES, Estimate, Samples, Spread, sample
from tailrace.planning.frontier import Frontier, Point, efficient, frontier
from tailrace.planning.search import adaptive
from tailrace.planning.strategy import Strategy

PLANE = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=40)


def of_plane(plane: list[tuple[int, int]]) -> Frontier:
    """Each strategy with this tail makespan and cost."""
    strategies = tuple(Strategy(3, float(n), 1000.0, 0.1) for n in range(len(plane)))
    times, costs = (np.array([column] * 2, dtype=float) for column in zip(*plane, strict=True))
    of = dict.fromkeys(NAMES, times) | {"cost_per_task": costs}
    return frontier(Samples(strategies, of))


def place(point: Point) -> tuple[float, float]:
    return point.estimate.tail_makespan.mean, point.estimate.cost_per_task.mean


@given(PLANE)
def test_efficient_is_what_no_other_dominates(plane: list[tuple[int, int]]) -> None:
    kept = efficient(*np.array(plane, dtype=float).T)
    for number, (time, cost) in enumerate(plane):
        dominated = any(
            other_time <= time and other_cost <= cost and (other_time, other_cost) != (time, cost)
            for other_time, other_cost in plane
        )
        first = plane.index((time, cost)) == number
        assert kept[number] == (first and not dominated)


MONOTONE: list[Callable[[float, float], Callable[[float, float], float]]] = [
    lambda a, b: lambda time, cost: a * time + b * cost,
    lambda a, b: lambda time, cost: time**a * cost**b,
    lambda a, b: lambda time, cost: max(a * time, b * cost),
    lambda a, b: lambda time, cost: (time > 6 * a) * 100 + cost,
]


@given(PLANE, st.sampled_from(MONOTONE), st.floats(0, 3), st.floats(0, 3))
def test_the_best_of_all_for_a_monotone_utility_is_on_the_frontier(
    plane: list[tuple[int, int]], kind: Callable[..., Callable[..., float]], a: float, b: float
) -> None:
    found, utility = of_plane(plane), kind(a, b)
    best = min(utility(*place(one)) for one in found.points)
    assert min(utility(*place(one)) for one in found.efficient()) == best
    assert decision.by_utility(found, lambda one: utility(*place(one)), "it").warning == ""


def test_a_utility_that_rises_where_time_falls_is_warned_of() -> None:
    found = of_plane([(1, 1), (5, 5)])
    chosen = decision.by_utility(found, lambda one: -one.estimate.tail_makespan.mean, "0 - tail")
    assert place(chosen.point) == (1, 1)
    assert "does not always fall" in chosen.warning


def test_each_preference_has_its_best() -> None:
    found = of_plane([(10, 10), (2, 30), (40, 1), (15, 3), (50, 50)])
    assert place(decision.prefer(found, "makespan")) == (2, 30)
    assert place(decision.prefer(found, "cost")) == (40, 1)
    assert place(decision.prefer(found, "product")) == (40, 1)
    assert place(decision.within_budget(found, 9.0)) == (15, 3)
    assert place(decision.within_deadline(found, 12.0)) == (10, 10)
    with pytest.raises(BadInput, match="'speed'"):
        decision.prefer(found, "speed")


def test_the_nearest_is_named_where_nothing_will_do() -> None:
    found = of_plane([(10, 10), (2, 30)])
    with pytest.raises(Infeasible, match=r"9 cents(.|\n)*10 cents a task"):
        decision.within_budget(found, 9.0)
    with pytest.raises(Infeasible, match=r"1 s(.|\n)*with 2 s"):
        decision.within_deadline(found, 1.0)


def test_the_grid_of_the_paper_has_420_strategies() -> None:
    found = grids.paper(T_UR, 0.1)
    assert len(found) == len(dict.fromkeys(found)) == 420
    assert all(0 <= one.t_s <= one.d_s <= 4 * T_UR for one in found)
    assert sorted({one.mr for one in found}) == [0.02, 0.04, 0.06, 0.08, 0.1]
    assert Strategy(3, T_UR, 2 * T_UR, 0.02) in found


@pytest.mark.parametrize(("mr_max", "count"), [(0.01, 1), (0.02, 1), (0.3, 15), (0.5, 25), (9, 25)])
def test_ratios_end_with_the_most(mr_max: float, count: int) -> None:
    found = grids.ratios(mr_max, grids.STEP)
    assert len(found) == count
    assert found[-1] == mr_max and sorted(found) == found and found[0] > 0


def test_doubt_grows_with_the_spread_of_the_repetitions() -> None:
    """The same means: told apart within repetitions, or not at all."""
    strategies = (Strategy(3, 0.0, 1.0, 0.1), Strategy(3, 1.0, 1.0, 0.1))

    def sure(second: list[float]) -> bool:
        times = np.array([[10.0, 20.0, 30.0, 40.0], second]).T
        of = dict.fromkeys(NAMES, times) | {"cost_per_task": np.full((4, 2), 5.0)}
        return frontier(Samples(strategies, of)).points[1].sure

    assert sure([10.9, 21.0, 31.1, 41.0])
    assert not sure([41.0, 31.1, 21.0, 10.9])


def test_a_closer_search_finds_all_that_the_grid_finds_and_more() -> None:
    setting, first = paper(), grids.paper(T_UR, 0.1)
    coarse = frontier(sample(setting, first, 20))
    fine = adaptive(first, lambda some: sample(setting, some, 20), T_UR, 0.1)
    assert len(fine.points) > len(coarse.points)
    for one in coarse.efficient():
        time, cost = place(one)
        assert any(t <= time and c <= cost for t, c in map(place, fine.efficient()))
    gain = [decision.prefer(one, "product") for one in (coarse, fine)]
    assert np.prod(place(gain[1])) < np.prod(place(gain[0]))


@pytest.mark.parametrize("name", decision.UTILITIES)
def test_what_looks_promising_at_first_holds_the_best_of_a_long_look(name: str) -> None:
    setting, grid = paper(), grids.paper(T_UR, 0.1)
    promising = frontier(sample(setting, grid, 10)).promising()
    assert len(promising) < len(grid) / 4
    chosen = [
        decision.prefer(frontier(sample(setting, some, 100)), name).strategy
        for some in (promising, grid)
    ]
    ours, best = frontier(sample(setting, chosen, 400, seed=7)).points
    utility = decision.UTILITIES[name]
    assert utility(ours) <= 1.03 * utility(best)


def test_more_repetitions_do_not_change_the_first() -> None:
    few = sample(paper(), [Strategy(3, 0.0, T_UR, 0.1)], 5).of["makespan"]
    many = sample(paper(), [Strategy(3, 0.0, T_UR, 0.1)], 50).of["makespan"]
    assert few[:, 0].tolist() == many[:5, 0].tolist()


def test_estimates_are_means_errors_and_quantiles() -> None:
    samples = sample(paper(), [Strategy(3, 0.0, T_UR, 0.1)], 40)
    found: Estimate = samples.estimates()[0]
    values = samples.of["makespan"][:, 0]
    assert found.makespan == Spread(
        pytest.approx(values.mean()), pytest.approx(values.std(ddof=1) / np.sqrt(40)),
        pytest.approx(np.quantile(values, 0.05)), pytest.approx(np.quantile(values, 0.95)),
    )  # fmt: skip


@pytest.mark.parametrize(("dear", "cheap"), [(2, 3), (7, 100), (5, 6), (1, 50)])
def test_a_grid_needs_no_more_reliable_hosts_than_there_are(dear: int, cheap: int) -> None:
    most = max(one.dear_hosts(cheap) for one in grids.paper(10.0, dear / cheap))
    assert most == dear
