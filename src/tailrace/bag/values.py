"""The values of one parameter: listed, or computed from their position without being stored.

A position gives its value in O(1), and a value that is looked for gives its position; so an axis
of a billion seeds costs nothing. Steps are exact: 0, 0.1, 0.2, 0.3 and never 0.30000000000000004.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import msgspec

Value = str | int | float | bool


def show(value: Value) -> str:
    """A value as it stands in a command; booleans as TOML writes them."""
    if value.__class__ is str:
        return value
    if value.__class__ is bool:
        return "true" if value else "false"
    return repr(value)


def number(text: str) -> int | float:
    """The number a text stands for. Raises ValueError when it is none."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def same(value: Value, text: str) -> bool:
    """Whether a text a person typed means this value: `0.10` means 0.1."""
    if show(value) == text:
        return True
    try:
        return not isinstance(value, bool) and float(value) == float(text)
    except ValueError:
        return False


class Listed(msgspec.Struct, frozen=True, tag="list", omit_defaults=True):
    name: str
    values: tuple[Value, ...]

    @property
    def count(self) -> int:
        return len(self.values)

    def reader(self) -> Callable[[int], Value]:
        return self.values.__getitem__

    def positions(self, text: str) -> list[int]:
        return [i for i, value in enumerate(self.values) if same(value, text)]


class Range(msgspec.Struct, frozen=True, tag="range", omit_defaults=True):
    """`start + i * step` for `count` positions; both are fractions written as text (`"1/10"`)."""

    name: str
    start: str
    step: str
    count: int
    whole: bool = True  # integers; otherwise floats, rounded once from the exact fraction

    def reader(self) -> Callable[[int], Value]:
        start, step = Fraction(self.start), Fraction(self.step)
        over = math.lcm(start.denominator, step.denominator)
        first, pace = int(start * over), int(step * over)
        if self.whole:
            return lambda i: first + i * pace
        return lambda i: (first + i * pace) / over

    def positions(self, text: str) -> list[int]:
        step = Fraction(self.step)
        try:
            offset = Fraction(text) - Fraction(self.start)
        except (ValueError, ZeroDivisionError):
            return []
        at = round(offset / step) if step else 0
        return [at] if 0 <= at < self.count and same(self.reader()(at), text) else []


class LogSpaced(msgspec.Struct, frozen=True, tag="log", omit_defaults=True):
    """`count` values at equal ratios, `start` and `stop` included, rounded to 12 digits."""

    name: str
    start: float
    stop: float
    count: int

    def reader(self) -> Callable[[int], Value]:
        start, stop, last = self.start, self.stop, max(self.count - 1, 1)
        ratio = math.log(stop / start)

        def at(i: int) -> float:
            if i in (0, last):
                return stop if i else start
            return float(f"{start * math.exp(ratio * i / last):.12g}")

        return at

    def positions(self, text: str) -> list[int]:
        try:
            at = round(
                math.log(float(text) / self.start)
                / math.log(self.stop / self.start)
                * (self.count - 1)
            )
        except (ValueError, ZeroDivisionError):
            return []
        return [at] if 0 <= at < self.count and same(self.reader()(at), text) else []
