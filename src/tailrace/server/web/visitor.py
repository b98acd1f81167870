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
from functools import cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tailrace.server.protocol import encode
from tailrace.server.web.turnstile import FULL

KNOWN = "tailrace.known"  # set in the scope of a call that came with a token that holds
ENTERS = "tailrace.enters"  # set in that of a work call whose head was let in
HEAD_S = 20  # for TLS and a head; and so long a stranger may say nothing
IDLE_S = 150  # for who has shown a token; uvicorn ends it before, unless something trickles in
BODY_S = 30  # in which so much of a body must come, or its end: about 9 kB a second
BODY_BYTES = 256 << 10
# Of a body that nobody reads any more, since its call has its answer. Some is let in because who is
# cut off in the midst of sending may never see that answer: more than workers send, as a rule.
REST_BYTES = 16 << 20
REST_S = 20
TOO_SLOW = b'{"error": "the body came too slowly: at least 256 KiB in 30 seconds are expected"}'
REFUSED = encode({"error": FULL})
WORK_URL = b"/api/v1/work"
# from a head to the seconds that its sender is told to stay away; None: it is let in
StaysAway = Callable[[list[tuple[bytes, bytes]]], int | None]


class Stage(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    REST = auto()  # of a body: its call has been answered
    ANSWER = auto()  # ours to give: it takes what it takes


@cache
def _come_again(after_s: int) -> bytes:
    return (
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
        b"retry-after: %d\r\ncontent-length: %d\r\n\r\n%s" % (after_s, len(REFUSED), REFUSED)
    )


class Visitor(HttpToolsProtocol):
    def __init__(self, *words: Any, stays_away_s: StaysAway | None = None, **named: Any) -> None:
        super().__init__(*words, **named)
        self._stays_away_s = stays_away_s
        self._refused = False  # this call, by its head: its body is not taken
        self.entered = False  # and, where it speaks TLS, done with greeting
        self._in_head = self._in_body = False
        self._rest = 0  # bytes of this body that came after the answer
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
        self.left = lambda: None  # which knows this visitor: a circle

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._calls += 1
        self._rest = 0
        self._refused = False
        if self._stays_away_s is not None and self._plainly_works():
            after_s = self._stays_away_s(self.headers)
            if after_s:
                self._refuse(after_s)
                return
            if after_s is not None:
                self.scope[ENTERS] = True  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._is_answered():
            self._rest += len(body)
            if self._rest > REST_BYTES:
                self.transport.close()
        else:
            super().on_body(body)

    def _is_answered(self) -> bool:
        return self._refused or self.cycle.response_complete

    def on_message_complete(self) -> None:
        self._in_body = False
        if not self._refused:
            super().on_message_complete()

    def _plainly_works(self) -> bool:
        """A work call with nothing unusual about it: one after the other, its connection kept."""
        return (
            self.url == WORK_URL
            and self.parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and self.parser.should_keep_alive()
            and not (self.expect_100_continue or self.parser.should_upgrade())
            and not (self.flow.write_paused or self.transport.is_closing())
        )

    def _refuse(self, after_s: int) -> None:
        """Before anything is begun for it; the connection stays."""
        self._refused = self._known = True
        self.transport.write(_come_again(after_s))
        self.on_response_complete()

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
        if self._in_body:
            return Stage.REST
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
        return {Stage.BODY: BODY_S, Stage.REST: REST_S}.get(stage, HEAD_S)

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
