"""`--commands FILE`: one shell command a line; blank lines and `#` lines are skipped.

A line is a command as it stands: braces in it mean nothing. Its one parameter is `command`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO

from tailrace.bag.chunks import Chunks
from tailrace.bag.command import LISTED
from tailrace.bag.rows import CHUNK, Row, Rows, encode_chunk
from tailrace.bag.textfile import decode
from tailrace.errors import BadInput

_BLOCK = 1 << 20


def read_commands(lines: Iterable[str], source: str) -> tuple[Rows, Chunks]:
    """The axis, and its rows in chunks."""
    chunks = Chunks()
    rows: list[Row] = []
    count, line = 0, 1
    lines = iter(lines)
    while block := list(islice(lines, CHUNK)):
        rows += [[text] for text in map(str.strip, block) if text and text[0] != "#"]
        _refuse_nul(block, line, source)
        line += len(block)
        if len(rows) >= CHUNK:
            chunks.append(encode_chunk(rows[:CHUNK]))
            count += CHUNK
            rows = rows[CHUNK:]
    if rows:
        chunks.append(encode_chunk(rows))
    if not len(chunks):
        raise BadInput("there is no command", file=source, remedy="write one shell command a line")
    return Rows((LISTED,), ("text",), count + len(rows)), chunks


def text_lines(stream: BinaryIO, source: str) -> Iterator[str]:
    """The lines of a UTF-8 stream, a block at a time; the first fault is named by its line."""
    line = 1
    while block := stream.readlines(_BLOCK):
        yield from decode(b"".join(block), source, line).split("\n")[: len(block)]
        line += len(block)


def _refuse_nul(block: list[str], line: int, source: str) -> None:
    if "\0" not in "".join(block):
        return
    for number, text in enumerate(block, line):
        if "\0" in text:
            raise BadInput("a NUL byte stands here", file=source, line=number, remedy="remove it")
