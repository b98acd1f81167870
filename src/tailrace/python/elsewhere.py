"""A server elsewhere makes the calls: bags by its API, answers in bulk as its feed tells them."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from tailrace.cli.servers.asking import Asked
from tailrace.cli.servers.calling import Busy
from tailrace.cli.servers.handing import patiently
from tailrace.cli.servers.sending import send_blobs
from tailrace.errors import ServerError, TailraceError
from tailrace.python.answers import Answers
from tailrace.python.parcels import CallBag
from tailrace.scheduler.events import Change
from tailrace.server.records.reading import BagFacts
from tailrace.server.submission import Submission
from tailrace.server.tables.lock import Owner
from tailrace.server.web.answering import Answered

log = logging.getLogger("tailrace")
WAIT_S = 25.0
HEED_S = 10.0  # without an answer, then it is told why they wait
PATIENCE_S = 60.0  # with a server that does not answer
AGAIN_S = 1.0


class Elsewhere:
    """One thread for each bag under way: most of its life it waits for the server to answer."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._closed = threading.Event()
        self._asked = Asked(owner, log.warning, self._closed.wait)
        self._pid = os.getpid()
        self._asked.get("me")  # who cannot be reached, or is not ours, says so now

    @property
    def alive(self) -> bool:
        return not self._closed.is_set() and os.getpid() == self._pid

    def submit(self, bag: CallBag, answers: Answers, taken: Callable[[int], None]) -> None:
        work = (self._follow, bag, answers, taken)
        threading.Thread(target=work[0], args=work[1:], name="tailrace bag", daemon=True).start()

    def cancel(self, bag: int) -> None:
        self._quietly(lambda: self._asked.change(bag, Change.CANCEL, why="its caller gave it up"))

    def close(self) -> None:
        self._closed.set()

    # ---- on the bag's thread ------------------------------------------------------------------

    def _follow(self, bag: CallBag, answers: Answers, taken: Callable[[int], None]) -> None:
        try:
            send_blobs(self._owner, bag.take_blobs())
            asked = Submission(bag.spec, list(bag.encode()[1]))
            told = patiently(self._owner, asked, log.warning, self._closed.wait)
        except Exception as error:
            answers.end(str(error))
            taken(0)
            return
        taken(told.bag)
        try:
            answers.end(self._listen(told.bag, answers))
        except Exception as error:
            answers.end(str(error))

    def _listen(self, bag: int, answers: Answers) -> str:
        """Until all is told; why there is no more."""
        told, over, began = Answered(0), "", time.monotonic()
        heeded = False
        while not (answers.complete or self._closed.is_set()):
            told = self._news(bag, told, WAIT_S if heeded else HEED_S)
            if not heeded and not told.answers and time.monotonic() - began >= HEED_S:
                self._quietly(partial(self._heed, bag))
                heeded = True
            heeded = heeded or bool(told.answers)
            answers.put((one.task, one.outcome, bytes(one.report)) for one in told.answers)
            over = told.over or over
            if over and not told.more:
                return over
        return "the Executor was shut down"

    def _heed(self, bag: int) -> None:
        """Where nothing of the bag runs and nothing has come of it, that may stay so for ever."""
        facts = self._asked.get(f"bags/{bag}", BagFacts)
        if not facts.live and not facts.done:
            why = "\n  ".join(self._asked.explain(f"bag {bag}"))
            log.warning("calls of bag %d wait for a machine; the server says:\n  %s", bag, why)

    def _news(self, bag: int, known: Answered, wait_s: float) -> Answered:
        """What comes behind it. A server that is started again, or cannot commit just now, is
        waited for."""
        failed = 0.0
        while True:
            try:
                since = f"after={known.after}&skip={known.skip}&wait={wait_s:g}"
                path = f"bags/{bag}/answers?{since}"
                told: Answered = self._asked.get(path, Answered)
                return told
            except Busy:
                raise  # it was asked for long enough
            except ServerError:
                failed += AGAIN_S
                if failed > PATIENCE_S or self._closed.wait(AGAIN_S):
                    raise

    def _quietly(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except TailraceError:
            pass  # it has ended, or nobody is there: then nothing runs either
