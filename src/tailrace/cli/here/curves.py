"""A number over time, as a row of blocks."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"


def curve(points: Sequence[tuple[int, int]], most: int, wide: int) -> str:
    """Each point is a moment and what holds from then on; the last one is now."""
    first, last = points[0][0], points[-1][0]
    span = max(last - first, 1)
    heights = [points[0][1]] * wide
    for at_us, value in points:
        place = min(max((at_us - first) * (wide - 1) // span, 0), wide - 1)
        heights[place:] = [value] * (wide - place)
    return "".join(BLOCKS[-(-value * 8 // max(most, 1))] for value in heights)
