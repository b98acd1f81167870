"""The picture of a frontier: what each strategy takes and costs, and which ones nothing beats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tailrace.report import style

KINDS = (".png", ".svg", ".pdf", ".html")
HEIGHT_IN = 5.2


class Place(msgspec.Struct, frozen=True):
    """One strategy. `best`: for what nothing is better, in words; empty for most."""

    seconds: float
    cents: float
    half_s: float  # half widths of the 95 % intervals
    half_cents: float
    efficient: bool
    said: str
    best: str = ""


def draw(places: Sequence[Place], path: Path) -> None:
    with style.drawing_file():
        style.save(_drawn(places, "white"), path)


def as_svg(places: Sequence[Place]) -> str:
    with style.drawing():
        return style.to_svg(
            _drawn(places, style.PAPER), "choices", "cost against time of each strategy"
        )


def _drawn(places: Sequence[Place], paper: str) -> Any:
    figure, ax = style.new_figure(HEIGHT_IN)
    line = sorted((one for one in places if one.efficient), key=lambda one: one.seconds)
    unit = style.time_unit(line[-1].seconds * 1e6)
    by = 1e6 / unit.us
    others = [one for one in places if not one.efficient]
    ax.plot(
        [one.seconds * by for one in others], [one.cents for one in others], ".",
        color=style.GREY, alpha=0.45, markersize=5, linestyle="none", label="other strategies",
    )  # fmt: skip
    ax.errorbar(
        [one.seconds * by for one in line], [one.cents for one in line],
        [one.half_cents for one in line], [one.half_s * by for one in line],
        color=style.BLUE, marker="o", markersize=5.5, linewidth=1.2, elinewidth=0.8,
        label="efficient: nothing is better in both",
    )  # fmt: skip
    _name(ax, [one for one in line if one.best], by, paper)
    _near(ax, line, by)
    ax.set_xlabel(f"tail makespan ({unit.name})")
    ax.set_ylabel("cost (cents a task)")
    ax.legend(loc="upper right")
    return figure


def _name(ax: Any, best: Sequence[Place], by: float, paper: str) -> None:
    """Beside its mark, above the line, where nothing efficient can be."""
    for number, one in enumerate(best):
        colour = style.LINES[(number + 1) % len(style.LINES)]
        ax.plot(one.seconds * by, one.cents, "*", color=colour, markersize=15, zorder=5)
        ax.annotate(
            f"{one.best}\n{one.said}", (one.seconds * by, one.cents), (12, 14 + 4 * number),
            textcoords="offset points", fontsize=8.5, color=colour, va="bottom",
            bbox={"boxstyle": "square,pad=0.15", "fc": paper, "ec": "none", "alpha": 0.85},
        )  # fmt: skip


def _near(ax: Any, line: Sequence[Place], by: float) -> None:
    """What is much slower or dearer than all that is efficient would squeeze the rest together."""
    ax.set_xlim(0.9 * line[0].seconds * by, 1.25 * line[-1].seconds * by)
    least, most = min(one.cents for one in line), max(one.cents for one in line)
    span = (most - least) or most or 1.0
    ax.set_ylim(max(least - 0.15 * span, 0), most + 0.6 * span)
