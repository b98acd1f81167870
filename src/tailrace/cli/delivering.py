"""Results to a stream or a file, in a format and with chosen columns."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import click
import msgspec

from tailrace.bag.tables import meant
from tailrace.cli import screen
from tailrace.cli.wanted import Wanted
from tailrace.errors import BadInput
from tailrace.report.columns import Columns, find_columns, readable_twice
from tailrace.report.ends import Ends
from tailrace.report.record import Result
from tailrace.report.results import cell, write_csv, write_json, write_json_lines


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    PARQUET = "parquet"


def deliver(
    wanted: Wanted,
    form: Format,
    path: Path | None,
    *,
    columns: list[str] | None,
    every: bool,
    why: Callable[[Result], str],
) -> None:
    if form is Format.PARQUET:
        _parquet(wanted.results(), path, columns)
        return
    with _opened(path) as out:
        if columns is not None:
            _chosen(wanted, form, out, columns, every)
        elif form is Format.TABLE:
            _table(wanted, out, every, why)
        else:
            _WRITERS[form](wanted.results(), out)


_WRITERS: dict[Format, Callable[[Iterable[Result], TextIO], None]] = {
    Format.CSV: write_csv,
    Format.JSON: write_json,
    Format.JSONL: write_json_lines,
}


def _table(wanted: Wanted, out: TextIO, every: bool, why: Callable[[Result], str]) -> None:
    from tailrace.report.table import ends_table

    screen.print_table(ends_table(wanted.ends(every=every), why=why), out)


def _parquet(results: Iterable[Result], path: Path | None, columns: list[str] | None) -> None:
    from tailrace.report.parquet import write_parquet

    if columns is not None:
        remedy = "Write all columns and choose when you read; Parquet reads only what is asked."
        raise BadInput("--columns does not go with Parquet", remedy=remedy)
    assert path is not None
    with _told(path):
        for note in write_parquet(results, path):
            click.echo(f"tailrace: {note}", err=True)


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    """A file appears whole or not at all."""
    if path is None:
        yield screen.utf8_out()
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    with _told(path):
        try:
            with open(unfinished, "w", encoding="utf-8", newline="") as file:
                yield file
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "Name a file in a folder that exists and that you may write to."
        raise BadInput(f"{path}: {error.strerror or error}", remedy=remedy) from error


def _chosen(wanted: Wanted, form: Format, out: TextIO, columns: list[str], every: bool) -> None:
    if form is Format.TABLE:
        ends = wanted.ends(every=every)
        found = find_columns(chain(ends.top[:1], wanted.ended()))
        names = _all_named(found, columns)
        screen.print_table(_plain_table(found, names, ends), out)
        return
    with readable_twice(wanted.results()) as rows:
        found = find_columns(rows)
        names = _all_named(found, columns)
        cells = _cells(found, names, rows)
        if form is Format.CSV:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([cell(item) for item in row] for row in cells)
        else:
            _objects((dict(zip(names, row, strict=True)) for row in cells), form, out)


def _all_named(columns: Columns, words: list[str]) -> list[str]:
    return [name for word in words for name in _named(columns, word)]


def _cells(columns: Columns, names: list[str], rows: Iterable[Result]) -> Iterator[list[Any]]:
    known = columns.names
    places = [known.index(name) if name in known else None for name in names]
    for row in map(columns.row, rows):
        yield [None if i is None else row[i] for i in places]


def _named(columns: Columns, word: str) -> list[str]:
    """A column, with `value.` or `param.` before it or not; or a field that has become several.
    Of a run that cost nothing, `cost` is an empty column: scripts need not know its price."""
    names = columns.names
    for name in (word, f"value.{word}", f"param.{word}", word.removeprefix("value.")):
        if name in names:
            return [name]
    several = columns.group(word)
    if several is None:
        remedy = f"{meant(word, names)}There are: {', '.join(names)}"
        raise BadInput(f"there is no column {word!r}", remedy=remedy)
    return several or [word]


def _objects(objects: Iterable[dict[str, Any]], form: Format, out: TextIO) -> None:
    encode = msgspec.json.Encoder().encode
    if form is Format.JSONL:
        out.writelines(encode(item).decode() + "\n" for item in objects)
        return
    between = "[\n"
    for item in objects:
        out.write(between + encode(item).decode())
        between = ",\n"
    out.write("[]\n" if between == "[\n" else "\n]\n")


def _plain_table(columns: Columns, names: list[str], ends: Ends) -> Any:
    middle = [["…"] * len(names)] if ends.hidden else []
    shown = [*_cells(columns, names, ends.top), *middle, *_cells(columns, names, ends.bottom)]
    table = screen.table(names, [[_show(item) for item in row] for row in shown])
    if ends.hidden:
        table.caption, table.caption_justify = f"… {ends.hidden:,} more, use --all", "left"
    return table


def _show(item: Any) -> str:
    return "" if item is None else screen.short(str(cell(item)).strip(), 200)
