"""Values of secrets on disk: sealed, so that they are in clear nowhere but in memory.

The key lies beside them in a folder that only its owner may enter. Who can read that can read them;
who gets a copy of the store or a report cannot. It is the plain construction from a keyed
hash: a key stream from HMAC-SHA256 over nonce and counter, and an HMAC over all of it, under two
keys made of one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from tailrace.server.files.publishing import PART, sync

LEAST_S = 3600.0  # what is younger may be of a bag that is being handed in
_KEY = 32
_NONCE = 16
_TAG = 32


class Sealed:
    """Used by several threads at once: bags are handed in side by side."""

    def __init__(self, folder: Path) -> None:
        """`folder` is that of the runs."""
        self._folder = folder / "secrets"
        self._making = threading.Lock()

    def keep(self, bag: int, values: Mapping[str, str]) -> None:
        """On disk when it returns. What an uncommitted bag of this number left goes."""
        if not values:
            self.drop(bag)
            return
        self._folder.mkdir(mode=0o700, exist_ok=True)
        sealed = _seal(self._key(), msgspec.json.encode(dict(values)))
        with self._written(sealed) as fresh:
            fresh.replace(self._file(bag))
        sync(self._folder)

    def of(self, bag: int) -> dict[str, str] | None:
        """None: they are not here any more, or cannot be read."""
        try:
            key = (self._folder / "key").read_bytes()
            plain = _opened(key, self._file(bag).read_bytes())
        except OSError:
            return None
        return None if plain is None else msgspec.json.decode(plain, type=dict[str, str])

    def vouched(self, hash_: str) -> str:
        """A hash that is kept of what may hold secrets, such that nobody can try values on it who
        has the store alone."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return _hmac(_derived(self._key(), b"repeats"), hash_.encode()).hex()

    def drop(self, bag: int) -> None:
        self._file(bag).unlink(missing_ok=True)

    def drop_strays(self, bags: Collection[int]) -> int:
        """How many went of those that belong to none of these bags, with what a writer left that
        was killed. A young one may be of a bag whose commit is still to come."""
        count, young = 0, time.time() - LEAST_S
        for path in self._folder.glob("*"):
            number = path.name.removesuffix(".sealed")
            stays = path.name == "key" or (number.isdecimal() and int(number) in bags)
            with suppress(OSError):
                if not stays and path.stat().st_mtime < young:
                    path.unlink()
                    count += 1
        return count

    def _file(self, bag: int) -> Path:
        return self._folder / f"{bag}.sealed"

    def _key(self) -> bytes:
        """Made once, whoever comes first: what another has sealed is lost with another key."""
        path = self._folder / "key"
        with self._making:
            if _whole(path) is None:
                with self._written(secrets.token_bytes(_KEY)) as fresh:
                    _put(fresh, path)
                sync(self._folder)
            return path.read_bytes()

    @contextmanager
    def _written(self, data: bytes) -> Iterator[Path]:
        """A file of nobody else's, for its owner alone; what is not moved away goes."""
        descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=".", suffix=PART)
        fresh = Path(name)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield fresh
        finally:
            fresh.unlink(missing_ok=True)


def _whole(key: Path) -> bytes | None:
    with suppress(FileNotFoundError):
        found = key.read_bytes()
        return found if len(found) == _KEY else None
    return None


def _put(fresh: Path, key: Path) -> None:
    """A link replaces nothing: of two processes, the second finds the key of the first. One that is
    damaged opens nothing any more, and is replaced; so is none, on a disk that knows no links."""
    try:
        os.link(fresh, key)
    except OSError:
        if _whole(key) is None:
            fresh.replace(key)


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
