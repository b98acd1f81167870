"""The picture of GridBot's experiments: its Figures 7, 8, 9 and 6, from our runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.gridbot import ranks, small, throughput
from studies.gridbot.tally import Bag, Told

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#0a0b0c")


def draw(path: Path, ranked: Told, few: Told, volunteers: Told, great: Told) -> None:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    look: dict[Any, Any] = {"svg.hashsalt": "gridbot", "svg.fonttype": "none", "font.size": 9,
                            "legend.frameon": False}  # fmt: skip
    with matplotlib.rc_context(look):
        figure = Figure(figsize=(10, 6.4), layout="constrained", facecolor="white")
        FigureCanvasSVG(figure)
        (by_rank, fives), (fours, days) = figure.subplots(2, 2)
        _ranks(by_rank, ranked)
        _left(fives, few, small.SUBMITTED_S, "Five small bags (Figure 8)", "minutes", 60)
        _left(fours, volunteers, 0, "Replication, with volunteers (Figure 9)", "hours", 3600)
        _days(days, great)
        for axes in (by_rank, fives, fours, days):
            axes.spines[["top", "right"]].set_visible(False)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(path, format="svg", metadata=nothing)


def _ranks(axes: Any, told: Told) -> None:
    count = len(told.bags)
    for left, colour in zip(ranks.LEFT, COLOURS, strict=True):
        curve = ranks.curve_min(told, left)
        axes.plot(range(count, 0, -1), curve, color=colour, lw=1.2, label=f"{left} of 1,200 left")
    axes.set(title="Fifty bags by rank (Figure 7)", xlabel="rank", ylabel="minutes", ylim=(0, None))
    axes.legend(loc="upper right")


def _left(axes: Any, told: Told, since_s: float, title: str, unit: str, unit_s: int) -> None:
    bags = {name: bag for name, bag in told.bags.items() if name != "earlier"}
    for (name, bag), colour in zip(sorted(bags.items()), COLOURS, strict=False):
        _curve(axes, bag, since_s, unit_s, name.upper(), colour)
    axes.set(title=title, xlabel=unit, ylabel="tasks left", ylim=(0, None))
    axes.legend(loc="upper right")


def _curve(axes: Any, bag: Bag, since_s: float, unit_s: int, name: str, colour: str) -> None:
    at = (np.concatenate([[since_s], bag.done_s]) - since_s) / unit_s
    axes.step(at, range(bag.tasks, -1, -1), where="post", color=colour, lw=1.2, label=name)


def _days(axes: Any, told: Told) -> None:
    hourly = throughput.WHOLE * throughput.throughput(told)
    axes.step(np.arange(len(hourly)) / 24, hourly, where="post", color=COLOURS[0], lw=0.9)
    axes.axvspan(throughput.OUT_FROM_S / throughput.DAY, throughput.OUT_TO_S / throughput.DAY,
                 color=COLOURS[1], alpha=0.25, lw=0, label="the network is down")  # fmt: skip
    axes.set(title="Throughput of the great bag (Figure 6)", xlabel="days",
             ylabel="dedicated processors", ylim=(0, None))  # fmt: skip
    axes.legend(loc="upper right")
