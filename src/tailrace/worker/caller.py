"""Carries calls to the server in a thread of its own, one at a time, over one kept connection."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from .joining import Join
from .pinned import connect, seconds, words
from .refusal import SAYS_WHY

CONNECT_S = 10.0
SLACK_S = 20.0  # beyond the time the server may keep a call


class Answer(NamedTuple):
    seq: int
    status: Optional[int]  # None: no answer
    reply: Optional[Dict[str, Any]]
    retry_after_s: Optional[float]
    error: str
    speaks: Optional[int] = None  # the protocol of a server that speaks another
    offered: str = ""  # the hash of its worker


class Caller:
    def __init__(self, join: Join, arrived: Callable[[], None]) -> None:
        """`arrived` is called in the thread when an answer can be taken."""
        self._join = join
        self._arrived = arrived
        self._changed = threading.Condition()
        self._next: Optional[Tuple[int, bytes, float]] = None
        self._current: Optional[int] = None
        self._dropped = False
        self._answers: List[Answer] = []
        self._connection: Any = None
        threading.Thread(target=self._run, name="calls", daemon=True).start()

    # ---- in the main thread -------------------------------------------------------------------

    def call(self, seq: int, body: bytes, wait_s: float) -> None:
        with self._changed:
            self._next = (seq, body, wait_s)
            self._changed.notify()

    def abandon(self, seq: int) -> None:
        with self._changed:
            if self._next is not None and self._next[0] == seq:
                self._next = None
            elif self._current == seq:
                self._dropped = True
                _hang_up(self._connection)

    def turn_to(self, join: Join) -> None:
        """From the next connection on."""
        self._join = join

    def take(self) -> List[Answer]:
        with self._changed:
            answers, self._answers = self._answers, []
        return answers

    # ---- in the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._next is None:
                    self._changed.wait()
                (seq, body, wait_s), self._next = self._next, None
                self._current, self._dropped = seq, False
            answer = self._speak(seq, body, wait_s)
            with self._changed:
                self._current = None
                if self._dropped:
                    self._close()
                    continue
                self._answers.append(answer)
            self._arrived()

    def _speak(self, seq: int, body: bytes, wait_s: float) -> Answer:
        """A kept connection that turns out dead before anything came back is made anew, once;
        a call that arrives twice does no harm."""
        fresh = self._connection is None
        try:
            return self._exchange(seq, body, wait_s)
        except Exception as error:
            self._close()
            if fresh or self._dropped or isinstance(error, socket.timeout):
                return Answer(seq, None, None, None, words(error))
        try:
            return self._exchange(seq, body, wait_s)
        except Exception as error:
            self._close()
            return Answer(seq, None, None, None, words(error))

    def _exchange(self, seq: int, body: bytes, wait_s: float) -> Answer:
        connection = self._connect()
        connection.sock.settimeout(wait_s + SLACK_S)
        with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before the end
            connection.request("POST", self._path(), body, self._headers())
        response = connection.getresponse()
        data = response.read()
        if response.will_close:
            self._close()
        if response.status == 200:
            reply = json.loads(data)
            if isinstance(reply, dict):
                return Answer(seq, 200, reply, None, "")
            return Answer(seq, None, None, None, "the answer is no JSON object")
        text = _error(data) if response.status in SAYS_WHY else ""
        text = text or data[:200].decode("utf-8", "replace")
        after_s = seconds(response.getheader("Retry-After"))
        speaks, offered = _versions(data) if response.status == 409 else (None, "")
        return Answer(seq, response.status, None, after_s, text, speaks, offered)

    def _path(self) -> str:
        return urlsplit(self._join.url).path + "/api/v1/work"

    def _headers(self) -> Dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self._join.token:
            headers["Authorization"] = f"Bearer {self._join.token}"
        return headers

    def _connect(self) -> Any:
        if self._connection is None:
            connection = connect(self._join.url, self._join.fingerprint, CONNECT_S)
            with self._changed:
                self._connection = connection
                if self._dropped:
                    raise ConnectionAbortedError("abandoned")
        return self._connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _versions(data: bytes) -> Tuple[Optional[int], str]:
    """What a server of another version says of itself."""
    try:
        told = json.loads(data)
        speaks, offered = told.get("protocol"), told.get("worker")
    except (ValueError, AttributeError):
        return None, ""
    known = isinstance(speaks, int) and isinstance(offered, str)
    return (speaks, offered) if known else (None, "")


def _error(data: bytes) -> str:
    """In words for whoever has this machine, who is to read all of them."""
    try:
        return str(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError):
        return ""


def _hang_up(connection: Any) -> None:
    """Ends the thread's wait; the thread itself closes the connection."""
    sock = None if connection is None else connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
