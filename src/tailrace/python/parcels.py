"""Arguments that are too large for a row of the store: they travel as files do, in blobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tailrace.bag import catalogue
from tailrace.bag.bag import Bag
from tailrace.bag.catalogue import Catalogue, Entry
from tailrace.bag.items import LARGE, Item, Parcel
from tailrace.bag.spec import BagSpec, FileName
from tailrace.cli.servers.packing import cut


class Parcels:
    """Of one bag: what is in them, cut as the server wants it, until it is there."""

    def __init__(self) -> None:
        self.blobs: dict[str, memoryview] = {}
        self._listed: Catalogue = {}

    def wrapped(self, items: Iterable[bytes]) -> Iterator[Item]:
        """Small ones as they are; of a large one, by which name it is found."""
        for index, item in enumerate(items):
            if len(item) <= LARGE:
                yield item
                continue
            file = cut(item, self.blobs)
            self._listed[f"call {index}"] = [Entry("", file.hash, file.size)]
            yield Parcel(file.hash, file.size)

    def listed(self) -> FileName | None:
        """The catalogue of all; None where all were small."""
        if not self._listed:
            return None
        return cut(catalogue.encode(self._listed), self.blobs)


class CallBag(Bag):
    """A bag of calls, with what must be at the server before it is handed in."""

    def __init__(
        self, spec: BagSpec, read_chunk: Callable[[int], bytes], blobs: dict[str, memoryview]
    ) -> None:
        super().__init__(spec, read_chunk)
        self._blobs = blobs

    def take_blobs(self) -> dict[str, memoryview]:
        """Once: they may be large."""
        blobs, self._blobs = self._blobs, {}
        return blobs
