"""psycopg as we use it: not waiting for ever, and with one type for each kind of value."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import StrBinaryDumper

SILENCE_S = 30.0  # of a server that accepts and never answers; a long answer may come slowly
HURRIED_S = 3.0  # the same, where others wait meanwhile


class Connection(psycopg.Connection[tuple[Any, ...]]):
    hurried = False

    def wait(self, gen: Generator[Any, Any, Any], *limits: Any, **more: Any) -> Any:
        try:
            return super().wait(_bounded(gen, self.silence_s), *limits, **more)
        except Silence:
            self.close()
            raise

    @property
    def silence_s(self) -> float:
        return min(HURRIED_S, SILENCE_S) if self.hurried else SILENCE_S


class Silence(psycopg.OperationalError):
    """Whether what was asked for is done, nobody knows."""


def _bounded(gen: Generator[Any, Any, Any], silence_s: float) -> Generator[Any, Any, Any]:
    """psycopg comes by several times a second, whether there was something to read or not."""
    until = time.monotonic() + silence_s
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                until = time.monotonic() + silence_s
            elif time.monotonic() > until:
                raise Silence(f"no answer for {silence_s:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


class Text(StrBinaryDumper):
    """Without NUL, which PostgreSQL has no place for."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd") if "\0" in obj else obj)


def connect(conninfo: str) -> Connection:
    link = Connection.connect(conninfo, autocommit=True)
    link.adapters.register_dumper(int, Int8BinaryDumper)  # of any size: statements stay prepared
    link.adapters.register_dumper(str, Text)
    return link
