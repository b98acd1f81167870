"""The join text: in one line all that a caller needs to know of a server.

    https://TOKEN@HOST:PORT#FINGERPRINT

The fingerprint, SHA-256 of the server's own certificate, is left out where there is none: on
loopback, and where the certificate is one that everybody trusts. The text holds a token, so it
comes from the environment or from a file that nobody else can read, never from a command line.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from typing import List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

BESIDE = "worker.join"  # beside worker.pyz, on a home that machines share
JOIN, TOKEN = "TAILRACE_JOIN", "TAILRACE_TOKEN"
FORM = "https://TOKEN@HOST:PORT#FINGERPRINT"


class BadJoin(Exception):
    """Says what is wrong and what to do."""


class Join(NamedTuple):
    url: str
    token: str = ""
    fingerprint: str = ""

    def text(self) -> str:
        scheme, _, rest = self.url.partition("://")
        token = f"{self.token}@" if self.token else ""
        return f"{scheme}://{token}{rest}" + (f"#{self.fingerprint}" if self.fingerprint else "")


def parse(text: str) -> Join:
    """The text itself is in no message: it is secret."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadJoin("the address of the server cannot be read; it is https://HOST:PORT") from None
    if parts.scheme not in ("http", "https") or not host or "\n" in text:
        raise BadJoin("the address of a server is https://HOST:PORT, or http:// on loopback")
    fingerprint = parts.fragment.lower().replace(":", "")
    if fingerprint and not re.fullmatch("[0-9a-f]{64}", fingerprint):
        raise BadJoin("a fingerprint has 64 hexadecimal digits; copy the whole line again")
    if fingerprint and parts.scheme == "http":
        raise BadJoin("an http:// address has no certificate, so no fingerprint either")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port is None else f"{shown}:{port}"
    url = f"{parts.scheme}://{place}{parts.path.rstrip('/')}"
    return Join(url, parts.username or "", fingerprint)


def refuse_clear(url: str) -> None:
    """A token would cross the network for everybody to read."""
    parts = urlsplit(url)
    if parts.scheme == "http" and not _is_here(parts.hostname or ""):
        raise BadJoin(
            f"{url} is not encrypted, and not on this machine: a token would be sent in clear; "
            "the server speaks https:// (`serve --tls own`), or is reached by an ssh tunnel"
        )


def _is_here(host: str) -> bool:
    """Loopback, or another address of this very machine: only those can be bound."""
    if host == "localhost":
        return True
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.inet_pton(family, host)
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.bind((host, 0))
        return True
    except (OSError, ValueError):
        return False


def read(path: str) -> str:
    """The first line of a file that is nobody else's. What is no path is not shown: it may be the
    text itself, on a command line."""
    if "://" in path:
        raise BadJoin(
            "a file is named here, and what is given is the join text itself, which anybody can "
            f"read there; put it in a file for you alone, or in {JOIN}"
        )
    try:
        if os.stat(path).st_mode & 0o077:
            raise BadJoin(f"{path} can be read by others; run: chmod 600 {path}")
        with open(path, encoding="utf-8") as file:
            return file.readline().strip()
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadJoin(f"{path} cannot be read: {why}") from None


def found(server: Optional[str], file: Optional[str]) -> Join:
    """How a worker is told: by a file, by the environment, or by the file beside worker.pyz. With
    `--server` it needs no more than a token from there."""
    join = _found(server, file)
    refuse_clear(join.url)
    return join


def _found(server: Optional[str], file: Optional[str]) -> Join:
    text, place = _text(file)
    if "://" in text:
        join = parse(text)
        return join._replace(url=parse(server).url) if server else join
    if server is None:
        raise BadJoin(_no_server(place))
    given = parse(server)
    if given.token:
        raise BadJoin("a token on the command line can be read by anybody; give it in a file")
    return given._replace(token=text)


def _no_server(place: str) -> str:
    """`place`: where something was found that names none; '': there was nothing anywhere."""
    if place == TOKEN:
        return f"{TOKEN} is a token alone, and names no server; give its address by --server"
    if place:
        return (
            f"{place} is there, and holds no join text, which is {FORM}; "
            "`tailrace tokens add NAME --pool`, where the server is, makes one"
        )
    return (
        f"no server is named; give its join text in {JOIN}, in a file named by --join, "
        f"or in {BESIDE} beside worker.pyz"
    )


def _text(file: Optional[str]) -> Tuple[str, str]:
    """Also where it was found."""
    if file is not None:
        return read(file), file
    for name in (JOIN, TOKEN):
        given = os.environ.get(name, "").strip()
        if given:
            return given, name
    beside = [path for path in _places() if os.path.exists(path)]
    return (read(beside[0]), beside[0]) if beside else ("", "")


def _places() -> List[str]:
    program = os.path.abspath(sys.argv[0])
    return [os.path.join(os.path.dirname(program), BESIDE)] if program.endswith(".pyz") else []
