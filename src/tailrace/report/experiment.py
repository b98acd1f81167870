"""Pictures of simulations: the remaining tasks of many runs; a figure against what was varied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tailrace.report import style

POINTS = 400
MOST_THIN_LINES = 60
BAND = (0.05, 0.95)
MARKS = "os^Dv"
MAGNITUDES = 40
MOST_TICKS = 8
KINDS = (".png", ".svg", ".pdf")


class Group(msgspec.Struct, frozen=True):
    """Runs of one scenario: of each, times in µs and the tasks not done from then on."""

    name: str
    curves: list[list[tuple[int, int]]]


class Point(msgspec.Struct, frozen=True):
    x: float | str
    mean: float
    half_width: float  # of its interval; 0: not known


class Line(msgspec.Struct, frozen=True):
    name: str
    points: list[Point]


class Panel(msgspec.Struct, frozen=True):
    """One figure against what was varied."""

    figure: str
    lines: list[Line]


# the remaining tasks


def draw_remaining(groups: Sequence[Group], path: Path) -> None:
    """Of one scenario beside it the last tenth, where the tail is."""
    alone = len(groups) == 1
    end_us = max(max(curve[-1][0] for group in groups for curve in group.curves), 1)
    most = max(curve[0][1] for group in groups for curve in group.curves)
    with style.drawing_file():
        figure, axes = style.new_figure(3.6, 2 if alone else 1)
        whole = axes[0] if alone else axes
        _draw_span(whole, groups, (0, end_us), most)
        if alone:
            whole.set_title("All tasks")
            few = max(10, most // 10)
            _draw_span(axes[1], groups, (_begin_of_tail(groups[0], few), end_us), few)
            axes[1].set_title(f"The last {few:,}")
        _legend(figure, whole)
        style.save(figure, path)


def _begin_of_tail(group: Group, few: int) -> int:
    """From when the first run has no more than that left."""
    return min((at for curve in group.curves for at, left in curve if left <= few), default=0)


def _draw_span(ax: Any, groups: Sequence[Group], span: tuple[int, int], most: int) -> None:
    import numpy as np

    unit = style.time_unit(span[1])
    grid = np.linspace(*span, POINTS)
    for number, group in enumerate(groups):
        _draw_group(ax, group, number, grid, grid / unit.us, alone=len(groups) == 1)
    ax.set_xlim(span[0] / unit.us, span[1] / unit.us)
    ax.set_ylim(0, most * 1.04)
    ax.set_xlabel(f"simulated time ({unit.name})")
    ax.set_ylabel("tasks not done")
    _plain_numbers(ax.yaxis)


def _draw_group(ax: Any, group: Group, number: int, grid: Any, x: Any, *, alone: bool) -> None:
    """Median, band of 90 %, and each run as a thin line where one can still tell them apart."""
    import numpy as np

    colour = style.LINES[number % len(style.LINES)]
    left = np.array([_left_at(curve, grid) for curve in group.curves])
    low, middle, high = np.quantile(left, (BAND[0], 0.5, BAND[1]), axis=0, method="inverted_cdf")
    several = len(left) > 1
    if alone and several and len(left) <= MOST_THIN_LINES:
        ax.plot(x, left.T, color=style.GREY, linewidth=0.5, alpha=0.5)
    if several:
        band = "90 % of the runs" if alone else None
        ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0, label=band)
    ax.plot(x, middle, color=colour, linewidth=1.9, label=_label(group, alone))


def _label(group: Group, alone: bool) -> str:
    if not alone:
        return group.name
    return f"median of {len(group.curves)} runs" if len(group.curves) > 1 else "1 run"


def _left_at(curve: list[tuple[int, int]], grid: Any) -> Any:
    import numpy as np

    times, left = np.array(curve).T
    return left[np.searchsorted(times, grid, side="right") - 1]


def _legend(figure: Any, ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    wide = max(len(label) for label in labels) > 45
    figure.legend(handles, labels, loc="outside upper center", ncols=1 if wide else 3)


def _plain_numbers(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


# a figure against what was varied


def draw_varied(panels: Sequence[Panel], varied: str, path: Path) -> None:
    with style.drawing_file():
        figure, axes = style.new_figure(3.6, len(panels))
        for ax, panel in zip([axes] if len(panels) == 1 else axes, panels, strict=True):
            _draw_panel(ax, panel)
            ax.set_xlabel(varied)
        _legend(figure, ax)
        style.save(figure, path)


def _draw_panel(ax: Any, panel: Panel) -> None:
    label, factor = _unit(panel)
    ax.set_title(label)
    for number, line in enumerate(panel.lines):
        _draw_line(ax, line, number, factor, below=len(panel.lines) - number - 1)
    ax.set_ylim(0, ax.get_ylim()[1] * 1.03)
    _plain_numbers(ax.yaxis)
    _scale(ax, list(dict.fromkeys(point.x for line in panel.lines for point in line.points)))


def _draw_line(ax: Any, line: Line, number: int, factor: float, *, below: int) -> None:
    """Earlier ones have larger marks: they can be seen below later ones in the same place."""
    x = [point.x for point in line.points]
    ax.errorbar(
        x, [point.mean * factor for point in line.points],
        [point.half_width * factor for point in line.points],
        color=style.LINES[number % len(style.LINES)], marker=MARKS[number % len(MARKS)],
        markersize=min(5 + 1.8 * below, 11), linewidth=min(1.5 + 0.5 * below, 3), capsize=3.5,
        label=line.name, linestyle="none" if isinstance(x[0], str) else "-",
    )  # fmt: skip


def _scale(ax: Any, places: list[float | str]) -> None:
    """Few values are marked themselves; those of several magnitudes need a logarithmic axis."""
    numbers = [place for place in places if not isinstance(place, str)]
    if len(numbers) < len(places):
        ax.margins(x=0.25)
        return
    if min(numbers) > 0 and max(numbers) >= MAGNITUDES * min(numbers):
        ax.set_xscale("log")
        ax.minorticks_off()
    if len(numbers) <= MOST_TICKS:
        ax.set_xticks(numbers)
    _plain_numbers(ax.xaxis)


def _unit(panel: Panel) -> tuple[str, float]:
    """`makespan_s` is told in hours where it takes hours."""
    name, _, unit = panel.figure.rpartition("_")
    words = name.replace("_", " ")
    if unit == "s" and name:
        most = max(point.mean for line in panel.lines for point in line.points)
        larger = style.time_unit(most * 1e6)
        return f"{words} ({larger.name})", 1e6 / larger.us
    if name in ("cost", "work_done", "work_useful"):
        return f"{words} ({unit})", 1.0
    return panel.figure.replace("_", " "), 1.0
