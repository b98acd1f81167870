"""Calls to a server: of this folder, or another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import msgspec

from tailrace.errors import BadInput, ServerError
from tailrace.scheduler.events import Change
from tailrace.server.records.reading import FeedItem
from tailrace.server.tables.lock import Owner
from tailrace.worker.pinned import connect, seconds

if TYPE_CHECKING:
    from tailrace.bag.additions import Addition
    from tailrace.server.enlarging import Enlarged

PATIENCE_S = 30.0


class NotTaken(ServerError):
    """Nothing has come of the call: the server cannot take it now, or is not there."""


class Busy(NotTaken):
    """Come again after `after_s`."""

    after_s = 1.0


class Lost(ServerError):
    """The connection broke before the answer: nobody knows what came of the call."""


def call(
    owner: Owner, method: str, path: str, body: Any = None, kind: Any = Any, key: str = ""
) -> Any:
    """The decoded answer; BadInput with the server's words when it refuses. With a key, it may be
    called again when nobody knows what came of it."""
    status, data, after = _exchange(owner, method, path, body, key)
    if status == 401:
        raise BadInput(
            f"the server at {owner.address} does not know your token",
            remedy="It may have expired or been revoked: ask its admin for a new one.",
        )
    if status == 503:
        busy = Busy(f"the server at {owner.address} cannot answer now: {_words(data)}")
        busy.after_s = seconds(after) or 1.0
        raise busy
    if status != 200:
        raise BadInput(f"the server at {owner.address} refuses: {_words(data)}")
    return msgspec.json.decode(data, type=kind)


class Asked:
    """What is asked of a server in the same words by every reader."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    def get(self, path: str, kind: Any) -> Any:
        return call(self.owner, "GET", f"/api/v1/{path}", kind=kind)

    def explain(self, subject: str) -> list[str]:
        lines: list[str] = self.get(f"explain?subject={quote(subject)}", list[str])
        return lines

    def events(self, number: int, after: int, wait_s: float) -> list[FeedItem]:
        path = f"bags/{number}/events?after={after}&wait={wait_s:g}"
        items: list[FeedItem] = self.get(path, list[FeedItem])
        return items

    def change(self, number: int, what: Change, tasks: tuple[int, ...] = (), why: str = "") -> None:
        body = {"change": what.value, "tasks": tasks, "why": why}
        call(self.owner, "POST", f"/api/v1/bags/{number}/change", body)

    def add(self, number: int, asked: Addition) -> Enlarged:
        from tailrace.server.enlarging import Enlarged

        path = f"/api/v1/bags/{number}/add"
        found: Enlarged = call(self.owner, "POST", path, asked, Enlarged)
        return found


def _exchange(
    owner: Owner, method: str, path: str, body: Any, key: str
) -> tuple[int, bytes, str | None]:
    from http.client import HTTPException

    connection = None
    try:
        connection = connect(owner.address, owner.fingerprint, PATIENCE_S)
        sent = None if body is None else msgspec.json.encode(body)
        head = {"authorization": f"Bearer {owner.token}"}
        head |= {"idempotency-key": key} if key else {}
        connection.request(method, urlsplit(owner.address).path + path, sent, head)
        reply = connection.getresponse()
        return reply.status, reply.read(), reply.getheader("retry-after")
    except (OSError, HTTPException) as error:
        raise _silent(owner, error, connected=connection is not None) from error
    finally:
        if connection is not None:
            connection.close()


def _silent(owner: Owner, error: Exception, *, connected: bool) -> ServerError:
    refused = isinstance(error, ConnectionRefusedError)
    kind = Lost if connected else NotTaken if refused else ServerError
    if owner.pid:
        return kind(
            f"the server at {owner.address} (process {owner.pid}) does not answer: {error}",
            remedy="It may just have ended: `tailrace status` shows how things stand.",
        )
    return kind(
        f"the server at {owner.address} does not answer: {error}",
        remedy="Is the address right, does the server run, and does a firewall let you through?",
    )


def _words(data: bytes) -> str:
    try:
        return str(msgspec.json.decode(data)["error"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return data.decode("utf-8", "replace")[:200]
