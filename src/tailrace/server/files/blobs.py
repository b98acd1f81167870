"""Blobs in the server's folder: bytes under their hash, each once, and who holds them.

    blobs/all/ab/cd…            the bytes
    blobs/of/HOLDER/ab/cd…      a hard link to them: this holder has put it, or was given it
    blobs/new/                  on the way in

Nobody reads but through a holder: a user what he has put, an attempt what it has put, a bag what
was handed in with it and what its tasks left. A blob that none holds has one link, and can go. Were
it taken from `all` in the very moment in which somebody comes to hold it, he would still have it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from tailrace.server.files.publishing import sync
from tailrace.worker.blobs import CHUNK, Broken, File, blobs_of, chunks, digest
from tailrace.worker.filling import PIECE


def of_user(name: str) -> str:
    return f"user-{name}"


def of_bag(number: int) -> str:
    return f"bag-{number}"


def of_attempt(number: int) -> str:
    return f"attempt-{number}"


class Blobs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.durable = True  # else they need outlive neither us nor the machine

    def _sync(self, path: Path) -> None:
        if self.durable:
            sync(path)

    def path(self, holder: str, name: str) -> Path:
        return self.folder / "of" / holder / name[:2] / name[2:]

    def shared(self, name: str) -> Path:
        return self.folder / "all" / name[:2] / name[2:]

    def put(self, holder: str, name: str, data: bytes) -> None:
        """On disk when it returns; `Broken` when the name is another's."""
        if digest(data) != name or len(data) > CHUNK:
            raise Broken(f"these {len(data):,} bytes are not {name}")
        shared, held = self.shared(name), self.path(holder, name)
        if not _has(shared, len(data)):
            self._write(shared, data)
        if not _linked(shared, held):
            self._write(held, data)
        self._sync(held.parent)

    def _write(self, target: Path, data: bytes) -> None:
        for folder in (self.folder / "new", target.parent):
            _make(folder)
        descriptor, fresh = tempfile.mkstemp(dir=self.folder / "new")
        try:
            with open(descriptor, "wb") as file:
                _write(file, data)
                file.flush()
                if self.durable:
                    os.fsync(file.fileno())
            Path(fresh).replace(target)
        finally:
            Path(fresh).unlink(missing_ok=True)

    def read(self, holder: str, name: str) -> bytes:
        """FileNotFoundError when the holder does not have it."""
        return self.path(holder, name).read_bytes()

    def size(self, holder: str, name: str) -> int | None:
        try:
            return self.path(holder, name).stat().st_size
        except OSError:
            return None

    def missing(self, holder: str, names: Iterable[str]) -> list[str]:
        """What it has is young again: no collection takes it before the bag is handed in."""
        return [name for name in names if not _touched(self.path(holder, name))]

    def lack(self, holder: str, file: File) -> str:
        """The first blob of a file that the holder does not have, or not whole; '' when it has
        all."""
        try:
            for name, size in blobs_of(file, lambda name: self.read(holder, name)):
                if self.size(holder, name) != size:
                    return name
        except (OSError, Broken):
            return file.hash
        return ""

    def give(self, file: File, giver: str, taker: str) -> None:
        """All blobs of a file that the giver has."""
        folders: dict[Path, None] = {}
        for name, _ in blobs_of(file, lambda name: self.read(giver, name)):
            target = self.path(taker, name)
            if not _linked(self.path(giver, name), target):
                raise FileNotFoundError(f"{giver} has no blob {name}")
            folders[target.parent] = None
        for folder in folders:
            self._sync(folder)

    def write_out(self, file: File, holder: str, target: Path) -> None:
        """The whole file, which is on disk when it returns."""
        with open(target, "wb") as out:
            for name in chunks(file, lambda name: self.read(holder, name)):
                _write(out, self.read(holder, name))
            out.flush()
            os.fsync(out.fileno())

    def drop(self, holder: str) -> None:
        shutil.rmtree(self.folder / "of" / holder, ignore_errors=True)

    def holders(self, kind: str) -> Iterator[tuple[str, str]]:
        """Each with what follows its kind: `bag-7`, `7`."""
        for folder in (self.folder / "of").glob(f"{kind}-*"):
            yield folder.name, folder.name.removeprefix(f"{kind}-")


def _write(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    for at in range(0, len(view), PIECE):
        file.write(view[at : at + PIECE])


def _has(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def _linked(source: Path, target: Path) -> bool:
    _make(target.parent)
    try:
        os.link(source, target)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def _touched(path: Path) -> bool:
    try:
        os.utime(path)
    except OSError:
        return False
    return True


def _make(folder: Path) -> None:
    """It does not vanish in a power cut when what is in it is synced."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync(folder.parent)
