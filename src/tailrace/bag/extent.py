"""How long a task becomes when its values are filled in: known without making it.

A command with 60,000 placeholders is short, and so is a value of 100,000 letters. Together they are
more than a machine's memory holds, and no system would start such a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tailrace.bag.command import Command
from tailrace.bag.rows import CHUNK, Rows
from tailrace.bag.spec import BagSpec, FileRule
from tailrace.bag.sweep import Axis, Raw, Sweep
from tailrace.bag.template import BUILT_IN, Field, Template, room
from tailrace.bag.values import Listed, LogSpaced, Range, show
from tailrace.errors import BadInput

MOST_COMMAND = 2 << 20  # characters, with the environment: beyond it no system starts a program
MOST_FILES = 32 << 20  # of all names of its inputs and outputs
_FEW = 64  # placeholders: with so few, no task is long whose values are not
_NUMBER_LONG = 32

Part = str | Field


class Measure:
    """Of some texts: how many characters are always there, and how often each value is."""

    def __init__(self, parts: Iterable[Part], of: str) -> None:
        """`of`: the name of the bag."""
        self.fixed = self.fields = 0
        self.uses: dict[str, int] = {}
        for part in parts:
            if isinstance(part, str):
                self.fixed += len(part)
            else:
                self._count(part, of)

    def _count(self, field: Field, of: str) -> None:
        self.fields += 1
        self.fixed += room(field.spec)
        if field.name in BUILT_IN:
            self.fixed += len(of) if field.name == "bag" else _NUMBER_LONG
        else:
            self.uses[field.name] = self.uses.get(field.name, 0) + 1

    def of(self, values: Raw) -> int:
        """Of these values alone, which may be some of a task's."""
        uses = self.uses
        return sum([uses[name] * len(show(values[name])) for name in values if name in uses])


class Extent:
    """Of the tasks of one bag."""

    def __init__(self, spec: BagSpec, command: Command, variables: Iterable[str]) -> None:
        env = [Template(text) for text in spec.env.values()]
        told = [part for one in env if one.fields for part in one.parts]
        listed = spec.syntax == "listed"  # then no variable holds it a second time
        more = [] if listed else [Field(name) for name in variables]
        self.command = Measure([*command.parts(), *told, *more], spec.name)
        self.files = Measure(_of_files(spec), spec.name)
        self.many = self.command.fields + self.files.fields > _FEW

    def check(self, index: int, raw: Raw) -> None:
        """Of a task that is about to be made; worth it where it has many placeholders."""
        _check(index, self.command.fixed + self.command.of(raw), "command", MOST_COMMAND)
        _check(index, self.files.fixed + self.files.of(raw), "files", MOST_FILES)

    def check_all(self, sweep: Sweep) -> None:
        for measure, what, most in (
            (self.command, "command", MOST_COMMAND),
            (self.files, "files", MOST_FILES),
        ):
            longest = _longest(sweep, measure, most)
            _check(longest.at, longest.size, what, most)


def check_last(spec: BagSpec) -> None:
    """Of `then`, in which the bag's name may stand often."""
    words = (spec.then,) if isinstance(spec.then, str) else spec.then or ()
    size = Measure((part for word in words for part in Template(word).parts), spec.name).fixed
    if size > MOST_COMMAND:
        raise BadInput(f"`then` would be a command of {size:,} characters")


def _check(index: int, size: int, what: str, most: int) -> None:
    if size <= most:
        return
    if what == "files":
        message = f"the names of its files would have {size:,} characters, more than {most:,}"
        raise BadInput(f"task {index}: {message}", remedy="declare a folder that holds them")
    raise too_long(index, size)


def too_long(index: int, size: int) -> BadInput:
    return BadInput(
        f"task {index}: its command and environment would have {size:,} characters, and no system "
        f"starts more than {MOST_COMMAND:,}",
        remedy="hand long values over in a file: declare it among the inputs, and let a parameter "
        "name it",
    )


def _of_files(spec: BagSpec) -> Iterator[Part]:
    """A task has inputs where they are staged; each is named by its whole path."""
    staged = spec.inputs if spec.files == "staged" else ()
    for rule in staged:
        yield spec.folder
        yield from _of_rule(rule)
    for rule in spec.outputs:
        yield from _of_rule(rule)


def _of_rule(rule: FileRule) -> Iterator[Part]:
    yield from Template(rule.name).parts
    yield from Template(rule.place).parts


class _Longest(NamedTuple):
    size: int
    at: int


def _longest(sweep: Sweep, measure: Measure, most: int) -> _Longest:
    """On each axis the place that makes a task longest; rows come last, as most of them are short
    enough beside all that."""
    size, index = measure.fixed, 0
    strides = {place.axis: place.stride for place in sweep.places}
    for number, axis in enumerate(sweep.axes):
        more, at = _longest_of(axis, measure)
        size, index = size + more, index + at * strides[number]
    for place in sweep.places:
        if isinstance(place.column, Rows):
            found = _longest_row(sweep, place.column, measure, most - size)
            size, index = size + found.size, index + found.at * place.stride
    return _Longest(size, index)


def _longest_of(axis: Axis, measure: Measure) -> _Longest:
    listed = [column for column in axis if isinstance(column, Listed)]
    computed = [column for column in axis if isinstance(column, Range | LogSpaced)]
    numbers = sum(measure.uses.get(column.name, 0) for column in computed) * _NUMBER_LONG
    uses = [(measure.uses.get(column.name, 0), column.values) for column in listed]
    uses = [(times, values) for times, values in uses if times]
    if not uses:
        return _Longest(numbers, 0)
    sizes = (
        (sum(times * len(show(values[place])) for times, values in uses), place)
        for place in range(len(uses[0][1]))
    )
    size, place = max(sizes, key=lambda found: found[0])
    return _Longest(size + numbers, place)


def _longest_row(sweep: Sweep, column: Rows, measure: Measure, left: int) -> _Longest:
    """No row is longer than the chunk that holds it: seldom must one be looked into."""
    most_used = max((measure.uses.get(name, 0) for name in column.columns), default=0)
    found = _Longest(0, 0)
    for number in range(-(-column.count // CHUNK)):
        if most_used * len(sweep.read(number)) <= left:
            continue
        for at, row in enumerate(sweep.reader.chunk(number), number * CHUNK):
            size = measure.of(dict(zip(column.columns, row, strict=True)))
            found = max(found, _Longest(size, at), key=lambda one: one.size)
    return found
