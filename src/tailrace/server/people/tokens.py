"""Tokens: made at random, shown once, kept as their hash, until they expire or are revoked."""

from __future__ import annotations

import builtins
import hashlib
import secrets
from contextlib import suppress

import msgspec

from tailrace.errors import BadInput, StoreError
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.tables.link import TROUBLES
from tailrace.server.tables.store import Store

NOTE_US = 3600 * 1_000_000  # how often it is noted that a token is used
MOST_NAME = 60
OWNERS = (Kind.USER, Kind.ADMIN)  # who hand in bags


class Token(msgspec.Struct, frozen=True):
    """What is known of one; not the token itself."""

    token: int
    kind: Kind
    name: str
    made_us: int
    expires_us: int | None = None
    revoked_us: int | None = None
    used_us: int | None = None
    trusted: bool = False  # of a pool: pickled results of its machines are taken

    def holds(self, now: int) -> bool:
        return self.revoked_us is None and (self.expires_us is None or now < self.expires_us)

    def state(self, now: int) -> str:
        if self.revoked_us is not None:
            return "revoked"
        return "holds" if self.holds(now) else "expired"


def digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()


def checked_name(name: str) -> str:
    """It is shown on screens, is the name of a pool, and stands in a URL."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    if not plain.isalnum() or not name.isascii() or len(name) > MOST_NAME or name[0] in "-.":
        remedy = f"Use letters, digits, -, _ and ., at most {MOST_NAME}."
        raise BadInput(f"{name!r} is not a name", remedy=remedy)
    return name


def _token(number: int, kind: str, name: str, made_us: int, *rest: int | None) -> Token:
    expires_us, revoked_us, used_us, trusted = rest
    return Token(number, Kind(kind), name, made_us, expires_us, revoked_us, used_us, bool(trusted))


class Tokens:
    """Those of a store. All are held in memory by their hashes: a call asks no table."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._link = store.link
        self._known = self._read()
        self._noted: dict[int, int] = {}

    def _read(self) -> dict[str, Token]:
        rows = self._link.execute(
            "SELECT hash, token, kind, name, made_us, expires_us, revoked_us, used_us, trusted"
            " FROM tokens ORDER BY token"
        )
        return {row[0]: _token(*row[1:]) for row in rows}

    def list(self) -> list[Token]:
        self._known = self._read()
        return list(self._known.values())

    def add(
        self,
        kind: Kind,
        name: str,
        now: int,
        expires_us: int | None = None,
        *,
        trusted: bool = False,
    ) -> str:
        """The token, which nobody can be told again."""
        if trusted and kind is not Kind.POOL:
            raise BadInput("only a pool is trusted or not", remedy="Leave --trusted out.")
        self._refuse_namesake(kind, checked_name(name), now)
        secret = secrets.token_urlsafe(32)
        self._store.write(
            "INSERT INTO tokens (hash, kind, name, made_us, expires_us, trusted)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            digest(secret.encode()), kind.value, name, now, expires_us, int(trusted),
        )  # fmt: skip
        self._known = self._read()
        return secret

    def _refuse_namesake(self, kind: Kind, name: str, now: int) -> None:
        """A bag knows its owner by name alone: a user would see those of an admin of his name."""
        for one in self.list() if kind in OWNERS else ():
            if one.name == name and one.kind in OWNERS and one.kind is not kind and one.holds(now):
                raise BadInput(
                    f"token {one.token} is of {one.kind} {name}: {kind} {name} would be the same "
                    "person, and see the same bags",
                    remedy=f"Choose another name, such as {name}-{kind}; or, if it is the same "
                    f"person, revoke that token first: `tailrace tokens revoke {one.token}`.",
                )

    def revoke(self, number: int, now: int) -> Token:
        self._store.write(
            "UPDATE tokens SET revoked_us = ? WHERE token = ? AND revoked_us IS NULL", now, number
        )
        found = [token for token in self.list() if token.token == number]
        if not found:
            raise BadInput(f"there is no token {number}", remedy="`tailrace tokens` lists them.")
        return found[0]

    def principal(self, secret: bytes, now: int) -> Principal | None:
        """Found by its hash, whose place in a table tells nothing of the token."""
        found = self._known.get(digest(secret))
        if found is None or not found.holds(now):
            return None
        if now - self._noted.get(found.token, found.used_us or 0) > NOTE_US:
            self._note(found.token, now)
        return Principal(found.kind, found.name, found.trusted)

    def expires_us(self, secret: bytes) -> int | None:
        """None: it does not by itself."""
        found = self._known.get(digest(secret))
        return None if found is None else found.expires_us

    def trusted_pools(self, now: int) -> builtins.list[str]:
        """Those of which every token that holds is trusted: any may have brought a machine."""
        held = [one for one in self._known.values() if one.kind is Kind.POOL and one.holds(now)]
        doubtful = {one.name for one in held if not one.trusted}
        return sorted({one.name for one in held} - doubtful)

    def users(self, now: int) -> builtins.list[str]:
        held = (
            one.name for one in self._known.values() if one.kind is Kind.USER and one.holds(now)
        )
        return sorted(set(held))

    def _note(self, number: int, now: int) -> None:
        """A store that cannot be written just now is no reason to refuse a call."""
        self._noted[number] = now
        with suppress(*TROUBLES, StoreError):
            self._store.write("UPDATE tokens SET used_us = ? WHERE token = ?", now, number)
