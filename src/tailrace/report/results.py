"""Results for other programs: CSV, JSON, JSON lines. Streamed, so a million need little memory."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any, TextIO

import msgspec

from tailrace.report.columns import find_columns, readable_twice
from tailrace.report.record import Result


def write_json(results: Iterable[Result], out: TextIO) -> None:
    """One list of result objects, one object per line."""
    encode = msgspec.json.Encoder().encode
    between = "[\n"
    for result in results:
        out.write(between + encode(result).decode())
        between = ",\n"
    out.write("[]\n" if between == "[\n" else "\n]\n")


def write_json_lines(results: Iterable[Result], out: TextIO) -> None:
    encode = msgspec.json.Encoder().encode
    for result in results:
        out.write(encode(result).decode() + "\n")


def write_csv(results: Iterable[Result], out: TextIO) -> None:
    """Columns as `tailrace.report.columns` says; nothing is an empty cell, true is ``true``."""
    with readable_twice(results) as rows:
        columns = find_columns(rows)
        writer = csv.writer(_Lines(out), lineterminator="\r\n")
        writer.writerow(columns.names)
        writer.writerows([cell(item) for item in columns.row(result)] for result in rows)


def cell(item: Any) -> Any:
    """What a CSV cell holds: text and numbers as they are, anything else as JSON."""
    if type(item) in _AS_THEY_ARE:
        return item
    return msgspec.json.encode(item).decode()


_AS_THEY_ARE = frozenset((str, int, float, type(None)))


class _Lines:
    """Ends lines with a plain newline. The writer itself must think of ``\\r\\n``, or it would
    not quote a cell that holds a lone ``\\r``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, line: str) -> None:
        self._out.write(line[:-2] + "\n")
