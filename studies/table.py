"""Tables of *paper | ours | deviation*, in the Markdown of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailrace.simulation.running import Running


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def mean(running: Running, digits: int = 1) -> str:
    """With the half width of its interval at 95 %, unless every run was the same."""
    if running.count < 2 or running.least == running.most:
        return f"{running.mean:.{digits}f}"
    return f"{running.mean:.{digits}f} ± {running.half_width:.{max(digits, 2)}f}"


def deviation(ours: float, paper: float, digits: int = 1) -> str:
    """In the unit of both; for percentages, points."""
    apart = round(ours - paper, digits) + 0.0
    return f"{apart:+.{digits}f}" if apart else "0"
