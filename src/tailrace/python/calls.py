"""A list of calls becomes a bag."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from tailrace.bag.chunks import Chunks
from tailrace.bag.items import Function, Luggage, encode_items, in_chunks, pack
from tailrace.bag.rules import read_rules
from tailrace.bag.spec import BagSpec
from tailrace.bag.tables import Origin, Table
from tailrace.errors import BadInput
from tailrace.python.parcels import CallBag, Parcels
from tailrace.python.pickling import cloudpickle_zip

GRACE_US = 1_000_000  # a call that is ended seldom listens


class Rules(msgspec.Struct, frozen=True):
    """How calls are treated, in the words of a bag file; each may be left out."""

    time_limit: str | float | None = None
    memory_limit: str | int | None = None
    cores: float | None = None
    memory: str | int | None = None
    gpus: int | None = None
    retries: int = 0

    def as_table(self) -> dict[str, Any]:
        limits = {"time": _seconds(self.time_limit), "memory": self.memory_limit}
        needs = {"cores": self.cores, "memory": self.memory, "gpus": self.gpus}
        table: dict[str, Any] = {"retries": {"task_failed": self.retries}}
        for name, found in (("limits", limits), ("needs", needs)):
            given = {key: value for key, value in found.items() if value is not None}
            if given:
                table[name] = given
        return table

    def fields(self, name: str) -> dict[str, Any]:
        """Fields of a spec; BadInput names what cannot be used."""
        given = self.as_table()
        table = Table(given, Origin(flags=given))
        rules = read_rules(table, name)
        table.finish()
        return {**rules, "grace_us": GRACE_US}


def _seconds(limit: str | float | None) -> str | None:
    return f"{limit}s" if isinstance(limit, (int, float)) else limit


def bag_of(
    name: str, function: bytes, items: Iterable[bytes], fields: dict[str, Any], runners: str
) -> CallBag:
    """`function` is empty when each item brings its own. Items wait on disk if they are many."""
    chunks, ends, parcels = Chunks(), [0], Parcels()
    chunks.append(pack(Luggage(function, cloudpickle_zip())))
    for chunk in in_chunks(parcels.wrapped(items)):
        chunks.append(encode_items(chunk))
        ends.append(ends[-1] + len(chunk))
    about = Function(
        name=name,
        python="{}.{}".format(*sys.version_info),
        interpreter=sys.executable,
        path=tuple(sys.path),
        runners=runners,
        ends=tuple(ends[1:]),
    )
    spec = BagSpec(folder=_here(), source="Python", function=about, catalogue=parcels.listed(),
                   **{**fields, "name": name})  # fmt: skip
    return CallBag(spec, chunks.__getitem__, parcels.blobs)


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError as error:
        remedy = "Go to a folder that exists: calls run in the folder of their caller."
        raise BadInput("the current folder is not there any more", remedy=remedy) from error
