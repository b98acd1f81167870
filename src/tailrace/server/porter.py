"""Who carries outputs to their targets: on one thread, and tells when each is there."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from tailrace.server.content import Contents
from tailrace.server.protocol import decode_result
from tailrace.server.publishing import attempt_folder, clear_scratch, publish
from tailrace.server.store import Store

log = logging.getLogger("tailrace.server")


class Porter:
    def __init__(
        self,
        store: Store,
        contents: Contents,
        scratch: Path,
        published: Callable[[int], None],
        thread: Executor,
    ) -> None:
        self._store = store
        self._contents = contents
        self._scratch = scratch
        self._published = published
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

    def carry(self, attempt: int) -> None:
        if attempt in self._carried:
            return
        bag, index, body = self._store.report(attempt)
        of = self._contents.bag(bag)
        written = {file.name for file in decode_result(body).outputs}
        outputs = [output for output in of.task(index).outputs if output.name in written]
        self._carried[attempt] = None
        loop = asyncio.get_running_loop()
        moved = loop.run_in_executor(
            self._thread, publish, self._scratch, attempt, outputs, Path(of.spec.folder)
        )
        moved.add_done_callback(lambda done: self._done(attempt, done))

    def discard(self, attempt: int) -> None:
        """Of a success that came second: nobody waits for what it wrote."""
        if self._store.of_no_use(attempt):
            folder = attempt_folder(self._scratch, attempt)
            self._thread.submit(shutil.rmtree, folder, ignore_errors=True)

    def _done(self, attempt: int, done: asyncio.Future[None]) -> None:
        del self._carried[attempt]
        error = done.exception()
        if error is None:
            self.failed.pop(attempt, None)
            self._published(attempt)
        else:
            self.failed[attempt] = str(error)
            log.error("%s", error)

    def close(self) -> None:
        self._thread.shutdown()
