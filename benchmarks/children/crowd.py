"""Many workers in one process, each with a connection of its own and one call a second.

Whatever a reply starts, the next call reports as succeeded. A call that is refused is made again
when its server said so. Prints one line of JSON: how long calls took, and what came of them.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from statistics import quantiles

import msgspec

from benchmarks.children.calling import ATTEMPT, BODY, HEAD, RESULT

ACKED = re.compile(rb'"ack":\[([\d,]*)\]')
STATUS = re.compile(rb"HTTP/1.1 (\d+)")
FIELD = re.compile(rb"(content-length|retry-after): *(\d+)", re.IGNORECASE)
EVERY_S = 1.0


class Told(msgspec.Struct):
    calls: int = 0
    refused: int = 0
    acked: int = 0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    longest_ms: float = 0.0


class Worker:
    def __init__(self, number: int, port: int, token: bytes) -> None:
        self._host = b"crowd%d" % number
        self._port, self._token = port, token
        self._seq = 0
        self._started: list[bytes] = []
        self.took: list[float] = []
        self.refused = self.acked = 0

    async def run(self, starts: float, seconds: float) -> None:
        """Then once more, to report what is left."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(starts - loop.time())
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        due, until = loop.time(), starts + seconds
        while loop.time() < until:
            await self._call(1)
            due = max(due + EVERY_S, loop.time())
            await asyncio.sleep(due - loop.time())
        while self._started:
            await self._call(0)
        self._writer.close()

    async def _call(self, cores: int) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        status, after_s, body = await self._exchange(cores)
        self.took.append(loop.time() - began)
        if status == 503:
            self.refused += 1
            await asyncio.sleep(after_s * random.uniform(1.0, 1.25))
            return
        found = ACKED.search(body)
        self.acked += len(found[1].split(b",")) if found and found[1] else 0
        self._started = ATTEMPT.findall(body)

    async def _exchange(self, cores: int) -> tuple[int, int, bytes]:
        self._seq += 1
        results = b",".join([RESULT % int(attempt) for attempt in self._started])
        body = BODY % (self._host, self._seq, cores * 1000, results)
        self._writer.write(HEAD % (self._token, len(body)) + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        fields = {name.lower(): int(value) for name, value in FIELD.findall(head)}
        status = STATUS.match(head)
        assert status is not None
        data = await self._reader.readexactly(fields[b"content-length"])
        if status[1] not in (b"200", b"503"):
            raise SystemExit(data.decode("utf-8", "replace"))
        return int(status[1]), fields.get(b"retry-after", 1), data


async def crowd(port: int, token: bytes, workers: int, seconds: float) -> Told:
    """They begin one after another, so that their calls lie beside each other, not on a heap."""
    starts = asyncio.get_running_loop().time()
    all_of_them = [Worker(number, port, token) for number in range(workers)]
    await asyncio.gather(
        *(one.run(starts + EVERY_S * n / workers, seconds) for n, one in enumerate(all_of_them))
    )
    took = sorted(1000 * each for one in all_of_them for each in one.took)
    cuts = quantiles(took, n=100)
    refused = sum(one.refused for one in all_of_them)
    acked = sum(one.acked for one in all_of_them)
    return Told(len(took), refused, acked, cuts[49], cuts[98], took[-1])


if __name__ == "__main__":
    port, token, workers, seconds = sys.argv[1:]
    told = asyncio.run(crowd(int(port), token.encode(), int(workers), float(seconds)))
    print(msgspec.json.encode(told).decode())
