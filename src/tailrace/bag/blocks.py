"""The tasks of a bag in blocks: those it was handed in with, then those that were added, each block
a sweep of the same parameters. A task keeps its number, as later blocks stand behind it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from tailrace.bag.rows import CHUNK, ReadChunk, Rows
from tailrace.bag.sweep import Axis, Sweep

Axes = tuple[Axis, ...]


class Block(NamedTuple):
    first: int  # the number of its first task
    sweep: Sweep


class Blocks:
    def __init__(self, blocks: Iterable[Axes], read: ReadChunk) -> None:
        self.all: list[Block] = []
        self.count = self.chunks = 0
        for axes in blocks:
            sweep = Sweep(axes, partial(_behind, read, self.chunks))
            self.all.append(Block(self.count, sweep))
            self.count += sweep.count
            self.chunks += chunks_of(axes)
        self._firsts = [block.first for block in self.all]

    def of(self, index: int) -> tuple[Sweep, int]:
        """The sweep that has this task, and its number there."""
        block = self.all[bisect_right(self._firsts, index) - 1]
        return block.sweep, index - block.first

    def up_to(self, index: int) -> list[Sweep]:
        """That of this task, and those that were there before it."""
        return [block.sweep for block in self.all[: bisect_right(self._firsts, index)]]


def chunks_of(axes: Axes) -> int:
    """In how many chunks the rows among these axes are stored."""
    rows = sum(column.count for axis in axes for column in axis if isinstance(column, Rows))
    return -(-rows // CHUNK)


def _behind(read: ReadChunk, before: int, k: int) -> bytes:
    return read(before + k)
