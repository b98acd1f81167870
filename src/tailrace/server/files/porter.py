"""Who carries outputs to their targets: on one thread, and tells when each is there.

What is in the way may go: a disk gets room, a file is removed, a share comes back. So what could
not be moved is tried again, after pauses that double up to `LONGEST_S`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

import msgspec

from tailrace.bag.bag import Bag
from tailrace.server.content import Contents
from tailrace.server.files import arrivals
from tailrace.server.files.blobs import Blobs, of_attempt
from tailrace.server.files.publishing import attempt_folder, clear_scratch, publish
from tailrace.server.protocol import decode_result
from tailrace.server.tables.store import Store

log = logging.getLogger("tailrace.server")

FIRST_S, LONGEST_S = 2.0, 300.0  # between two tries
NOW = -math.inf
MOST_AT_ONCE = 100
MOST_TOLD = 5  # different reasons


class Stuck(msgspec.Struct):
    """Outputs of an attempt that could not be moved."""

    bag: int
    why: str
    pause_s: float
    due_s: float  # by the loop's clock


class Places:
    """Where things lie in the folder of the runs."""

    def __init__(self, folder: Path) -> None:
        self.scratch = folder / "scratch"
        self.blobs = folder / "blobs"
        self.outputs = folder / "outputs"


class Porter:
    def __init__(
        self,
        store: Store,
        contents: Contents,
        places: Places,
        carried: Callable[[int, bool], None],
        thread: Executor,
    ) -> None:
        self._store = store
        self._contents = contents
        self._scratch = places.scratch
        self._places = places
        self._blobs = Blobs(places.blobs)
        self._told = carried  # whether they are there now
        self._thread = thread
        self._carried: dict[int, None] = {}
        self._stuck: dict[int, Stuck] = {}  # by attempt
        self._look_s = math.inf  # when one of them is due

    @property
    def busy(self) -> bool:
        return bool(self._carried)

    def in_the_way(self, bag: int | None = None) -> list[str]:
        """What keeps outputs of a bag, or of any, from their targets, each reason once. Of those
        that are just tried again nobody knows."""
        tried = (one for attempt, one in self._stuck.items() if attempt not in self._carried)
        found = (one.why for one in tried if bag in (None, one.bag) and one.due_s != NOW)
        return list(dict.fromkeys(found))[:MOST_TOLD]

    def hurry(self, bag: int) -> None:
        """Somebody says that the way is free."""
        for one in self._stuck.values():
            if one.bag == bag:
                one.due_s, one.pause_s, self._look_s = NOW, FIRST_S, NOW

    def try_again(self) -> None:
        """What is stuck and due; some at a time, for others wait to be answered."""
        now_s = asyncio.get_running_loop().time()
        if now_s < self._look_s:
            return
        waiting = [(one.due_s, n) for n, one in self._stuck.items() if n not in self._carried]
        due = sorted(item for item in waiting if item[0] <= now_s)
        for _, attempt in due[:MOST_AT_ONCE]:
            self.carry(attempt)
        self._look_s = min([math.inf, *(due_s for due_s, n in waiting if n not in self._carried)])

    def take_up(self) -> None:
        """All that the tables say is still to be moved, and is not under way."""
        for attempt in self._store.unpublished():
            self.carry(attempt)

    def clear(self) -> None:
        clear_scratch(self._scratch, self._store.of_no_use)
        for holder, number in self._blobs.holders("attempt"):
            if number.isdigit() and self._store.of_no_use(int(number)):
                self._blobs.drop(holder)

    def carry(self, attempt: int) -> None:
        if attempt in self._carried:
            return
        bag, index, body = self._store.report(attempt)
        of = self._contents.bag(bag, index)
        written = {file.name: file for file in decode_result(body).outputs}
        outputs = of.outputs(index, written)
        folder = self._folder(bag, of)
        job = partial(publish, self._scratch, attempt, outputs, folder)
        if of.spec.catalogue is not None:
            arrived = [(output, written[output.name]) for output in outputs]
            job = partial(arrivals.publish, self._blobs, attempt, bag, arrived, folder)
        self._carried[attempt] = None
        moved = asyncio.get_running_loop().run_in_executor(self._thread, job)
        moved.add_done_callback(lambda done: self._done(bag, attempt, done))

    def _folder(self, number: int, bag: Bag) -> Path:
        """The owner's bags lie here; those of others came from elsewhere, and lead nowhere here."""
        if self._store.owner(number):
            return self._places.outputs / str(number)
        return Path(bag.spec.folder)

    def discard(self, attempt: int) -> None:
        """Of a success that came second: nobody waits for what it wrote."""
        if self._store.of_no_use(attempt):
            folder = attempt_folder(self._scratch, attempt)
            self._thread.submit(shutil.rmtree, folder, ignore_errors=True)
            self._thread.submit(self._blobs.drop, of_attempt(attempt))

    def _done(self, bag: int, attempt: int, done: asyncio.Future[None]) -> None:
        del self._carried[attempt]
        error = done.exception()
        if error is None:
            self._stuck.pop(attempt, None)
        else:
            self._keep_stuck(bag, attempt, str(error))
        self._told(attempt, error is None)

    def _keep_stuck(self, bag: int, attempt: int, why: str) -> None:
        before = self._stuck.get(attempt)
        pause_s = FIRST_S if before is None else min(2 * before.pause_s, LONGEST_S)
        due_s = asyncio.get_running_loop().time() + pause_s
        self._stuck[attempt] = Stuck(bag, why, pause_s, due_s)
        self._look_s = min(self._look_s, due_s)
        if before is None or before.why != why:
            log.error("outputs of bag %d wait: %s", bag, why)

    def close(self) -> None:
        self._thread.shutdown()
