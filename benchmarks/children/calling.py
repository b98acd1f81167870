"""A worker that executes at once: whatever a reply starts, the next call reports as succeeded.

Written to cost next to nothing, since it shares the cores with the server it measures: one raw
socket, one call in hand, the attempts found by a regular expression. It waits until `start`,
makes its first calls unmeasured, then counts until the time or the number of calls is reached.
"""

from __future__ import annotations

import re
import socket
import sys
import time
from typing import NamedTuple

ATTEMPT = re.compile(rb'"attempt":(\d+)')
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
# A tenth of a second of run time would let the server send ahead; a hundred seconds do not.
RESULT = (
    b'{"attempt":%d,"outcome":"succeeded","exit":0,"signal":null,"limit":null,"run_us":100000000,'
    b'"cpu_us":1000,"memory":1048576,"value":null,"stdout":"","stderr":"","stdout_bytes":0,'
    b'"stderr_bytes":0,"outputs":[],"error":""}'
)
BODY = (
    b'{"protocol":2,"key":"the key of a host in a benchmark","host":"%s","session":1,'
    b'"seq":%d,"pool":"bench","lease":null,"kind":"bench",'
    b'"about":{},"capacity":{"cores":%d},"held":[],"results":[%s],"progress":[],"wait_s":20}'
)
ANSWER_S = 60.0  # longer than any call is kept: the server has died
HEAD = (
    b"POST /api/v1/work HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


class Options(NamedTuple):
    port: int
    token: bytes
    host: bytes
    bundle: int
    start: float  # on the monotonic clock, which all processes share
    warm_s: float
    seconds: float
    calls: int


class Caller:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._socket = socket.create_connection(("127.0.0.1", options.port), ANSWER_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._seq = 0
        self._started: list[bytes] = []

    def call(self) -> int:
        """How many results it brought."""
        options = self._options
        self._seq += 1
        results = b",".join([RESULT % int(attempt) for attempt in self._started])
        body = BODY % (options.host, self._seq, options.bundle * 1000, results)
        self._socket.sendall(HEAD % (options.token, len(body)) + body)
        brought = len(self._started)
        self._started = ATTEMPT.findall(self._answer())
        return brought

    def _answer(self) -> bytes:
        data = self._socket.recv(1 << 16)
        while (cut := data.find(b"\r\n\r\n")) < 0:
            data += self._socket.recv(1 << 16)
        if not data.startswith(b"HTTP/1.1 200"):
            raise SystemExit(data.decode("utf-8", "replace"))
        found = LENGTH.search(data, 0, cut)
        assert found is not None
        end = cut + 4 + int(found[1])
        while len(data) < end:
            data += self._socket.recv(1 << 16)
        return data[cut + 4 :]


def main(options: Options) -> None:
    caller = Caller(options)
    time.sleep(max(options.start - time.monotonic(), 0))
    began = now = time.monotonic()
    while now < began + options.warm_s:
        caller.call()
        now = time.monotonic()
    tasks = calls = 0
    began = now
    while now < began + options.seconds and calls < options.calls:
        tasks += caller.call()
        calls += 1
        now = time.monotonic()
    print(tasks, calls, now - began)


if __name__ == "__main__":
    port, token, host, bundle, start, warm_s, seconds, calls = sys.argv[1:]
    main(
        Options(
            int(port), token.encode(), host.encode(), int(bundle), float(start), float(warm_s),
            float(seconds), int(calls),
        )
    )  # fmt: skip
