"""Figures 10 and 11 of ExPERT again: frontiers of a fixed ratio, and reliable hosts in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailrace.planning.frontier import Point

HOURS = 3600.0
RATIO, USED, QUEUE = "#0a0b0c", "#0072b2", "#d55e00"


def draw(path: Path, fixed: Mapping[float, Sequence[Point]], whole: Sequence[Point]) -> None:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    look: dict[Any, Any] = {"svg.hashsalt": "expert", "svg.fonttype": "none", "font.size": 9,
                            "legend.frameon": False}  # fmt: skip
    with matplotlib.rc_context(look):
        figure = Figure(figsize=(10, 3.6), layout="constrained", facecolor="white")
        FigureCanvasSVG(figure)
        left, right = figure.subplots(1, 2)
        _fixed(left, fixed)
        _used(right, whole)
        figure.savefig(
            path, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )


def _fixed(axes: Any, fixed: Mapping[float, Sequence[Point]]) -> None:
    from matplotlib import colormaps

    colours = colormaps["viridis"]
    for number, (mr, points) in enumerate(fixed.items()):
        colour = colours(0.9 * number / max(len(fixed) - 1, 1))
        times = [_tail(one) for one in points]
        costs = [one.estimate.cost_per_task.mean for one in points]
        axes.plot(times, costs, "o-", ms=2.5, lw=1.1, color=colour, label=f"{mr:g}")
        axes.plot(times[:1], costs[:1], "o", ms=6, color=colour)
    axes.set(title="Frontiers of fixed ratios", xlabel="tail, hours", ylabel="cents a task")
    axes.legend(title="Mr", loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)


def _used(axes: Any, whole: Sequence[Point]) -> None:
    times = [_tail(one) for one in whole]
    axes.plot(times, [one.strategy.mr for one in whole], "-", color=RATIO, lw=1.6, label="Mr")
    used = [one.estimate.used_mr.mean for one in whole]
    axes.plot(times, used, "o", ms=3, color=USED, label="used Mr")
    axes.set(title="Efficient strategies", xlabel="tail, hours", ylabel="ratio")
    axes.spines["top"].set_visible(False)
    queue = axes.twinx()
    longest = [one.estimate.reliable_queue_max.mean for one in whole]
    queue.plot(times, longest, "x", ms=4, color=QUEUE, label="longest queue (right)")
    queue.set_ylabel("tasks that wait")
    queue.spines["top"].set_visible(False)
    lines = [*axes.get_lines(), *queue.get_lines()]
    axes.legend(lines, [line.get_label() for line in lines], loc="upper right")


def _tail(one: Point) -> float:
    return one.estimate.tail_makespan.mean / HOURS
