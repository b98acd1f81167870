"""`--array`: the numbers of a job array, as Slurm writes them: `0-15:4`, `1,3,5-7`, `1-6000%200`.

As there, numbers ascend and none comes twice, however they are written. A single range costs
nothing, whatever its size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from tailrace.bag.batch import TASKS
from tailrace.bag.values import Listed, Range
from tailrace.errors import BadInput

NAME = "array"
MOST_LISTED = 1_000_000
_PART = re.compile(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?", re.ASCII)
_LIMIT = re.compile(r"[1-9]\d{0,8}", re.ASCII)
_EXAMPLES = "write it as 1-100, 0-15:4 (every fourth), 1,3,5-7, or 1-100%8 (eight at a time)"


class Array(NamedTuple):
    column: Listed | Range
    least: int
    most: int
    step: int
    most_running: int | None = None  # behind the %

    @property
    def size(self) -> int:
        return self.column.count


class Extent(NamedTuple):
    """Of an array that was added to."""

    least: int
    most: int
    step: int
    size: int


def extent(columns: Iterable[object]) -> Extent:
    """Of their numbers together, of which none comes twice."""
    parts = [_numbers(column) for column in columns]
    least, most = min(map(_least, parts)), max(map(_most, parts))
    size = sum(map(len, parts))
    step, rest = divmod(most - least, max(size - 1, 1))
    even = step > 0 and not rest and all(_is_in_step(part, least, step) for part in parts)
    return Extent(least, most, step if even else 1, size)


def _numbers(column: object) -> range | tuple[int, ...]:
    if isinstance(column, Range):
        first, step = int(column.start), int(column.step)
        return range(first, first + column.count * step, step)
    if isinstance(column, Listed):
        return tuple(map(int, column.values))
    raise ValueError("the numbers of an array are listed, or a range")


def _least(part: range | tuple[int, ...]) -> int:
    return part[0] if isinstance(part, range) else min(part)


def _most(part: range | tuple[int, ...]) -> int:
    return part[-1] if isinstance(part, range) else max(part)


def _is_in_step(part: range | tuple[int, ...], first: int, step: int) -> bool:
    some = part[:2] if isinstance(part, range) else part
    return all((number - first) % step == 0 for number in some)


def read_array(text: str) -> Array:
    numbers, percent, limit = text.strip().partition("%")
    if percent and not _LIMIT.fullmatch(limit):
        raise _bad(text, f"{limit!r} behind the % is not a number of tasks")
    parts = [_part(part, text) for part in numbers.strip("[]").split(",")]
    found = _of_range(parts[0]) if len(parts) == 1 else _of_ranges(parts, text)
    return found._replace(most_running=int(limit) if percent else None)


def _part(part: str, text: str) -> range:
    found = _PART.fullmatch(part.strip())
    if found is None:
        raise _bad(text, f"{part.strip()!r} is neither a number nor a range")
    first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
    if last < first:
        raise _bad(text, f"the range {part.strip()} ends before it begins")
    if step == 0:
        raise _bad(text, f"the step of {part.strip()} is 0")
    if (last - first) // step >= TASKS:
        raise _bad(text, f"{part.strip()} has more than {TASKS:,} tasks")
    return range(first, last + 1, step)


def _of_range(numbers: range) -> Array:
    column = Range(NAME, str(numbers[0]), str(numbers.step), len(numbers))
    return Array(column, numbers[0], numbers[-1], numbers.step)


def _of_ranges(parts: list[range], text: str) -> Array:
    if sum(map(len, parts)) > MOST_LISTED:
        raise _bad(text, f"several ranges have more than {MOST_LISTED:,} tasks together")
    numbers = sorted({number for part in parts for number in part})
    steps = {after - before for before, after in pairwise(numbers)}
    step = steps.pop() if len(steps) == 1 else 1
    return Array(Listed(NAME, tuple(numbers)), numbers[0], numbers[-1], step)


def env_of_array(numbers: Array | Extent) -> dict[str, str]:
    """What Slurm tells each task of the whole array."""
    told = (("MIN", numbers.least), ("MAX", numbers.most), ("STEP", numbers.step),
            ("COUNT", numbers.size))  # fmt: skip
    return {f"SLURM_ARRAY_TASK_{name}": str(number) for name, number in told}


def _bad(text: str, message: str) -> BadInput:
    return BadInput(f"the array {text!r}: {message}", remedy=_EXAMPLES)
