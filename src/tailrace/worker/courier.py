"""Carries the files of attempts in threads of its own: inputs here first, outputs away at the end.

All but `_carry` and what it calls is done in the client's thread. A file that several attempts
want is fetched once, for the first of them that is still there.
"""

from __future__ import annotations

import base64
import os
import shutil
import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Set

from .blobs import File
from .cache import Cache
from .errands import NOT_WANTED, CannotCarry, bring, deliver
from .joining import Join
from .results import unstarted
from .staging import attempt_folder

THREADS = 2
Json = Dict[str, Any]


class Ready(NamedTuple):
    """All inputs are here: what the keeper is told."""

    order: Json
    terms: Json


class Delivered(NamedTuple):
    """The attempt has ended, and its outputs, if there are any, are with the server."""

    result: Json


class _Done(NamedTuple):
    job: "_Job"
    error: str
    result: Optional[Json] = None
    of_bag: bool = False  # what failed would fail on any machine


class _Job(NamedTuple):
    file: Optional[File]  # to fetch; else the outputs of a result are to be delivered
    result: Json


Arrival = Any  # Ready or Delivered


class Courier:
    def __init__(
        self,
        join: Join,
        cache: Cache,
        scratch: str,
        arrived: Callable[[], None],
        key: str = "",
    ) -> None:
        """`key` is the host's."""
        self.cache = cache
        self._key = key
        self._join, self._scratch, self._arrived = join, scratch, arrived
        self._orders: Dict[int, Ready] = {}  # whose inputs are on the way
        self._missing: Dict[int, Set[File]] = {}
        self._wanted: Dict[File, List[int]] = {}
        self._fetching: Set[File] = set()
        self._files: Dict[int, List[File]] = {}  # in use until the attempt ends
        self._results: Dict[int, Json] = {}  # whose outputs are on the way
        self._changed = threading.Condition()
        self._jobs: Deque[_Job] = deque()
        self._done: List[_Done] = []
        self._threads = 0
        shutil.rmtree(scratch, ignore_errors=True)  # of earlier sessions, whose attempts are over

    # ---- what the client asks -----------------------------------------------------------------

    def fetch(self, order: Json, terms: Json) -> List[Arrival]:
        """What is ready at once."""
        attempt, inputs = order["attempt"], order.get("inputs") or []
        for item in inputs:
            if "hash" not in item and not os.path.exists(item["path"]):
                text = f"the input {item['name']} is not on the server, nor here as {item['path']}"
                return [_failed(attempt, text, of_bag=True)]
        files = list({_file(item): None for item in inputs if "hash" in item})
        self._files[attempt] = files
        for file in files:
            self.cache.use(file)
        self._orders[attempt] = Ready(order, terms)
        self._missing[attempt] = {file for file in files if not self.cache.has(file)}
        for file in self._missing[attempt]:
            self._want(file, attempt)
        return self._ready(attempt)

    def _want(self, file: File, attempt: int) -> None:
        self._wanted[file] = [*self._wanted.get(file, ()), attempt]
        self._begin(file)

    def _begin(self, file: File) -> None:
        if file not in self._fetching:
            self._fetching.add(file)
            self._hand_over(_Job(file, {}))

    def take_along(self, small: Mapping[str, str]) -> None:
        """Blobs that came with a reply; what cannot be kept is asked for when it is needed."""
        for name, text in small.items():
            try:
                data = base64.b64decode(text)
                file = File(name, len(data))
                if file not in self._fetching:
                    self.cache.put(file, data)
            except (OSError, ValueError):
                pass

    def _ready(self, attempt: int) -> List[Arrival]:
        if self._missing[attempt]:
            return []
        del self._missing[attempt]
        order, terms = self._orders.pop(attempt)
        inputs = [self._laid(item) for item in order.get("inputs") or []]
        return [Ready(dict(order, inputs=inputs), terms)]

    def _laid(self, item: Json) -> Json:
        if "hash" not in item:
            return item
        mode = 0o555 if item.get("executable") else 0o444
        return {"name": item["name"], "path": self.cache.path(_file(item)), "mode": mode}

    def ended(self, result: Json) -> List[Arrival]:
        """The keeper says so. Of an attempt that has no files, nothing is to be done."""
        attempt = result["attempt"]
        if attempt not in self._files:
            return [Delivered(result)]
        self._let_go(attempt)
        if result["outcome"] != "succeeded" or not result.get("outputs"):
            return [Delivered(result)]
        self._results[attempt] = result
        self._hand_over(_Job(None, result))
        return []

    def _let_go(self, attempt: int) -> None:
        for file in self._files.pop(attempt, ()):
            self.cache.let_go(file)

    def carries(self, attempt: int) -> bool:
        return attempt in self._orders or attempt in self._results

    def stop(self, attempt: int, outcome: str) -> List[Arrival]:
        """It is to end. Outputs that are on the way go on as long as the worker stays, unless
        nobody wants them."""
        if attempt in self._orders:
            del self._orders[attempt]
            self._unwant(attempt)
            return [Delivered(unstarted(attempt, "cancelled", "not started"))]
        if attempt in self._results and outcome == "cancelled":
            result = self._results.pop(attempt)
            return [Delivered(dict(result, outcome=outcome, outputs=[], value=None))]
        return []

    def _unwant(self, attempt: int) -> None:
        for file in self._missing.pop(attempt, ()):
            left = [each for each in self._wanted.get(file, ()) if each != attempt]
            if file in self._wanted:
                self._wanted[file] = left  # the thread looks at it: the list itself never changes
        self._let_go(attempt)

    def take(self) -> List[Arrival]:
        """What has arrived since."""
        with self._changed:
            done, self._done = self._done, []
        found: List[Arrival] = []
        for each in done:
            if each.job.file is None:
                found += self._delivered(each)
            else:
                found += self._fetched(each.job.file, each.error, each.of_bag)
        return found

    def _fetched(self, file: File, error: str, of_bag: bool) -> List[Arrival]:
        found: List[Arrival] = []
        self._fetching.discard(file)
        if error == NOT_WANTED and self._wanted.get(file):  # by others, in the meantime
            self._begin(file)
            return found
        for attempt in self._wanted.pop(file, ()):
            if error:
                del self._orders[attempt]
                self._unwant(attempt)
                found.append(_failed(attempt, error, of_bag))
            else:
                self._missing[attempt].discard(file)
                found += self._ready(attempt)
        return found

    def _delivered(self, done: _Done) -> List[Arrival]:
        result = self._results.pop(done.job.result["attempt"], None)
        if result is None:
            return []
        if done.error:
            result = dict(result, outcome="host_failed", outputs=[], value=None, error=done.error)
        return [Delivered(done.result or result)]

    def _hand_over(self, job: _Job) -> None:
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
            if self._threads < THREADS:
                self._threads += 1
                threading.Thread(target=self._carry, name="files", daemon=True).start()

    def turn_to(self, join: Join) -> None:
        """From the next connection on."""
        self._join = join

    def _where(self) -> Join:
        return self._join

    def _carry(self) -> None:
        """In a thread."""
        while True:
            with self._changed:
                while not self._jobs:
                    self._changed.wait()
                job = self._jobs.popleft()
            done = self._bring(job) if job.file is not None else self._deliver(job)
            with self._changed:
                self._done.append(done)
            self._arrived()

    def _bring(self, job: _Job) -> _Done:
        file = job.file
        assert file is not None
        wanted = lambda: self._wanted.get(file) or []  # noqa: E731
        error, of_bag = bring(self._where, self.cache, file, wanted, self._key)
        return _Done(job, error, of_bag=of_bag)

    def _deliver(self, job: _Job) -> _Done:
        attempt = job.result["attempt"]
        try:
            outputs = deliver(self._where, job.result, lambda: attempt in self._results, self._key)
        except CannotCarry as error:
            return _Done(job, str(error))
        finally:
            shutil.rmtree(attempt_folder(self._scratch, attempt), ignore_errors=True)
        return _Done(job, "", dict(job.result, outputs=outputs))


def _file(item: Json) -> File:
    return File(item["hash"], item["size"])


def _failed(attempt: int, error: str, of_bag: bool) -> Delivered:
    """With `of_bag` it is not booked on this host."""
    result = unstarted(attempt, "host_failed", error)
    return Delivered(dict(result, of_bag=True) if of_bag else result)
