"""The listening socket and the HTTP server around the app."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn

from tailrace.errors import ServerError
from tailrace.server.web.tls import Certificate


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
    try:
        sock.bind(where)
        sock.listen(1024)
    except OSError as error:
        sock.close()
        raise _cannot(address, port, error) from error
    sock.set_inheritable(False)
    return sock


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


OTHER_ADDRESS = "Give --address an address of this machine, or 0.0.0.0 for all of them."
REMEDIES = {
    errno.EADDRINUSE: "Another program has this port: choose one with --port, or leave it out.",
    errno.EACCES: "Ports below 1024 are root's: choose another with --port.",
}


class Http(uvicorn.Server):
    """uvicorn without its signal handlers: signals are the command's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(app: Any, certificate: Certificate | None = None) -> Http:
    config = uvicorn.Config(
        app,
        ssl_certfile=None if certificate is None else certificate.cert,
        ssl_keyfile=None if certificate is None else certificate.key,
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
    return Http(config)
