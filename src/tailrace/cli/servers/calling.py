"""One call to a server: of this folder, or another."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tailrace.errors import BadInput, ServerError
from tailrace.server.tables.lock import Owner
from tailrace.worker.pinned import OutOfDate, WrongCertificate, connect, seconds, words

PATIENCE_S = 30.0


class NotTaken(ServerError):
    """Nothing has come of the call: the server cannot take it now, or is not there."""


class NotThere(BadInput):
    """The server has no such thing, or does not tell us of it."""


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
        kind_of = NotThere if status == 404 else BadInput
        raise kind_of(f"the server at {owner.address} refuses: {_words(data)}")
    return msgspec.json.decode(data, type=kind)


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
        with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before the end
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
    if isinstance(error, WrongCertificate):
        return ServerError(f"{owner.address} is not the server that you know: {error}")
    if isinstance(error, OutOfDate):
        remedy = "A server that runs shows a renewed one within a minute."
        return ServerError(f"{owner.address}: {error}", remedy=remedy)
    if isinstance(error, OSError) and _is_unknown(error):
        return ServerError(
            f"the certificate of {owner.address} is not one that this machine knows: {error}",
            remedy="One that the server made itself (`serve --tls own`) is known by the "
            "fingerprint in the join text: keep that with `tailrace login`, or name its file.",
        )
    kind = Lost if connected else NotTaken if refused else ServerError
    if owner.pid:
        return kind(
            f"the server at {owner.address} (process {owner.pid}) does not answer: {words(error)}",
            remedy="It may just have ended: `tailrace status` shows how things stand.",
        )
    return kind(
        f"the server at {owner.address} does not answer: {words(error)}",
        remedy="Is the address right, does the server run, and does a firewall let you through?",
    )


def _is_unknown(error: OSError) -> bool:
    import ssl

    return isinstance(error, ssl.SSLCertVerificationError)


def _words(data: bytes) -> str:
    try:
        return str(msgspec.json.decode(data)["error"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return data.decode("utf-8", "replace")[:200]
