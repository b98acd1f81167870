"""Spans of time, and what they cover together."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[int, int]


def union(spans: Iterable[Span], begin: int, end: int) -> list[Span]:
    """Without overlaps, in their order, and within begin and end."""
    covered: list[Span] = []
    for first, last in sorted((max(a, begin), min(b, end)) for a, b in spans):
        if covered and first <= covered[-1][1]:
            covered[-1] = (covered[-1][0], max(covered[-1][1], last))
        elif first < last:
            covered.append((first, last))
    return covered


def total(spans: Iterable[Span]) -> int:
    return sum(last - first for first, last in spans)
