"""Many workers in one process, each with a connection of its own and a call every so often.

Whatever a reply starts, the next call reports as succeeded. A call that is refused is made again
when its server said so. Groups of them begin at `start` and leave when their time is over, with a
last call that reports what is left. Whose connection is closed before his first answer comes again,
as a worker does. Prints one line of JSON: what came of each call.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import re
import sys
from typing import NamedTuple

import msgspec

from benchmarks.children.calling import ATTEMPT, BODY, HEAD, RESULT

ACKED = re.compile(rb'"ack":\[([\d,]*)\]')
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
AFTER = re.compile(rb"retry-after: *(\d+)", re.IGNORECASE)
GOOD, REFUSED = b"HTTP/1.1 200", b"HTTP/1.1 503"


COME_A_SECOND = 3000  # that one process can connect, and let speak at once as real workers do


def coming_s(clients: int) -> float:
    return clients / COME_A_SECOND


class Group(NamedTuple):
    clients: int
    seconds: float
    every_s: float  # from one call to the next; 0: as soon as the last is answered
    cores: int = 1  # of each: so many tasks it takes at once, and brings back with the next call

    @classmethod
    def parse(cls, word: str) -> Group:
        clients, seconds, every_s, cores = word.split(":")
        return cls(int(clients), float(seconds), float(every_s), int(cores))

    def __str__(self) -> str:
        return ":".join(map(str, self))


class Told(msgspec.Struct):
    """Of each call when it began, on the clock that all processes share, and how it went."""

    began_s: list[float] = []
    took_s: list[float] = []
    refused: list[bool] = []
    acked: int = 0
    came_again: int = 0  # whose connection was closed before his first answer

    def add(self, began: float, took: float, refused: bool) -> None:
        self.began_s.append(began)
        self.took_s.append(took)
        self.refused.append(refused)


class Worker(asyncio.Protocol):
    def __init__(self, number: int, token: bytes, group: Group, until: float, told: Told) -> None:
        self._loop = asyncio.get_running_loop()
        self._host, self._token = b"crowd%d-%d" % (os.getpid(), number), token
        self._every_s, self._until, self._told = group.every_s, until, told
        self._cores = 1000 * group.cores
        self._seq, self._data, self._heard = 0, b"", False
        self._started: list[bytes] = []
        self.left: asyncio.Future[None] = self._loop.create_future()
        self._answers = 0
        self._coming: asyncio.Task[None] | None = None

    async def come(self, port: int) -> None:
        self._port = port
        await self._loop.create_connection(lambda: self, "127.0.0.1", port)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._due = self._loop.time()
        self._call()

    def _call(self) -> None:
        self._began = self._loop.time()
        self._seq += 1
        cores = self._cores if self._wants_more(self._began) else 0
        results = b",".join([RESULT % int(attempt) for attempt in self._started])
        body = BODY % (self._host, self._seq, cores, results)
        self._transport.write(HEAD % (self._token, len(body)) + body)

    def _wants_more(self, now: float) -> bool:
        """At least one."""
        return now < self._until or not self._heard

    def data_received(self, data: bytes) -> None:
        self._data += data
        cut = self._data.find(b"\r\n\r\n") + 4
        length = LENGTH.search(self._data, 0, cut) if cut >= 4 else None
        if length is not None and len(self._data) >= cut + int(length[1]):
            answer, self._data = self._data, b""
            self._answered(answer, cut)

    def _answered(self, answer: bytes, cut: int) -> None:
        now, refused = self._loop.time(), answer.startswith(REFUSED)
        self._told.add(self._began, now - self._began, refused)
        self._answers += 1
        if refused:
            after = AFTER.search(answer, 0, cut)
            assert after is not None
            self._go_on(now + int(after[1]) * random.uniform(1.0, 1.25))
        elif answer.startswith(GOOD):
            self._take(answer[cut:])
            self._go_on(max(self._due + self._every_s, now))
        else:
            self._fail(answer.decode("utf-8", "replace"))

    def _take(self, reply: bytes) -> None:
        acked = ACKED.search(reply)
        self._told.acked += len(acked[1].split(b",")) if acked and acked[1] else 0
        self._started = ATTEMPT.findall(reply)
        self._heard = True

    def _go_on(self, due: float) -> None:
        """With nothing to bring and nothing to ask for, it would only be kept waiting."""
        self._due = due
        if self._started or self._wants_more(due):
            self._loop.call_at(self._due, self._call)
        else:
            self.left.set_result(None)
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if self.left.done():
            return
        if self._answers:
            self._fail(f"the server hung up: {error}")
        else:
            self._told.came_again += 1
            self._coming = self._loop.create_task(self.come(self._port))

    def _fail(self, why: str) -> None:
        if not self.left.done():
            self.left.set_exception(SystemExit(why))


async def crowd(port: int, token: bytes, start: float, groups: list[Group]) -> Told:
    """They begin one after another, so that their calls lie beside each other, not on a heap.

    Where they came quicker, their connections would be there for seconds before a word of theirs,
    and a server has no patience with thousands of strangers who say nothing.
    """
    loop, told = asyncio.get_running_loop(), Told()
    clients = [(group, n / group.clients) for group in groups for n in range(group.clients)]

    comes_s = max(coming_s(len(clients)), 0.1)

    async def one(number: int, group: Group, place: float) -> None:
        begins = start + place * max(group.every_s, comes_s)
        await asyncio.sleep(begins - loop.time())
        worker = Worker(number, token, group, start + group.seconds, told)
        await worker.come(port)
        await worker.left

    await asyncio.gather(*(one(n, group, place) for n, (group, place) in enumerate(clients)))
    return told


if __name__ == "__main__":
    port, token, start, *groups = sys.argv[1:]
    gc.disable()  # or its pauses would be told as the server's
    wanted = list(map(Group.parse, groups))
    told = asyncio.run(crowd(int(port), token.encode(), float(start), wanted))
    print(msgspec.json.encode(told).decode())
