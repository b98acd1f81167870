"""A measured figure beside the bar it has to meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

import msgspec


class Bar(msgspec.Struct, frozen=True):
    limit: float
    at_least: bool  # otherwise the figure must stay below the limit

    def meets(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value < self.limit

    def shown(self, unit: str) -> str:
        return f"{'≥' if self.at_least else '<'} {number(self.limit)} {unit}".rstrip()


def at_least(limit: float) -> Bar:
    return Bar(limit, at_least=True)


def below(limit: float) -> Bar:
    return Bar(limit, at_least=False)


class Figure(msgspec.Struct, frozen=True):
    script: str
    what: str
    unit: str
    values: list[float]  # one of each repetition
    bar: Bar | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return median(self.values)

    def measured(self) -> str:
        """Median, and the lowest and highest of the repetitions."""
        shown = f"{number(self.median)} {self.unit}".rstrip()
        if len(self.values) == 1:
            return shown
        return f"{shown} ({number(min(self.values))} … {number(max(self.values))})"

    def verdict(self) -> str:
        if self.bar is None:
            return ""
        return "met" if self.bar.meets(self.median) else "missed"

    def bar_shown(self) -> str:
        return "" if self.bar is None else self.bar.shown(self.unit)


def alternating(
    repetitions: int, ways: Mapping[str, Callable[[], float]]
) -> dict[str, list[float]]:
    """All ways in turn, forth and back: what disturbs the machine disturbs all alike, and none is
    always the one behind a certain other."""
    values: dict[str, list[float]] = {name: [] for name in ways}
    for repetition in range(repetitions):
        turn = list(ways.items())
        for name, way in reversed(turn) if repetition % 2 else turn:
            values[name].append(way())
    return values


def ratios(above: list[float], below: list[float]) -> list[float]:
    """Repetition by repetition, so that a slow minute counts on both sides."""
    return [a / b for a, b in zip(above, below, strict=True)]


def number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}"
