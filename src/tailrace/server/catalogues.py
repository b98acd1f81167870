"""What bags brought along, read when their tasks are sent."""

from __future__ import annotations

from collections import OrderedDict

from tailrace.bag import catalogue
from tailrace.bag.bag import Bag
from tailrace.bag.catalogue import Catalogue
from tailrace.bag.spec import FileName
from tailrace.bag.task import Input, Task
from tailrace.errors import BadInput
from tailrace.server.files.blobs import Blobs, of_bag
from tailrace.worker.blobs import Broken, File, content, is_file

KEPT = 16  # in memory: one may be large


class Catalogues:
    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self._read: OrderedDict[int, Catalogue] = OrderedDict()

    def take_in(self, number: int, name: FileName, giver: str) -> None:
        """All that a new bag names, from who has put it there; BadInput when something lacks."""
        taker = of_bag(number)
        self.blobs.drop(taker)  # of one that was never committed
        if name.size > catalogue.MOST_BYTES:
            raise BadInput(f"the catalogue of its files has {name.size:,} bytes: too many")
        self._give(File(name.hash, name.size), giver, taker, "the catalogue")
        given: set[File] = set()
        for path, entries in catalogue.decode(self._content(taker, name)).items():
            for entry in entries:
                file = File(entry.hash, entry.size)
                if file not in given:
                    self._give(file, giver, taker, f"the input {path}")
                    given.add(file)

    def check_parcels(self, number: int, name: FileName, bag: Bag) -> None:
        """Each large item is among what the bag has taken in: BadInput where one is not, which no
        host could fetch."""
        known = self.held(of_bag(number), name) or {}
        entries = (entry for found in known.values() for entry in found)
        there = {(entry.hash, entry.size) for entry in entries}
        for index in range(bag.count):
            for item in bag.task(index).inputs:
                if (item.hash, item.size) not in there:
                    raise BadInput(f"the arguments of call {index} are not in its catalogue")

    def _give(self, file: File, giver: str, taker: str, what: str) -> None:
        if not is_file(*file):
            raise BadInput(f"{what} is not named by a hash and a size")
        lack = self.blobs.lack(giver, file)
        if lack:
            raise BadInput(
                f"{what} is not here: its blob {lack} was never sent, or not by you",
                remedy="Hand the bag in again: what is missing is sent then.",
            )
        self.blobs.give(file, giver, taker)

    def _content(self, holder: str, name: FileName) -> bytes:
        return content(File(name.hash, name.size), lambda one: self.blobs.read(holder, one))

    def of(self, number: int, name: FileName) -> Catalogue:
        found = self._read.get(number)
        if found is None:
            found = self.held(of_bag(number), name) or {}  # collected: its tasks will miss it
            self._read[number] = found
            if len(self._read) > KEPT:
                self._read.popitem(last=False)
        return found

    def held(self, holder: str, name: FileName) -> Catalogue | None:
        """Of whoever holds it, from any thread; None: it was collected, or never came."""
        try:
            return catalogue.decode(self._content(holder, name))
        except (OSError, Broken):
            return None

    def check_kept(self, number: int, name: FileName) -> None:
        """BadInput when anything that came with the bag is not held any more; from any thread."""
        holder = of_bag(number)
        known = self.held(holder, name)
        entries = () if known is None else (one for found in known.values() for one in found)
        files = dict.fromkeys(File(entry.hash, entry.size) for entry in entries)
        if known is None or any(self.blobs.lack(holder, file) for file in files):
            raise BadInput(
                f"the files that came with bag {number} are not on the server any more: they were "
                "removed some time after its end",
                remedy="Hand in the new tasks as a bag of their own, by `tailrace submit` with "
                "their values alone.",
            )

    def inputs(self, number: int, name: FileName, task: Task) -> tuple[Input, ...]:
        """A folder becomes the files in it."""
        known, found = self.of(number, name), list[Input]()
        for item in task.inputs:
            if item.path not in known:
                found.append(item)
            for entry in known.get(item.path, ()):
                more = f"/{entry.name}" if entry.name else ""
                found.append(
                    Input(item.name + more, item.path + more, entry.hash, entry.size,
                          entry.executable)
                )  # fmt: skip
        return tuple(found)

    def small(self, number: int, name: str) -> bytes | None:
        """The bytes of a small input, to be sent with the call."""
        try:
            return self.blobs.read(of_bag(number), name)
        except OSError:
            return None
