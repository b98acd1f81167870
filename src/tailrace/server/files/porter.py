"""Who carries outputs to their targets: on one thread, and tells when each is there."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from tailrace.bag.bag import Bag
from tailrace.server.content import Contents
from tailrace.server.files import arrivals
from tailrace.server.files.blobs import Blobs, of_attempt
from tailrace.server.files.publishing import attempt_folder, clear_scratch, publish
from tailrace.server.protocol import decode_result
from tailrace.server.tables.store import Store

log = logging.getLogger("tailrace.server")


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
        self.failed: dict[int, str] = {}  # attempts whose outputs could not be moved, and why

    @property
    def busy(self) -> bool:
        return bool(self._carried)

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
        outputs = [output for output in of.task(index).outputs if output.name in written]
        folder = self._folder(bag, of)
        job = partial(publish, self._scratch, attempt, outputs, folder)
        if of.spec.catalogue is not None:
            arrived = [(output, written[output.name]) for output in outputs]
            job = partial(arrivals.publish, self._blobs, attempt, bag, arrived, folder)
        self._carried[attempt] = None
        moved = asyncio.get_running_loop().run_in_executor(self._thread, job)
        moved.add_done_callback(lambda done: self._done(attempt, done))

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

    def _done(self, attempt: int, done: asyncio.Future[None]) -> None:
        del self._carried[attempt]
        error = done.exception()
        if error is None:
            self.failed.pop(attempt, None)
        else:
            self.failed[attempt] = str(error)
            log.error("%s", error)
        self._told(attempt, error is None)

    def close(self) -> None:
        self._thread.shutdown()
