"""How figures look: colours, time axes, and SVG that lives inside a page, dark or light."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path
from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.report.timeline import LIVE, OUTCOMES

#: Okabe and Ito's palette: told apart by the colour-blind.
BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, GREY = "#56b4e9", "#cc79a7", "#8a8a8a"
LINES = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)  # one after the other

OUTCOME_COLOURS = {
    Outcome.SUCCEEDED: BLUE,
    Outcome.TASK_FAILED: RED,
    Outcome.OVER_LIMIT: ORANGE,
    Outcome.HOST_FAILED: PURPLE,
    Outcome.PREEMPTED: GREEN,
    Outcome.EXPIRED: "#f0e442",
    Outcome.LOST: "#5b3a8c",
    Outcome.CANCELLED: GREY,
    Outcome.INVALID: "#000000",
}
RUNNING_COLOUR = SKY

# The page's own colours: stand-ins in the drawing, CSS variables in the SVG.
INK, FAINT, PAPER = "#0a0b0c", "#0d0e0f", "#f1f2f3"
_VARIABLES = {INK: "var(--ink)", FAINT: "var(--line)", PAPER: "var(--paper)"}

WIDTH_IN = 9.6
_RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "text.parse_math": False,  # a host may be called $x$
}


class TimeUnit(msgspec.Struct, frozen=True):
    name: str
    us: int


UNITS = (
    TimeUnit("µs", 1),
    TimeUnit("ms", 1_000),
    TimeUnit("s", 1_000_000),
    TimeUnit("min", 60_000_000),
    TimeUnit("h", 3_600_000_000),
    TimeUnit("days", 86_400_000_000),
)


def time_unit(us: float) -> TimeUnit:
    """The largest unit of which the duration has at least three."""
    fitting = [unit for unit in UNITS if us >= 3 * unit.us]
    return fitting[-1] if fitting else UNITS[0]


def outcome_name(code: int) -> str:
    return "running" if code == LIVE else str(OUTCOMES[code]).replace("_", " ")


def outcome_colour(code: int) -> str:
    return RUNNING_COLOUR if code == LIVE else OUTCOME_COLOURS[OUTCOMES[code]]


def new_figure(height_in: float, columns: int = 1) -> tuple[Any, Any]:
    """A figure without pyplot, so that nothing global is left behind, and its axes."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    FigureCanvasSVG(figure)
    return figure, figure.subplots(1, columns)


def drawing() -> Any:
    """Within this context figures are drawn in the page's style."""
    import matplotlib

    return matplotlib.rc_context(_RC)


def drawing_file() -> Any:
    """The same for a file of its own, which lies on white paper."""
    import matplotlib

    white = {"figure.facecolor": "white", "savefig.facecolor": "white", "grid.color": "#dcdcdc"}
    return matplotlib.rc_context(_RC | white | {"savefig.dpi": 160})


def save(figure: Any, path: Path) -> None:
    """The kind of the file is that of its name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def to_svg(figure: Any, name: str, says: str) -> str:
    """The figure as an ``<svg>`` element; ids begin with the name, so several share a page."""
    import matplotlib

    out = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with matplotlib.rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        # Text stays text in the SVG: the reader's browser has glyphs that Matplotlib lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(out, format="svg", metadata=nothing)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return _fluid(svg, says)


def _fluid(svg: str, says: str) -> str:
    """Without a fixed size the element fills its column; its view box keeps the shape."""
    from html import escape

    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{escape(says, quote=True)}">{rest}'
