"""Files on their way to a server: what it has already stays here."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from tailrace.bag import catalogue
from tailrace.bag.bag import Bag
from tailrace.bag.spec import BagSpec
from tailrace.cli.servers.packing import Packed, cut, pack
from tailrace.cli.servers.waiting import PATIENCE_S, to_the_terminal
from tailrace.errors import BadInput, ServerError
from tailrace.server.tables.lock import Owner
from tailrace.worker.blobs import digest
from tailrace.worker.depot import Depot, Refused
from tailrace.worker.joining import Join

AT_ONCE = 4


class Sent(msgspec.Struct, frozen=True):
    files: int
    bytes: int
    sent: int  # bytes of them that the server did not have


def send(owner: Owner, bag: Bag) -> tuple[BagSpec, Sent]:
    """The bag's spec, which now names what it takes along."""
    packed = pack(bag)
    text = catalogue.encode(packed.catalogue)
    if len(text) > catalogue.MOST_BYTES:
        raise BadInput(
            f"the bag has {len(packed.files):,} input files, more than a server takes",
            remedy="Pack them into fewer archives, or put them on a folder that machines share.",
        )
    sizes, blobs = packed.files.values(), dict[str, memoryview]()
    name = cut(text, blobs)
    packed.lists.update((blob, bytes(data)) for blob, data in blobs.items())
    sent = _sent(owner, packed)
    return replace(bag.spec, catalogue=name), Sent(len(sizes), sum(sizes), sent)


def send_blobs(owner: Owner, blobs: Mapping[str, memoryview]) -> None:
    """Those that the server does not have from us."""
    if not blobs:
        return
    one = depot(owner)
    try:
        for name in one.missing(list(blobs)):
            one.put(name, bytes(blobs[name]))
    except Refused as error:
        raise BadInput(f"the server at {owner.address} refuses: {error}") from None
    finally:
        one.close()


class GoingOn:
    """Gives up when nothing has come or gone for a while; tells each trouble once."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._since = 0.0
        self._said: set[str] = set()

    def __call__(self, wrong: str) -> None:
        """Before each try, with what went wrong with the last."""
        now = time.monotonic()
        if not wrong:
            self._since = now
            return
        text = f"the server at {self._owner.address} does not take or give files: {wrong}"
        if now - self._since > PATIENCE_S:
            remedy = "The same command again goes on where this one stopped."
            raise ServerError(text, remedy=remedy)
        if wrong not in self._said:
            to_the_terminal(f"{text}; trying again")
        self._said.add(wrong)


def depot(owner: Owner, go_on: GoingOn | None = None) -> Depot:
    join = Join(owner.address, owner.token, owner.fingerprint)
    return Depot(lambda: join, go_on or GoingOn(owner))


def _sent(owner: Owner, packed: Packed) -> int:
    """How many bytes of files were sent; lists of chunks do not count."""
    one = depot(owner)
    try:
        missing = one.missing(packed.names)
    except Refused as error:
        raise BadInput(f"the server at {owner.address} refuses: {error}") from None
    finally:
        one.close()
    if not missing:
        return 0
    with ThreadPoolExecutor(AT_ONCE) as threads, _bar(len(missing)) as bar:
        sender = Sender(owner, packed)
        total = 0
        for name, size in zip(missing, threads.map(sender.send, missing), strict=True):
            total += size if name in packed.chunks else 0
            bar.update(1)
    return total


def _bar(length: int) -> Any:
    """Of chunks, so of MiB; nothing where there is no terminal."""
    shown = sys.stderr.isatty()
    out = sys.stderr if shown else io.StringIO()
    return click.progressbar(length=length, label="sending files", file=out)


class Sender:
    """Each thread has a connection of its own."""

    def __init__(self, owner: Owner, packed: Packed) -> None:
        self._owner, self._packed = owner, packed
        self._own = threading.local()
        self._going_on = GoingOn(owner)  # for all of them: while one gets on, the server is there

    def send(self, name: str) -> int:
        if not hasattr(self._own, "depot"):
            self._own.depot = depot(self._owner, self._going_on)
        data = self._packed.read(name)
        if digest(data) != name:
            path, _ = self._packed.chunks[name]
            raise BadInput(f"the input {path} changed while it was sent", remedy="Try again.")
        try:
            self._own.depot.put(name, data)
        except Refused as error:
            raise BadInput(f"the server at {self._owner.address} refuses: {error}") from None
        return len(data)
