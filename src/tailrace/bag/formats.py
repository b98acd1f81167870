"""Whether the format of a placeholder suits each of its values: what does not is told before the
start, and not by the one task among thousands that cannot be made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from tailrace.bag.places import Path
from tailrace.bag.rows import CHUNK, Rows
from tailrace.bag.sweep import Place, Sweep
from tailrace.bag.tables import Origin
from tailrace.bag.template import MOST_WIDE, Field, Template, formatted, is_too_wide
from tailrace.bag.values import Listed, Value

_SHOWN = 60  # characters of a value
_REMEDY = "use a format such as .3f for numbers, 04d for whole numbers, >10 for texts"


def check_formats(placed: Iterable[tuple[Path, Template]], sweep: Sweep, origin: Origin) -> None:
    """Each field once, however often it stands there."""
    seen: dict[Field, Path] = {}
    for path, template in placed:
        for field in template.fields:
            if field.spec:
                seen.setdefault(field, path)
    for field, path in seen.items():
        if is_too_wide(field.spec):
            message = f"{{{_cut(f'{field.name}:{field.spec}')}}} has more than {MOST_WIDE:,} places"
            raise origin.bad(path, message, "let the program pad what it reads")
        _check_format(path, field, sweep, origin)


def _check_format(path: Path, field: Field, sweep: Sweep, origin: Origin) -> None:
    place = sweep.place_of(field.name)
    for where, value in _samples(field.name, place, sweep):
        try:
            formatted(value, field.spec)
        except (ValueError, OverflowError) as fault:
            raise origin.bad(
                path,
                f"{{{field.name}:{field.spec}}} does not suit the value {_cut(repr(value))}{where}:"
                f" {_cut(str(fault))}",
                _REMEDY,
            ) from None


def _samples(name: str, place: Place | None, sweep: Sweep) -> Iterator[tuple[str, Value]]:
    """Of a list and of a CSV column each value; of a range its ends, as all others are alike."""
    if place is None:
        yield "", "x" if name == "bag" else 0
    elif isinstance(place.column, Rows):
        yield from _cells(place.column, name, sweep)
    elif isinstance(place.column, Listed):
        for value in place.column.values:
            yield "", value
    else:
        read = place.column.reader()
        yield "", read(0)
        yield "", read(place.count - 1)


def _cells(column: Rows, name: str, sweep: Sweep) -> Iterator[tuple[str, str]]:
    at, row = column.columns.index(name), 1
    for number in range(-(-column.count // CHUNK)):
        for cells in islice(sweep.reader.chunk(number), column.count - number * CHUNK):
            yield f" in row {row:,}", cells[at]
            row += 1


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
