"""Values of secrets on disk: sealed, so that they are in clear nowhere but in memory.

The key lies beside them in a folder that only its owner may enter. Who can read that can read them;
who gets a copy of the store, a backup or a report cannot. It is the plain construction from a keyed
hash: a key stream from HMAC-SHA256 over nonce and counter, and an HMAC over all of it, under two
keys made of one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

_KEY = 32
_NONCE = 16
_TAG = 32


class Sealed:
    def __init__(self, folder: Path) -> None:
        """`folder` is that of the runs."""
        self._folder = folder / "secrets"

    def keep(self, bag: int, values: Mapping[str, str]) -> None:
        """On disk when it returns. What an uncommitted bag of this number left goes."""
        if values:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            plain = msgspec.json.encode(dict(values))
            self._write(self._file(bag), _seal(self._key(), plain))
        else:
            self._file(bag).unlink(missing_ok=True)

    def of(self, bag: int) -> dict[str, str] | None:
        """None: they are not here any more, or cannot be read."""
        try:
            key = (self._folder / "key").read_bytes()
            plain = _opened(key, self._file(bag).read_bytes())
        except OSError:
            return None
        return None if plain is None else msgspec.json.decode(plain, type=dict[str, str])

    def _file(self, bag: int) -> Path:
        return self._folder / f"{bag}.sealed"

    def _key(self) -> bytes:
        path = self._folder / "key"
        with suppress(FileNotFoundError):
            found = path.read_bytes()
            if len(found) == _KEY:
                return found
        self._write(path, secrets.token_bytes(_KEY))
        return path.read_bytes()

    def _write(self, path: Path, data: bytes) -> None:
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)


def _seal(key: bytes, plain: bytes) -> bytes:
    nonce = secrets.token_bytes(_NONCE)
    hidden = nonce + _crossed(key, nonce, plain)
    return _tag(key, hidden) + hidden


def _opened(key: bytes, data: bytes) -> bytes | None:
    tag, hidden = data[:_TAG], data[_TAG:]
    if len(key) != _KEY or not hmac.compare_digest(tag, _tag(key, hidden)):
        return None
    return _crossed(key, hidden[:_NONCE], hidden[_NONCE:])


def _crossed(key: bytes, nonce: bytes, data: bytes) -> bytes:
    """With the key stream: done twice, it undoes itself."""
    own, blocks = _derived(key, b"hide"), range(-(-len(data) // _TAG))
    stream = b"".join(_hmac(own, nonce + block.to_bytes(8, "big")) for block in blocks)
    return bytes(a ^ b for a, b in zip(data, stream, strict=False))


def _tag(key: bytes, hidden: bytes) -> bytes:
    return _hmac(_derived(key, b"vouch"), hidden)


def _derived(key: bytes, purpose: bytes) -> bytes:
    return _hmac(key, purpose)


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()
