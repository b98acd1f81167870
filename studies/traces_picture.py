"""The picture of the real traces: what was seen, and the laws beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailrace.simulation.fitting import best_fit, fit
from tailrace.simulation.laws import Empirical, Floats, Law

if TYPE_CHECKING:
    from studies.real_traces import Lives

SEEN, GOOD, POOR = "#0a0b0c", "#0072b2", "#d55e00"
POINTS = 200


def draw(path: Path, ups: Floats, lives: Lives, blast: list[float]) -> None:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    look: dict[Any, Any] = {"svg.hashsalt": "traces", "svg.fonttype": "none", "font.size": 9,
                            "legend.frameon": False}  # fmt: skip
    with matplotlib.rc_context(look):
        figure = Figure(figsize=(10, 3.2), layout="constrained", facecolor="white")
        FigureCanvasSVG(figure)
        left, middle, right = figure.subplots(1, 3)
        _lanl(left, ups)
        _spot(middle, lives)
        _blast(right, blast)
        figure.savefig(
            path, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )


def _lanl(axes: Any, ups: Floats) -> None:
    at = np.geomspace(ups.min(), ups.max(), POINTS)
    _curves(axes, at, {
        "seen": (Empirical.of(ups), SEEN),
        "Weibull": (fit("weibull", ups).law, GOOD),
        "exponential": (fit("exponential", ups).law, POOR),
    })  # fmt: skip
    axes.set(xscale="log", title="Los Alamos: time up", xlabel="hours", ylabel="share still up")
    axes.legend(loc="lower left")


def _spot(axes: Any, lives: Lives) -> None:
    at = np.linspace(1, 27 * 3600, POINTS)
    _curves(axes, at / 3600, {
        "seen": (lives.stepwise, SEEN),
        f"{_named(lives.fitted.family)}, with censoring": (lives.fitted.law, GOOD),
        f"{_named(lives.careless.family)}, without": (lives.careless.law, POOR),
    }, at)  # fmt: skip
    axes.set(title="Preemptible machines: life", xlabel="hours", ylabel="share still there")
    axes.legend(loc="upper right")


def _blast(axes: Any, times: list[float]) -> None:
    at = np.linspace(0.9 * min(times), 1.1 * max(times), POINTS)
    found = best_fit(times)
    _curves(axes, at / 60, {
        "seen": (Empirical.of(times), SEEN),
        _named(found.family): (found.law, GOOD),
    }, at)  # fmt: skip
    axes.set(title="BLAST: run time", xlabel="minutes", ylabel="share still running")
    axes.legend(loc="lower left")


def _named(family: str) -> str:
    """As one writes it: this one has the name of a man."""
    return "Weibull" if family == "weibull" else family


def _curves(
    axes: Any, shown: Floats, laws: dict[str, tuple[Law, str]], at: Floats | None = None
) -> None:
    for name, (law, colour) in laws.items():
        left = 1 - law.cdf(shown if at is None else at)
        axes.plot(shown, left, color=colour, label=name, lw=1.8 if name == "seen" else 1.3)
    axes.set_ylim(0, 1.02)
    axes.spines[["top", "right"]].set_visible(False)
