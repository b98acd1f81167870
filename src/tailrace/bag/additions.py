"""More tasks for a bag there is already: what of them is new stands behind what it has.

Tasks are compared by their values: one that the bag has is left out, and counted. Command, limits
and all else stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tailrace.bag import boxes
from tailrace.bag.alike import axis_names
from tailrace.bag.bag import Bag
from tailrace.bag.batch import TASKS as JOB_IDS
from tailrace.bag.blocks import Axes
from tailrace.bag.boxes import Box, Cutter
from tailrace.bag.checks import check_bag
from tailrace.bag.identity import basis
from tailrace.bag.outputs import check_outputs
from tailrace.bag.overwriting import check_overwriting
from tailrace.bag.rows import Rows
from tailrace.bag.spec import MOST_TASKS, BagSpec, Syntax
from tailrace.bag.strategies import anything
from tailrace.bag.sweep import Axis, Sweep
from tailrace.bag.tables import Origin
from tailrace.errors import BadInput

MOST_BLOCKS = 1000
FORMS: dict[str, str] = {
    "listed": "It lists commands: add more with --commands FILE",
    "parallel": "It was given with `:::`: add more values with `::: d e`",
    "braces": "It has parameters: add values with --set NAME=VALUES, or its changed bag file",
    "batch": "It is an array of a batch script: add numbers with --array 5-8",
}


class Addition(msgspec.Struct, frozen=True, omit_defaults=True):
    axes: Axes
    chunks: list[bytes] = []  # of its rows
    syntax: Syntax = "braces"
    some: bool = False  # only some parameters are given: the others are as in the bag
    basis: str = ""  # of the bag file that it comes from; '': from none


class Added(NamedTuple):
    bag: Bag  # as it is then
    chunks: list[bytes]  # of the rows that are new
    before: int  # tasks
    there: int  # tasks that were asked for, and were there already

    @property
    def new(self) -> int:
        return self.bag.count - self.before


def add(bag: Bag, asked: Addition) -> Added:
    _refuse_other_kinds(bag, asked)
    asked_for, new = 0, _New(bag)
    for cutter in _wanted(bag, asked):
        asked_for += new.take(cutter)
    most = MOST_TASKS if bag.spec.batch is None else JOB_IDS
    if bag.count + new.count > most:
        raise BadInput(f"bag {bag.number} would have more than {most:,} tasks")
    grown = _grown(bag, new)
    return Added(grown, new.chunks, bag.count, asked_for - new.count)


class _New:
    """What is neither in the bag nor was taken already."""

    def __init__(self, bag: Bag) -> None:
        self._bag = bag
        self._before: list[Sweep] = []
        self.blocks: list[tuple[Axes, list[bytes]]] = []
        self.count = 0

    @property
    def chunks(self) -> list[bytes]:
        return [chunk for _, chunks in self.blocks for chunk in chunks]

    def take(self, cutter: Cutter) -> int:
        """How many tasks it asks for that were not asked for before."""
        left = _less(cutter, [cutter.whole], self._before)
        self._before.append(cutter.sweep)
        asked = sum(map(boxes.tasks, left))
        new = _less(cutter, left, [block.sweep for block in self._bag.blocks.all])
        self.blocks += [cutter.made(box) for box in new]
        self.count += sum(map(boxes.tasks, new))
        return asked


def _less(cutter: Cutter, left: list[Box], others: list[Sweep]) -> list[Box]:
    for other in others:
        if not left:
            break
        left = cutter.less(left, other)
    return left


def _refuse_other_kinds(bag: Bag, asked: Addition) -> None:
    spec, label = bag.spec, f"bag {bag.number}"
    if spec.function is not None or (spec.batch is not None and not spec.batch.array):
        kind = "calls from Python" if spec.function is not None else "a batch script, not an array"
        raise BadInput(f"{label} is of {kind}, and cannot be added to", remedy="Run another bag.")
    if spec.then is not None:
        raise BadInput(
            f"{label} ends with a command of its own (`then`), and takes no more tasks",
            remedy="Run the larger bag instead, with `tailrace run` or `tailrace submit`: it takes "
            "over all results there are, and `then` runs once more, when the new tasks are done.",
        )
    if asked.syntax != spec.syntax:
        raise BadInput(f"{label} takes no tasks of this form", remedy=f"{FORMS[spec.syntax]}.")
    if asked.basis and asked.basis != basis(spec):
        raise BadInput(
            f"the bag file has another command, folder, environment, files or parameters than "
            f"{label}",
            remedy="Only values may differ. Run it as a bag of its own: `tailrace run`.",
        )
    if spec.catalogue is not None and any("{" in rule.place for rule in spec.inputs):
        raise BadInput(
            f"the tasks of {label} have files of their own, which travelled with it",
            remedy="Submit the larger bag: it takes over the results there are.",
        )


def _wanted(bag: Bag, asked: Addition) -> Iterator[Cutter]:
    """The sweeps that are asked for; where only some parameters are given, one for each block."""
    if not asked.some:
        _check_names(bag, asked.axes)
        yield Cutter(Sweep(asked.axes, asked.chunks.__getitem__))
        return
    given = {axis_names(axis)[0]: axis for axis in asked.axes if len(axis) == 1}
    _check_given(bag, asked.axes, list(given))
    seen: dict[Axes, None] = {}
    for _, sweep in bag.blocks.all:
        axes = tuple(given.get(axis_names(axis)[0], axis) for axis in sweep.axes)
        listed = any(_rows(column) for axis in axes for column in axis)
        if listed or axes not in seen:  # rows of two blocks differ, though their axes look alike
            seen[axes] = None
            yield Cutter(Sweep(axes, sweep.read))


def _rows(column: object) -> bool:
    return isinstance(column, Rows)


def _check_names(bag: Bag, axes: Axes) -> None:
    wanted, found = (sorted(map(axis_names, one)) for one in (bag.spec.axes, axes))
    if wanted != found:
        raise BadInput(
            f"bag {bag.number} has the parameters {_shown(wanted)}, not {_shown(found)}",
            remedy="Give values for the same ones, crossed and zipped alike.",
        )


def _shown(names: list[list[str]]) -> str:
    return " × ".join("+".join(axis) for axis in names) or "none"


def _check_given(bag: Bag, axes: tuple[Axis, ...], names: list[str]) -> None:
    if not axes or any(len(axis) != 1 or _rows(axis[0]) for axis in axes):
        raise BadInput("no values are given", remedy="Write --set seed=11..20.")
    for name in names:
        place = bag.sweep.place_of(name)
        if place is None:
            known = ", ".join(bag.sweep.names()) or "none"
            raise BadInput(
                f"bag {bag.number} has no parameter {name!r}", remedy=f"Its parameters: {known}."
            )
        if _rows(place.column) or len(bag.sweep.axes[place.axis]) > 1:
            where = "a column of its table" if _rows(place.column) else "zipped with another"
            remedy = "Change the bag file, and add that: `tailrace add BAG bag.toml`."
            raise BadInput(f"the parameter {name} is {where}", remedy=remedy)


def _grown(bag: Bag, new: _New) -> Bag:
    """Checked as if the new tasks were a bag of their own; their outputs beside those there are."""
    spec = bag.spec
    if not new.blocks:
        return bag
    if len(spec.blocks) + len(new.blocks) > MOST_BLOCKS:
        remedy = "Run a larger bag instead: it takes over the results there are."
        raise BadInput(f"bag {bag.number} was added to too often", remedy=remedy)
    for axes, chunks in new.blocks:
        _check_block(replace(spec, axes=axes, blocks=()), chunks)
    axes_of = tuple(axes for axes, _ in new.blocks)
    before, added = bag.blocks.chunks, new.chunks

    def read(k: int) -> bytes:
        return bag.read_chunk(k) if k < before else added[k - before]

    grown = Bag(replace(spec, blocks=(*spec.blocks, *axes_of)), read, bag.number)
    grown.task(grown.count - 1)  # of an array, only numbers are of use
    if spec.outputs:
        check_outputs(grown, Origin(spec.source))
        check_overwriting(grown, Origin(spec.source))
    return grown


def _check_block(spec: BagSpec, chunks: list[bytes]) -> None:
    block = check_bag(spec, chunks, Origin(spec.source), unused_ok=True, admit=anything)
    for index in (0, block.count - 1):
        block.task(index)
