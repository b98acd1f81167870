"""What a bag takes along: its inputs, found on this machine and named by what is in them."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import BinaryIO

import msgspec

from tailrace.bag import catalogue, then
from tailrace.bag.bag import Bag
from tailrace.bag.catalogue import Catalogue, Entry
from tailrace.bag.spec import FileName
from tailrace.bag.template import Template
from tailrace.errors import BadInput
from tailrace.worker.blobs import CHUNK, Described, File, describe


class Packed(msgspec.Struct):
    """Every blob of the files, by its name, and where its bytes are."""

    catalogue: Catalogue = {}
    files: dict[str, int] = {}  # each once, with its size
    chunks: dict[str, tuple[Path, int]] = {}  # file and number of the chunk
    lists: dict[str, bytes] = {}

    @property
    def names(self) -> list[str]:
        return [*self.chunks, *self.lists]

    def read(self, name: str) -> bytes:
        if name in self.lists:
            return self.lists[name]
        path, number = self.chunks[name]
        with _opened(path) as file:
            file.seek(number * CHUNK)
            return file.read(CHUNK)

    def add(self, path: Path) -> File:
        with _opened(path) as stream:
            told = describe(stream)
        self._keep(told, path)
        return told.file

    def _keep(self, told: Described, path: Path) -> None:
        self.files[told.file.hash] = told.file.size
        self.lists.update(told.lists)
        for number, name in enumerate(told.chunks):
            self.chunks.setdefault(name, (path, number))


def cut(data: bytes, blobs: dict[str, memoryview]) -> FileName:
    """What is in memory, as blobs: they come to the others."""
    told, view = describe(io.BytesIO(data)), memoryview(data)
    for number, name in enumerate(told.chunks):
        blobs[name] = view[number * CHUNK : (number + 1) * CHUNK]
    blobs.update((name, memoryview(part)) for name, part in told.lists.items())
    return FileName(told.file.hash, told.file.size)


def pack(bag: Bag) -> Packed:
    packed = Packed()
    for path in _paths(bag):
        packed.catalogue[path] = [_entry(packed, name, one) for name, one in _found(Path(path))]
    return packed


def _entry(packed: Packed, name: str, path: Path) -> Entry:
    catalogue.check_name(name, f"the input {path}")
    file = packed.add(path)
    return Entry(name, file.hash, file.size, os.access(path, os.X_OK))


def _paths(bag: Bag) -> dict[str, None]:
    """Each once, by their whole names, as tasks will ask for them."""
    found: dict[str, None] = {}
    for rule in bag.spec.inputs:
        template = Template(rule.place)
        for index in _tellers(bag, template):
            found[str(Path(bag.spec.folder) / template.render(bag.scope(index)))] = None
    found.update(dict.fromkeys(map(str, then.programs(bag.spec))))
    return found


def _tellers(bag: Bag, template: Template) -> Iterator[int]:
    """Tasks that among them have every value of a template: parameters it does not name stand
    still."""
    if "index" in template.names():
        yield from range(bag.blocks.count)
        return
    named = [bag.sweep.place_of(name) for name in template.names()]
    axes = {place.axis: place for place in named if place is not None}
    turns = [range(0, axis.stride * axis.count, axis.stride) for axis in axes.values()]
    for digits in product(*turns):
        yield sum(digits)


def _found(path: Path, above: tuple[Path, ...] = ()) -> Iterator[tuple[str, Path]]:
    """The file itself, or all files below a folder; what links lead to is taken in their place."""
    if not path.is_dir():
        yield "", path
        return
    real = path.resolve()
    if real in above:
        raise BadInput(f"the input {path} leads back into itself", remedy="Remove the link.")
    for inner in sorted(path.iterdir()):
        for name, file in _found(inner, (*above, real)):
            yield f"{inner.name}/{name}" if name else inner.name, file


def _opened(path: Path) -> BinaryIO:
    """Without O_NONBLOCK, opening a FIFO waits for somebody to write into it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise BadInput(
            f"the input {path} cannot be read: {error.strerror}",
            remedy="It was declared as an input: put it there, or take it out of the bag.",
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadInput(f"the input {path} is neither a file nor a folder")
    return open(descriptor, "rb")
