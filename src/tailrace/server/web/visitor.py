"""One connection: what it is about, and whether it takes too long for that.

uvicorn closes a connection that is idle after an answer, and nothing else: neither one that never
says a word, nor one whose head or body does not come to its end. (`limit_concurrency` counts
everybody, and would let strangers shut the door for those with a token.)

Time is counted in looks, one a second: a server that was held up itself holds nobody for slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

KNOWN = "tailrace.known"  # set in the scope of a call that came with a token that holds
HEAD_S = 20  # for TLS and a head; and so long a stranger may say nothing
IDLE_S = 150  # for who has shown a token; uvicorn ends it before, unless something trickles in
BODY_S = 30  # in which so much of a body must come, or its end: about 9 kB a second
BODY_BYTES = 256 << 10
TOO_SLOW = b'{"error": "the body came too slowly: at least 256 KiB in 30 seconds are expected"}'


class Stage(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()  # ours to give: it takes what it takes


class Visitor(HttpToolsProtocol):
    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.entered = False  # and, where it speaks TLS, done with greeting
        self._in_head = False
        self._known = False
        self._bytes = 0  # that came, within this stage
        self._calls = 0  # whose heads have come
        self._seen = 0  # of them, at the last look: between two looks a call may begin and end
        self._looks = 0  # since it entered this stage
        self._stage = Stage.IDLE
        self._untaken = 0  # bytes of an answer
        self.left: Callable[[], None] = lambda: None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.entered = True
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.left()

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._calls += 1
        super().on_headers_complete()

    @property
    def known(self) -> bool:
        """Whether it has shown a token that holds."""
        if not self._known and self.cycle is not None:
            self._known = KNOWN in self.cycle.scope
        return self._known

    @property
    def stage(self) -> Stage:
        cycle = self.cycle
        if self.pipeline:  # the next calls of one who does not wait for his answers
            return Stage.ANSWER
        if cycle is not None and not cycle.response_complete:
            return Stage.BODY if cycle.more_body else Stage.ANSWER
        return Stage.HEAD if self._in_head else Stage.IDLE

    def look(self) -> bool:
        """Another second has passed: whether it has had its time."""
        stage, untaken = self.stage, self._unsent()
        goes_on = stage is Stage.BODY and self._bytes >= BODY_BYTES
        goes_on = goes_on or self._calls != self._seen
        self._seen = self._calls
        if stage is not self._stage or goes_on or untaken != self._untaken:
            self._stage, self._looks, self._bytes, self._untaken = stage, 0, 0, untaken
        self._looks += 1
        return stage is not Stage.ANSWER and self._looks > self._most(stage)

    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size() if self.entered else 0

    def _most(self, stage: Stage) -> int:
        if stage is Stage.IDLE and self.known:
            return IDLE_S
        return BODY_S if stage is Stage.BODY else HEAD_S

    def turn_away(self) -> None:
        """Who is slow with a body is told so. The call that waits for it ends with the line."""
        if not self.entered or self.transport.is_closing():
            return
        if self.stage is Stage.BODY and not self.cycle.response_started:
            self.transport.write(
                b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\n"
                b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(TOO_SLOW), TOO_SLOW)
            )
        if self._untaken and self._unsent() == self._untaken:
            self.transport.abort()  # a line that takes nothing would be closed after all is taken
        else:
            self.transport.close()
