"""The listening socket and the HTTP server around the app."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn

from tailrace.errors import ServerError
from tailrace.server.tls import Certificate


def listen(port: int = 0, address: str = "127.0.0.1") -> socket.socket:
    """Port 0 takes any that is free.

    The protocol is named, for only then does asyncio switch Nagle's algorithm off, whose 40 ms
    would be the price of every call.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
        sock.listen(1024)
    except OSError as error:
        sock.close()
        raise ServerError(
            f"cannot listen on {address}:{port}: {error.strerror}",
            remedy="Another program has this port: choose one with --port, or leave it out.",
        ) from error
    sock.set_inheritable(False)
    return sock


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
