"""Pictures of simulations: nothing is cut off, and nothing written over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tailrace.report import experiment, style
from tailrace.report.experiment import Group, Line, Panel, Point, draw_remaining, draw_varied

NAMES = [
    "few",
    "grid (bags.docking.replication.most=2, x=y)",
    "/home/me/scenarios/of/a/long/path/grid.toml, bags.docking.replication.most=2",
    "/home/me/scenarios/" + "deep/" * 40 + "grid.toml",
]
PLACES: list[list[float | str]] = [
    [1.0, 2.0, 500.0],
    ["fcfs", "random"],
    ["exponential 1h", "weibull 0.8 2h", "lognormal 1h 30m", "uniform 1m 500m", "a" * 90, "b"],
    [f"a value of which there are many: {n}" for n in range(12)],
]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The figures, when they are saved."""
    saved: list[Any] = []

    def save(figure: Any, path: Path) -> None:
        figure.draw_without_rendering()
        saved.append(figure)

    monkeypatch.setattr(style, "save", save)
    yield saved


def check(figure: Any) -> None:
    """All that is written lies on the paper, and beside what else is."""
    paper = figure.bbox
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= paper.x0 - 1 and box.x1 <= paper.x1 + 1 and box.y1 <= paper.y1 + 1
    for ax in figure.axes:
        assert ax.get_window_extent().height > 1.5 * figure.dpi, "the legend took its room"
        assert ax.get_window_extent().y1 <= box.y0 + 1
        ticks = [tick for tick in ax.get_xticklabels() if tick.get_text()]
        boxes = [tick.get_window_extent() for tick in ticks]
        upright = [box for box, tick in zip(boxes, ticks, strict=True) if not tick.get_rotation()]
        assert all(left.x1 < right.x0 for left, right in pairwise(upright))
        assert all(box.x0 >= paper.x0 - 1 for box in boxes)


@pytest.mark.parametrize("many", [1, 3, 12])
@pytest.mark.parametrize("name", NAMES, ids=len)
def test_a_legend_is_whole_and_takes_nothing_from_the_axes(
    drawn: list[Any], name: str, many: int
) -> None:
    curve = [(0, 100), (3_600_000_000, 50), (864_000_000_000, 0)]
    draw_remaining([Group(f"{n}{name}{n}", [curve] * 3) for n in range(many)], Path("r.png"))
    check(drawn[0])
    lines = [Line(f"{n}{name}{n}", [Point(1.0, 9.0, 1.0), Point(4.0, 2.0, 0)]) for n in range(many)]
    draw_varied(
        [Panel("makespan_s", lines), Panel("cost_USD", lines)], "pools.p.max", Path("v.png")
    )
    check(drawn[1])
    labels = [text.get_text() for text in drawn[1].legends[0].get_texts()]
    assert len(set(labels)) == many, "they are told apart, shortened or not"


@pytest.mark.parametrize("places", PLACES, ids=len)
def test_names_below_an_axis_do_not_run_into_each_other(
    drawn: list[Any], places: list[float | str]
) -> None:
    points = [Point(place, 3600.0, 60.0) for place in places]
    unknown = Panel("cost_USD", [Line("mean", [])])
    draw_varied([Panel("makespan_s", [Line("mean", points)]), unknown], "pools.p.up", Path("v.png"))
    check(drawn[0])


def test_no_two_of_twelve_lines_look_alike(drawn: list[Any]) -> None:
    curve = [(0, 100), (3_600_000_000, 0)]
    draw_remaining([Group(f"{n}", [curve]) for n in range(12)], Path("r.png"))
    looks = {(one.get_color(), one.get_linestyle()) for one in drawn[0].axes[0].lines}
    assert len(looks) == 12 > len(style.LINES)
    assert experiment.STYLES[0] == "-"


def test_each_curve_ends_with_its_runs(drawn: list[Any]) -> None:
    """Of three runs the median's; what has failed is left standing."""
    hour = 3_600_000_000
    short = [[(0, 100), (n * hour, 20)] for n in (1, 2, 3)]
    draw_remaining([Group("short", short), Group("long", [[(0, 100), (8 * hour, 0)]])], Path("r"))
    first, second = drawn[0].axes[0].lines
    step_h = 8 / (experiment.POINTS - 1)
    assert 2 <= first.get_xdata()[-1] < 2 + step_h and first.get_ydata()[-1] == 20
    assert (second.get_xdata()[-1], second.get_ydata()[-1]) == (8, 0)


def test_the_tail_shows_what_comes_before_those_that_are_left_standing(drawn: list[Any]) -> None:
    hour = 3_600_000_000
    draw_remaining([Group("one", [[(0, 100), (hour, 60), (2 * hour, 50)]])], Path("r.png"))
    assert drawn[0].axes[1].get_ylim()[1] > 60
