"""Calls to the server that runs on the store."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.errors import BadInput, ServerError
from tailrace.server.lock import Owner

PATIENCE_S = 30.0


def call(owner: Owner, method: str, path: str, body: Any = None, kind: Any = Any) -> Any:
    """The decoded answer; BadInput with the server's words when it refuses."""
    status, data = _exchange(owner, method, path, body)
    if status != 200:
        raise BadInput(f"the server at {owner.address} refuses: {_words(data)}")
    return msgspec.json.decode(data, type=kind)


def _exchange(owner: Owner, method: str, path: str, body: Any) -> tuple[int, bytes]:
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(owner.address.rpartition("//")[2], timeout=PATIENCE_S)
    try:
        sent = None if body is None else msgspec.json.encode(body)
        connection.request(method, path, sent, {"authorization": f"Bearer {owner.token}"})
        reply = connection.getresponse()
        return reply.status, reply.read()
    except (OSError, HTTPException) as error:
        raise ServerError(
            f"the server at {owner.address} (process {owner.pid}) does not answer: {error}",
            remedy="It may just have ended: `tailrace status` shows how things stand.",
        ) from error
    finally:
        connection.close()


def _words(data: bytes) -> str:
    try:
        return str(msgspec.json.decode(data)["error"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return data.decode("utf-8", "replace")[:200]
