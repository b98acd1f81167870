"""The table of routes: who may call what, with which values, and what comes back.

Dispatch, access and the OpenAPI description are all made from it, so that none can say what the
others do not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from tailrace.server.batch import Key
from tailrace.server.people.principals import Principal, Who
from tailrace.worker.blobs import is_digest

HASH = "{hash}"
MOST_KEY = 200  # characters of an Idempotency-Key
JSON = "application/json"
SMALL = 1024 * 1024  # bytes of a body, where nothing else is said


class Call(NamedTuple):
    """One call of a route: who makes it, and what came with it, decoded."""

    who: Principal
    path: dict[str, Any]
    query: Any
    body: Any
    key: Key | None = None  # of a route that is `keyed`, where the caller sent one
    sent: bytes = b""  # the body as it came, of a route that `grows`


class Plain(NamedTuple):
    """An answer that is not JSON."""

    body: bytes
    kind: str


class Refused(Exception):
    def __init__(self, status: int, message: str, allowed: str = "") -> None:
        """`allowed`: the methods that are there instead."""
        super().__init__(message)
        self.status = status
        self.allowed = allowed


class Route(msgspec.Struct, frozen=True):
    method: str
    path: str  # a step in braces is a whole number; {hash} that of a blob
    who: Who
    summary: str
    handler: Callable[[Call], Awaitable[Any]]
    gives: Any = None  # None: not JSON, see `kind`
    takes: Any = None
    query: Any = None
    most_body: int = SMALL
    kind: str = JSON
    raw: bool = False  # it takes bytes as they are
    keyed: bool = False  # made again with the same Idempotency-Key, it is done once
    stores: bool = False  # what is sent stays on the server's disk
    grows: bool = False  # its work, with what is sent: only a little body is decoded for it
    waits: bool = False  # for news, as long as it is asked to
    clash: Any = None  # what it says with 409, where it may

    @property
    def steps(self) -> list[str]:
        return self.path.strip("/").split("/")


class Routes:
    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.all = routes
        self._by_length: dict[int, list[Route]] = {}
        for route in routes:
            self._by_length.setdefault(len(route.steps), []).append(route)

    def find(self, method: str, path: str) -> tuple[Route, dict[str, Any]]:
        """`Refused` with 404 where nothing is, with 405 where it is asked for otherwise."""
        words = path.strip("/").split("/")
        found = [
            (route, values)
            for route in self._by_length.get(len(words), ())
            if (values := _matched(route.steps, words)) is not None
        ]
        for route, values in found:
            if route.method == method:
                return route, values
        if found:
            allowed = ", ".join(route.method for route, _ in found)
            raise Refused(405, f"{path} takes {allowed}", allowed)
        raise Refused(404, f"no such thing: {method} {path}")


def _matched(steps: list[str], words: list[str]) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    for step, word in zip(steps, words, strict=True):
        if not step.startswith("{"):
            if step != word:
                return None
        elif step == HASH:
            if not is_digest(word):
                return None
            values["hash"] = word
        elif word.isascii() and word.isdigit() and len(word) < 16:
            values[step[1:-1]] = int(word)
        else:
            return None
    return values
