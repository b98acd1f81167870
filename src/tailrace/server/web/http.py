"""The listening socket and the HTTP server around the app."""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import uvicorn

from tailrace.errors import ServerError
from tailrace.server.web.garbage import look_seldom
from tailrace.server.web.porch import Porch
from tailrace.server.web.visitor import Visitor


def listen(port: int = 0, address: str = "127.0.0.1") -> socket.socket:
    """Port 0 takes any that is free.

    The protocol is named, for only then does asyncio switch Nagle's algorithm off, whose 40 ms
    would be the price of every call.
    """
    try:
        family, where = _place(address, port)
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise _cannot(address, port, error) from error
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _keep_alive(sock)
    try:
        sock.bind(where)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise _cannot(address, port, error) from error
    sock.set_inheritable(False)
    return sock


def _keep_alive(sock: socket.socket) -> None:
    """A peer that was switched off is noticed within two minutes; connections inherit it."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _place(address: str, port: int) -> tuple[socket.AddressFamily, Any]:
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except UnicodeError:
        raise OSError(errno.EINVAL, "not a name") from None
    return found[0][0], found[0][4]


def _cannot(address: str, port: int, error: OSError) -> ServerError:
    return ServerError(
        f"cannot listen on {address}:{port}: {error.strerror}",
        remedy=REMEDIES.get(error.errno or 0, OTHER_ADDRESS),
    )


BACKLOG = 4096  # that come at once: who is one too many waits for seconds, unheard
KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}  # seconds, and tries
OTHER_ADDRESS = "Give --address an address of this machine, or 0.0.0.0 for all of them."
REMEDIES = {
    errno.EADDRINUSE: "Another program has this port: choose one with --port, or leave it out.",
    errno.EACCES: "Ports below 1024 are root's: choose another with --port.",
}


TICKS = 10  # of uvicorn's, in a second


class Http(uvicorn.Server):
    """uvicorn without its signal handlers, for signals are the command's; and with a porch of our
    own before it."""

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None) -> None:
        super().__init__(config)
        self._tls = tls
        self.porches: list[Porch] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        look_seldom()
        config = self.config

        def make() -> Visitor:
            return Visitor(
                stays_away_s=getattr(config.app, "stays_away_s", None),
                config=config, server_state=self.server_state, app_state={},
            )  # fmt: skip

        self.porches = [Porch(sock, make, self._tls) for sock in sockets or ()]
        self.servers = self.porches  # type: ignore[assignment]
        self.started = True

    def show(self, tls: ssl.SSLContext) -> None:
        """To whoever comes from now on; who is here stays."""
        self._tls = tls
        for porch in self.porches:
            porch.tls = tls

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS == 0:
            for porch in self.porches:
                porch.look()
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(app: Any, tls: ssl.SSLContext | None = None) -> Http:
    config = uvicorn.Config(
        app,
        http="httptools",
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
    )
    return Http(config, tls)
