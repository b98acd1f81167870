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
STYLES = ("-", "--", ":")  # when the colours begin again
SEVERAL = 4  # lines that may lie on each other, and be told apart by the size of their marks
# A legend: what a letter takes, the mark before it, a row
LETTER_IN, HANDLE_IN, ROW_IN, MOST_COLUMNS, MOST_LETTERS = 0.07, 0.7, 0.2, 3, 116
MOST_NAME = 28  # letters of a name below an axis
SLANT, SLANTED_IN = 25, 0.8  # degrees, of names that would run into each other; what that takes
HEIGHT_IN = 3.6


class Group(msgspec.Struct, frozen=True):
    """Runs of one scenario: of each, times in µs and the tasks not done from then on, until its
    end."""

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
        figure, axes = style.new_figure(HEIGHT_IN, 2 if alone else 1)
        whole = axes[0] if alone else axes
        _draw_span(whole, groups, (0, end_us), most)
        if alone:
            whole.set_title("All tasks")
            standing = min(curve[-1][1] for curve in groups[0].curves)  # they are never done
            few = max(10, most // 10) + standing
            begin_us = _begin_of_tail(groups[0], few)
            _draw_span(axes[1], groups, (begin_us if begin_us < end_us else 0, end_us), few)
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
    several, ends = len(left) > 1, [curve[-1][0] for curve in group.curves]
    median, last = np.quantile(ends, (0.5, BAND[1]), method="inverted_cdf")
    if alone and several and len(left) <= MOST_THIN_LINES:
        for one, end in zip(left, ends, strict=True):
            until = _until(grid, end)
            ax.plot(x[until], one[until], color=style.GREY, linewidth=0.5, alpha=0.5)
    if several:
        band, until = "90 % of the runs" if alone else None, _until(grid, last)
        ax.fill_between(
            x[until], low[until], high[until], color=colour, alpha=0.2, linewidth=0, label=band
        )
    dashes, until = STYLES[number // len(style.LINES) % len(STYLES)], _until(grid, median)
    ax.plot(
        x[until], middle[until], dashes, color=colour, linewidth=1.9, label=_label(group, alone)
    )


def _until(grid: Any, end_us: float) -> slice:
    """To the first place that is not before the end: what is over is not drawn on."""
    return slice(int(grid.searchsorted(end_us)) + 1)


def _label(group: Group, alone: bool) -> str:
    if not alone:
        return group.name
    return f"median of {len(group.curves)} runs" if len(group.curves) > 1 else "1 run"


def _left_at(curve: list[tuple[int, int]], grid: Any) -> Any:
    import numpy as np

    times, left = np.array(curve).T
    return left[np.searchsorted(times, grid, side="right") - 1]


def _legend(figure: Any, *axes: Any) -> None:
    """Of all that is drawn on any of them; a line may be known on some only."""
    drawn: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            drawn.setdefault(label, handle)
    if drawn:
        labels = [_short(label, MOST_LETTERS) for label in drawn]
        columns = _columns(labels)
        width, height = figure.get_size_inches()
        rows = -(-len(labels) // columns)
        figure.set_size_inches(width, height + (rows - 1) * ROW_IN)  # none of it is the axes' loss
        figure.legend(drawn.values(), labels, loc="outside upper center", ncols=columns)


def _columns(labels: Sequence[str]) -> int:
    """As many as fit beside each other."""
    each_in = HANDLE_IN + LETTER_IN * max(map(len, labels))
    return min(max(int(style.WIDTH_IN / each_in), 1), MOST_COLUMNS)


def _short(label: str, most: int) -> str:
    """Without its middle: names differ mostly at their ends."""
    half = most // 2
    return label if len(label) <= most else f"{label[:half]}…{label[-half:]}"


def _plain_numbers(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


# a figure against what was varied


def draw_varied(panels: Sequence[Panel], varied: str, path: Path) -> None:
    with style.drawing_file():
        figure, axes = style.new_figure(HEIGHT_IN, len(panels))
        for ax, panel in zip([axes] if len(panels) == 1 else axes, panels, strict=True):
            _draw_panel(ax, panel)
            ax.set_xlabel(varied)
        if any(tick.get_rotation() for one in figure.axes for tick in one.get_xticklabels()):
            figure.set_size_inches(style.WIDTH_IN, HEIGHT_IN + SLANTED_IN)
        _legend(figure, *figure.axes)
        style.save(figure, path)


def _draw_panel(ax: Any, panel: Panel) -> None:
    label, factor = _unit(panel)
    ax.set_title(label)
    if not any(line.points for line in panel.lines):
        _say_unknown(ax)
        return
    for number, line in enumerate(panel.lines):
        if line.points:
            below = len(panel.lines) - number - 1 if len(panel.lines) <= SEVERAL else 0
            _draw_line(ax, line, number, factor, below=below)
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


def _say_unknown(ax: Any) -> None:
    """No run knows the figure: there is nothing to draw, and no scale to draw it on."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.text(0.5, 0.5, "not known of any run", transform=ax.transAxes, ha="center", va="center")


def _scale(ax: Any, places: list[float | str]) -> None:
    """Few values are marked themselves; those of several magnitudes need a logarithmic axis."""
    numbers = [place for place in places if not isinstance(place, str)]
    if len(numbers) < len(places):
        _name(ax, [str(place) for place in places])
        return
    if min(numbers) > 0 and max(numbers) >= MAGNITUDES * min(numbers):
        ax.set_xscale("log")
        ax.minorticks_off()
    if len(numbers) <= MOST_TICKS:
        ax.set_xticks(numbers)
    _plain_numbers(ax.xaxis)


def _name(ax: Any, places: Sequence[str]) -> None:
    """Values that are names; slanted where they would run into each other."""
    names = [_short(place, MOST_NAME) for place in places]
    ax.margins(x=max(0.05, 0.5 / len(names)))
    room_in = ax.get_position().width * style.WIDTH_IN
    tight = len(names) * (max(map(len, names)) + 2) * LETTER_IN * 1.1 > room_in
    slanted: dict[str, Any] = {"rotation": SLANT, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(names)), names, **(slanted if tight else {}))


def _unit(panel: Panel) -> tuple[str, float]:
    """`makespan_s` is told in hours where it takes hours."""
    name, _, unit = panel.figure.rpartition("_")
    words = name.replace("_", " ")
    if unit == "s" and name:
        most = max((point.mean for line in panel.lines for point in line.points), default=1.0)
        larger = style.time_unit(most * 1e6)
        return f"{words} ({larger.name})", 1e6 / larger.us
    if name in ("cost", "work_done", "work_useful"):
        return f"{words} ({unit})", 1.0
    return panel.figure.replace("_", " "), 1.0
