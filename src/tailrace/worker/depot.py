"""A server's blobs, as they are read and put; a connection that breaks is made anew."""

from __future__ import annotations

import json
import random
import time
from typing import Any, Callable, List, Optional, Tuple
from urllib.parse import urlsplit

from .blobs import CHUNK, digest
from .joining import Join
from .pinned import connect, seconds, words

PATIENCE_S = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
ASKED_AT_ONCE = 1000
KEY_HEADER = "Tailrace-Host-Key"  # shows which machine of its pool a worker is
TRY_AGAIN = (408, 429)  # came too slowly, or too often
NO_TOKEN = 401
WITHHELD = (403, 404)
WRONG_AT_MOST = 3  # times that what came was not what its name says


class Refused(Exception):
    """The server says no, and would again."""


class Withheld(Refused):
    """It does not have this, or not for who asks: any other machine would hear the same."""


class Depot:
    def __init__(
        self,
        join: Callable[[], Join],
        go_on: Callable[[str], object],
        key: str = "",
        patience_s: float = 0.0,
    ) -> None:
        """`join` says where the server is now. `go_on` is asked before each try, with what went
        wrong the last time; it raises when it is not worth while any more. `key`: of a worker.
        `patience_s`: for so long `join` may come to say another token than one that is refused."""
        self._head = {KEY_HEADER: key} if key else {}
        self._join = join
        self._go_on = go_on
        self._connection: Any = None
        self._patience_s = patience_s
        self._refused_at: Optional[float] = None  # its token, first
        self._asked_s = 0.0  # to stay away, by the newest answer
        self._room = memoryview(bytearray(CHUNK))  # used again: new memory costs more than reading

    def read(self, name: str, whose: str) -> memoryview:
        """Good until the next is read. `whose`: `?attempt=7`, of one that this machine has, or
        `?bag=3`, of the caller's."""
        for _ in range(WRONG_AT_MOST):
            data = self._ask("GET", f"{name}{whose}")
            if digest(data) == name:
                return data
        raise Refused(f"what the server gives for {name} is something else")

    def missing(self, names: List[str], attempt: Optional[int] = None) -> List[str]:
        found: List[str] = []
        for at in range(0, len(names), ASKED_AT_ONCE):
            body = {"hashes": names[at : at + ASKED_AT_ONCE], "attempt": attempt}
            found += json.loads(bytes(self._ask("POST", "missing", json.dumps(body).encode())))
        return found

    def put(self, name: str, data: bytes, whose: str = "") -> None:
        self._ask("PUT", f"{name}{whose}", data)

    def _ask(self, method: str, path: str, body: Optional[bytes] = None) -> memoryview:
        pause, wrong = FIRST_PAUSE_S, ""
        while True:
            self._go_on(wrong)
            try:
                status, data = self._exchange(method, path, body)
            except Exception as error:
                self.close()
                self._asked_s = 0.0
                wrong = words(error)
            else:
                may_change = self._may_change(status)
                if status == 200:
                    return data
                wrong = _words(bytes(data))
                if not may_change:
                    raise (Withheld if status in WITHHELD else Refused)(wrong)
            time.sleep(max(pause, self._asked_s * random.uniform(1.0, 1.25)))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _may_change(self, status: int) -> bool:
        """Another time the answer may be another."""
        if status != NO_TOKEN:
            self._refused_at = None
            return status >= 500 or status in TRY_AGAIN
        self.close()  # who has a new token may have a new address, too
        now = time.monotonic()
        self._refused_at = now if self._refused_at is None else self._refused_at
        return now < self._refused_at + self._patience_s

    def _exchange(self, method: str, path: str, body: Optional[bytes]) -> Tuple[int, memoryview]:
        join = self._join()
        if self._connection is None:
            self._connection = connect(join.url, join.fingerprint, PATIENCE_S)
        head = dict(self._head)
        if join.token:
            head["Authorization"] = f"Bearer {join.token}"
        above = urlsplit(join.url).path + "/api/v1/blobs/"
        self._connection.request(method, above + path, body, head)
        response = self._connection.getresponse()
        data = self._received(response)
        self._asked_s = seconds(response.getheader("Retry-After")) or 0.0
        if response.will_close:
            self.close()
        return response.status, data

    def _received(self, response: Any) -> memoryview:
        length = response.length
        if length is None or length > CHUNK:
            return memoryview(response.read())
        at = 0
        while at < length:
            count = response.readinto(self._room[at:length])
            if not count:
                raise ConnectionError("the answer was cut short")
            at += count
        response.read()
        return self._room[:length]

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _words(data: bytes) -> str:
    try:
        return str(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode("utf-8", "replace")
