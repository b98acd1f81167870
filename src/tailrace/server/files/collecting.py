"""Blobs that nobody needs any more go.

A bag holds its files as long as it runs, and a while after its end; a user what he has put, for as
long again, so that a bag handed in the next day sends nothing twice. What is put or asked for while
the collection runs is young, and stays.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from tailrace.server.files.blobs import Blobs
from tailrace.server.files.retention import Going

LEAST_S = 3600.0  # on the way in: a bag may come to hold it yet


class Collected(msgspec.Struct, frozen=True):
    bags: int
    blobs: int
    bytes: int
    removed: list[Going] = []  # bags that went whole
    pages: int = 0  # of the journal, from before all bags that are left
    hosts: int = 0  # that are silent, and that no bag knows


def collect(
    blobs: Blobs, ended: Collection[int], next_bag: int, keep_s: float, *, dry: bool = False
) -> Collected:
    """`ended` are bags whose time is over; those from `next_bag` on were never committed. `dry`
    removes nothing."""
    bags = [
        holder
        for holder, number in blobs.holders("bag")
        if int(number) in ended
        or (int(number) >= next_bag and _is_old(blobs.folder / "of" / holder))
    ]
    put = list(_put_long_ago(blobs, time.time() - max(keep_s, LEAST_S)))
    if dry:
        return _swept(blobs, len(bags), _links(blobs, bags, put), dry=True)
    for holder in bags:
        blobs.drop(holder)
    for path in put:
        path.unlink(missing_ok=True)
    for _, path in _older(blobs.folder / "new", time.time() - LEAST_S):
        path.unlink(missing_ok=True)
    return _swept(blobs, len(bags), Counter())


def _put_long_ago(blobs: Blobs, young: float) -> Iterator[Path]:
    """By users."""
    for holder, _ in blobs.holders("user"):
        for _, path in _older(blobs.folder / "of" / holder, young):
            yield path


def _links(blobs: Blobs, bags: list[str], put: list[Path]) -> Counter[str]:
    """How many each blob would lose, by its name."""
    held = (path for bag in bags for _, path in _older(blobs.folder / "of" / bag, float("inf")))
    return Counter(path.parent.name + path.name for path in (*held, *put))


def _is_old(folder: Path) -> bool:
    return folder.stat().st_mtime < time.time() - LEAST_S


def _swept(blobs: Blobs, bags: int, lost: Counter[str], *, dry: bool = False) -> Collected:
    """What has one link is held by nobody; a young one may be on its way to a holder."""
    count = size = 0
    for there, path in _older(blobs.folder / "all", time.time() - LEAST_S):
        if there.st_nlink - lost[path.parent.name + path.name] == 1:
            if not dry:
                path.unlink(missing_ok=True)
            count, size = count + 1, size + there.st_size
    return Collected(bags, count, size)


def _older(folder: Path, than: float) -> Iterator[tuple[os.stat_result, Path]]:
    for above, _, names in os.walk(folder):
        for name in names:
            path = Path(above, name)
            with suppress(OSError):
                there = path.stat()
                if there.st_mtime < than:
                    yield there, path
