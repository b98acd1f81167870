"""A trace: each event that the scheduler was told, and each decision it took, as lines of JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import msgspec

from tailrace.quantities import SECOND
from tailrace.scheduler.events import AnyEvent
from tailrace.simulation.telling import Watch


@contextmanager
def tracing(path: str | None) -> Iterator[Watch | None]:
    """To a file, or `-` for standard output; without a path, nothing watches."""
    if path is None:
        yield None
    elif path == "-":
        yield writer(sys.stdout.buffer)
        sys.stdout.flush()
    else:
        with open(path, "wb") as out:
            yield writer(out)


def writer(out: BinaryIO) -> Watch:
    encode = msgspec.json.Encoder().encode

    def write(event: AnyEvent, decisions: list[Any], now: int) -> None:
        at_s = now / SECOND
        lines = [{"at_s": at_s, "event": event}]
        lines += [{"at_s": at_s, "decision": decision} for decision in decisions]
        out.writelines(encode(line) + b"\n" for line in lines)

    return write
