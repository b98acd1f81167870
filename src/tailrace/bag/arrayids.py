"""`--array`: the numbers of a job array, as Slurm writes them: `0-15:4`, `1,3,5-7`, `1-6000%200`.

As there, numbers ascend and none comes twice, however they are written. A single range costs
nothing, whatever its size.
"""

from __future__ import annotations

import re
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


def _bad(text: str, message: str) -> BadInput:
    return BadInput(f"the array {text!r}: {message}", remedy=_EXAMPLES)
