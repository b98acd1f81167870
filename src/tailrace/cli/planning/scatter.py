"""Points in a field of letters: a plot for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Dot(NamedTuple):
    x: float
    y: float
    mark: str  # a later one hides an earlier one


def scatter(dots: Iterable[Dot], wide: int, high: int, x: str, y: str) -> Iterator[str]:
    """Lines, the axes named; nothing of it is cut off."""
    dots = list(dots)
    left, right = _ends([dot.x for dot in dots])
    low, top = _ends([dot.y for dot in dots])
    field = [[" "] * wide for _ in range(high)]
    for dot in dots:
        column = round((dot.x - left) / (right - left) * (wide - 1))
        field[high - 1 - round((dot.y - low) / (top - low) * (high - 1))][column] = dot.mark
    edge = max(len(f"{value:,.4g}") for value in (low, top))
    yield f"{y}"
    for number, line in enumerate(field):
        value = {0: top, high - 1: low}.get(number)
        label = "" if value is None else f"{value:,.4g}"
        yield f"{label:>{edge}} ┤{''.join(line)}".rstrip()
    yield f"{'':>{edge}} └{'─' * wide}"
    first, last = f"{left:,.4g}", f"{right:,.4g}"
    yield f"{'':>{edge}}  {first}{x:^{max(wide - len(first) - len(last), 0)}}{last}"


def _ends(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
