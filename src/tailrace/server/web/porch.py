"""Where connections come in: all are looked at once a second, and strangers are only so many.

A stranger is who has shown no token that holds. Each costs a file, of which a process has a few
thousand; so beyond a number the oldest that waits for nothing goes when the next one comes.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from tailrace.server.web.visitor import HEAD_S, Stage, Visitor

log = logging.getLogger("tailrace.server")

FILES = 65536  # that a server asks for, for itself
MOST_STRANGERS = 4000
LOOKED = 100  # of the oldest, whether they are known by now, before one is sent away
SHARE = 1 / 4  # of the files a process may have, for strangers
AT_ONCE = 1 / 8  # of the strangers there may be: those taken before others are seen to
REST_S = 1.0  # after one that could not be taken
SAY_S = 60.0  # between two lines in the log
FULL = (
    "no connection can be taken: %s; %d are open, and this process may have %d files; "
    "raise the limit (ulimit -n, LimitNOFILE= in a unit of systemd)"
)


class Porch:
    """What a listening socket takes in."""

    def __init__(
        self, sock: socket.socket, make: Callable[[], Visitor], tls: ssl.SSLContext | None
    ) -> None:
        self._sock = sock
        self._make = make
        self.tls = tls  # of the next that comes in
        self._loop = asyncio.get_running_loop()
        self._visitors: dict[Visitor, socket.socket] = {}  # the oldest first
        self._strangers: dict[Visitor, None] = {}
        self._entering: set[asyncio.Task[None]] = set()
        self._said = float("-inf")
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.most_strangers = max(1, min(MOST_STRANGERS, int(files * SHARE)))
        sock.setblocking(False)
        self._listen()

    def _listen(self) -> None:
        if self._sock.fileno() >= 0:
            self._loop.add_reader(self._sock, self._take)

    def _take(self) -> None:
        """So few that they can have shown their tokens before they are too many strangers."""
        for _ in range(max(1, int(self.most_strangers * AT_ONCE))):
            try:
                line, _ = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(error)
                return
            self._let_in(line)

    def _rest(self, error: OSError) -> None:
        """Asked again at once, it would say the same, and nobody else would be seen to."""
        self._make_room(len(self._strangers) // 2)
        self._loop.remove_reader(self._sock)
        self._loop.call_later(REST_S, self._listen)
        if self._loop.time() - self._said > SAY_S:
            self._said = self._loop.time()
            files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            log.warning(FULL, error.strerror, len(self._visitors), files)

    def _let_in(self, line: socket.socket) -> None:
        self._make_room(self.most_strangers - 1)
        line.setblocking(False)
        visitor = self._make()
        visitor.left = lambda: self._forget(visitor)
        self._visitors[visitor], self._strangers[visitor] = line, None
        entering = self._loop.create_task(self._enter(visitor, line))
        self._entering.add(entering)
        entering.add_done_callback(self._entering.discard)

    async def _enter(self, visitor: Visitor, line: socket.socket) -> None:
        limit = None if self.tls is None else float(HEAD_S)
        try:
            await self._loop.connect_accepted_socket(
                lambda: visitor, line, ssl=self.tls, ssl_handshake_timeout=limit
            )
        except (OSError, EOFError):  # gone already, or it speaks no TLS
            self._forget(visitor)
            line.close()

    def _make_room(self, most: int) -> None:
        """Until there are no more strangers than this. Whose answer is being made goes last."""
        if len(self._strangers) > most:
            for visitor in list(islice(self._strangers, LOOKED)):
                if visitor.known:
                    del self._strangers[visitor]
        for spared in (Stage.ANSWER, None):
            for visitor in list(self._strangers):
                if len(self._strangers) <= most:
                    return
                if visitor.stage is not spared and not visitor.known:
                    self._send_away(visitor)

    def look(self) -> None:
        """Once a second."""
        for visitor in list(self._visitors):
            if visitor.known:
                self._strangers.pop(visitor, None)
            if visitor.look():
                self._send_away(visitor)

    def _send_away(self, visitor: Visitor) -> None:
        line = self._visitors[visitor]
        self._forget(visitor)
        visitor.turn_away()
        if not visitor.entered:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def _forget(self, visitor: Visitor) -> None:
        self._visitors.pop(visitor, None)
        self._strangers.pop(visitor, None)

    # as uvicorn's server has it

    def close(self) -> None:
        self._loop.remove_reader(self._sock)
        for entering in self._entering:
            entering.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._entering, return_exceptions=True)
