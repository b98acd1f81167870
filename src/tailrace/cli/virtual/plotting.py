"""`tailrace simulate --plot`: what was found, as the pictures of `report.experiment`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tailrace.cli.outputs import check_writable
from tailrace.cli.virtual.simulated import Result
from tailrace.errors import BadInput
from tailrace.quantities import duration_us
from tailrace.report.experiment import (
    KINDS,
    Group,
    Line,
    Panel,
    Point,
    draw_remaining,
    draw_varied,
)
from tailrace.report.style import time_unit
from tailrace.simulation.settings import Setting

MOST_PANELS = 3
ALONE = "mean and its 95 % interval"
X = float | str


def check_plot(path: Path) -> None:
    if path.suffix.lower() not in KINDS:
        remedy = f"its name ends with {', '.join(KINDS)}, as in --plot {path.stem or 'plot'}.png"
        raise BadInput(f"--plot {path}: no picture of this kind is drawn", remedy=remedy)
    check_writable("--plot", path)


def plot(results: Sequence[Result], figures: Sequence[str], path: Path) -> None:
    """With something varied, the figures against it; without, the tasks that remain."""
    found = [result for result in results if result.runs]
    if not found:
        return
    if found[0].variant.varied:
        _plot_varied(found, figures or _costly(found), path)
    else:
        groups = [Group(one.variant.name, [run.curve for run in one.runs]) for one in found]
        draw_remaining(groups, path)


def _costly(results: Sequence[Result]) -> list[str]:
    """How long, and at what price."""
    costs = dict.fromkeys(name for one in results for name in one.sums if name.startswith("cost_"))
    return ["makespan_s", *costs]


def _plot_varied(results: Sequence[Result], figures: Sequence[str], path: Path) -> None:
    axis = [result.variant.varied[0] for result in results]
    label, place = _scale(axis)
    panels = [Panel(name, _lines(results, name, place)) for name in figures[:MOST_PANELS]]
    draw_varied(panels, label, path)


def _lines(results: Sequence[Result], figure: str, place: Callable[[Setting], X]) -> list[Line]:
    """One for each file and each combination of what else was varied."""
    files = dict.fromkeys(result.variant.file for result in results)
    lines: dict[str, list[Point]] = {}
    for result in results:
        first, *others = result.variant.varied
        words = [f"{one.key}={one.shown}" for one in others]
        name = ", ".join([result.variant.file, *words] if len(files) > 1 else words)
        lines.setdefault(name or ALONE, []).extend(_point(result, figure, place(first)))
    return [Line(name, points) for name, points in lines.items()]


def _point(result: Result, figure: str, x: X) -> list[Point]:
    """None where no run knows it; a cost that never arose is none."""
    sums = result.sums.get(figure)
    if sums is None:
        return [Point(x, 0.0, 0.0)]
    if not sums.count:
        return []
    return [Point(x, sums.mean, sums.half_width if sums.count > 1 else 0.0)]


def _scale(axis: Sequence[Setting]) -> tuple[str, Callable[[Setting], X]]:
    """Numbers and durations have places on an axis, other values only names."""
    key = axis[0].key
    if all(_is_number(one.value) for one in axis):
        return key, lambda one: float(one.value)
    try:
        unit = time_unit(max(duration_us(one.value) for one in axis))
    except (ValueError, TypeError):
        return key, lambda one: one.shown
    return f"{key} ({unit.name})", lambda one: duration_us(one.value) / unit.us


def _is_number(value: Any) -> bool:
    from decimal import Decimal

    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)
