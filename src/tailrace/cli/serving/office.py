"""Where tokens are made: by the server that runs, or in its store when none does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tailrace.cli.servers.waiting import insist
from tailrace.server.clock import Clock
from tailrace.server.people.principals import Kind
from tailrace.server.people.tokens import Token, Tokens
from tailrace.server.tables import lock
from tailrace.server.tables.lock import Owner
from tailrace.server.web.api import NewToken


class Office(Protocol):
    server: Owner | None

    def tokens(self) -> list[Token]: ...

    def add(self, kind: Kind, name: str, expires_s: int | None, *, trusted: bool) -> str: ...

    def revoke(self, number: int) -> Token: ...


class Served:
    def __init__(self, server: Owner) -> None:
        self.server: Owner | None = server
        self._owner = server

    def tokens(self) -> list[Token]:
        found: list[Token] = insist(self._owner, "GET", "/api/v1/tokens", kind=list[Token])
        return found

    def add(self, kind: Kind, name: str, expires_s: int | None, *, trusted: bool) -> str:
        body = {"kind": kind.value, "name": name, "expires_s": expires_s, "trusted": trusted}
        made: NewToken = insist(self._owner, "POST", "/api/v1/tokens", body, NewToken)
        return made.token

    def revoke(self, number: int) -> Token:
        gone: Token = insist(self._owner, "POST", f"/api/v1/tokens/{number}/revoke", kind=Token)
        return gone


class Unserved:
    server: Owner | None = None

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def tokens(self) -> list[Token]:
        return self._tokens.list()

    def add(self, kind: Kind, name: str, expires_s: int | None, *, trusted: bool) -> str:
        now = Clock().now()
        expires = None if expires_s is None else now + expires_s * 1_000_000
        return self._tokens.add(kind, name, now, expires, trusted=trusted)

    def revoke(self, number: int) -> Token:
        return self._tokens.revoke(number, Clock().now())


@contextmanager
def office(folder: Path) -> Iterator[Office]:
    owner = lock.alive(folder)
    if owner is not None:
        yield Served(owner)
        return
    from tailrace.server.offline import Offline

    with Offline(folder) as offline:
        yield Unserved(Tokens(offline.store))
