"""Results of earlier bags that a new one takes over: equal tasks that succeeded in this folder.

A result that is taken over stays the work of the attempt that made it, and costs nothing again. A
task that failed, or of which an input has changed since, is done anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tailrace.bag.bag import Bag
from tailrace.bag.changed import Changes
from tailrace.server.records import reading
from tailrace.server.tables.link import Link, stream

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

AT_ONCE = 10_000
MOST_BAGS = 100  # that are looked at, newest first
MOST_TASKS = 20_000_000  # of a bag that is compared with others: each takes some bytes of memory
RESULTS = (
    "SELECT r.idx, r.attempt, a.ended_us FROM results r JOIN attempts a ON a.attempt = r.attempt"
    " WHERE r.bag = ? AND r.outcome = 'succeeded'"
    " AND NOT EXISTS (SELECT 1 FROM unpublished u WHERE u.attempt = r.attempt)"
)
WITH_RESULTS = (
    "SELECT bag, programs FROM bags WHERE basis = ? AND owner = ? AND EXISTS"
    " (SELECT 1 FROM results r WHERE r.bag = bags.bag AND r.outcome = 'succeeded')"
    " ORDER BY bag DESC LIMIT ?"
)


class Taken(NamedTuple):
    """`attempts` has the attempt that made each task's result; 0: it has none yet."""

    attempts: npt.NDArray[np.int64] | None
    bags: tuple[int, ...]  # that they come from, newest first
    stale: bytes = b""  # a bit for each task whose result was left: an input has changed since

    @property
    def size(self) -> int:
        return 0 if self.attempts is None else int((self.attempts > 0).sum())

    @property
    def changed(self) -> int:
        """Tasks whose results were left."""
        return int.from_bytes(self.stale).bit_count()

    @property
    def bits(self) -> bytes:
        assert self.attempts is not None
        return packed(self.attempts > 0)

    def rows(self) -> Settled:
        assert self.attempts is not None
        return Settled(self.attempts)


class Settled:
    """Task and attempt of each result; as often as they are asked for, as a commit that failed is
    made again."""

    def __init__(self, attempts: npt.NDArray[np.int64]) -> None:
        self._attempts = attempts

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Some at a time: of millions, a list would hold up whoever waits for the first."""
        (indices,) = self._attempts.nonzero()
        for at in range(0, len(indices), AT_ONCE):
            some = indices[at : at + AT_ONCE]
            yield from zip(some.tolist(), self._attempts[some].tolist(), strict=True)


NOTHING = Taken(None, ())


class Earlier(msgspec.Struct, frozen=True):
    bag: int
    programs: dict[str, str]  # hashes of what its command was made of, by name


class Found(NamedTuple):
    """The newest result of each task, before anybody has looked at its files; 0: it has none."""

    attempts: npt.NDArray[np.int64]
    ended: npt.NDArray[np.int64]  # when the attempt did, in microseconds
    bags: tuple[int, ...]
    changed: int = 0  # tasks with results of other inputs


#: Which tasks of a new bag have the inputs that they had in an earlier one.
Alike = Callable[[Bag, "npt.NDArray[np.int64]"], "npt.NDArray[np.bool_]"]


def packed(tasks: npt.NDArray[np.bool_]) -> bytes:
    """A bit for each."""
    import numpy as np

    return np.packbits(tasks, bitorder="little").tobytes()


def earlier(link: Link, sign: str, owner: str = "") -> list[Earlier]:
    """Bags of this basis that have results, newest first. No more is asked when there are none,
    however large the new bag."""
    if not sign:
        return []
    rows = link.execute(WITH_RESULTS, (sign, owner, MOST_BAGS)).fetchall()
    return [Earlier(number, msgspec.json.decode(programs)) for number, programs in rows]


def programs_of(link: Link, number: int) -> dict[str, str]:
    """As they were when the bag was handed in."""
    found = link.execute("SELECT programs FROM bags WHERE bag = ?", (number,)).fetchone()
    programs: dict[str, str] = msgspec.json.decode(found[0])
    return programs


def take(link: Link, bag: Bag, bags: list[int], programs: dict[str, str]) -> Taken:
    """From these bags, as far as the files of this machine have not changed since."""
    if not bags:
        return NOTHING
    found = find(link, bag, bags)
    stale = changed_since(Changes(bag, programs), found.ended)
    return less(found, stale)


def find(link: Link, bag: Bag, bags: list[int], alike: Alike | None = None) -> Found:
    """From these bags, the newest result of each task; if `alike` is given, of the same inputs."""
    import numpy as np

    from tailrace.bag.kinship import moved

    attempts, ended = np.zeros(bag.count, np.int64), np.zeros(bag.count, np.int64)
    seen, used = np.zeros(bag.count, bool), []
    for number in bags:
        rows = chain.from_iterable(stream(link, RESULTS, (number,)))
        found = np.fromiter(rows, np.int64).reshape(-1, 3)
        old = reading.content(link, number)
        places = moved(old, bag, found[:, 0])
        seen[places[places >= 0]] = True
        new = places >= 0
        new[new] = attempts[places[new]] == 0
        if new.any():
            used.append(number)
            new[new] = True if alike is None else alike(old, places[new])
            attempts[places[new]], ended[places[new]] = found[new, 1], found[new, 2]
        if attempts.all():
            break
    return Found(attempts, ended, tuple(used), int((seen & (attempts == 0)).sum()))


def changed_since(changes: Changes, ended: npt.NDArray[np.int64]) -> bytes:
    """A bit for each task whose files have changed since its attempt ended."""
    if not changes.possible:
        return b""
    import numpy as np

    stale = np.zeros(len(ended), bool)
    found = [i for i in ended.nonzero()[0].tolist() if changes.since(i, int(ended[i]))]
    stale[found] = True
    return packed(stale) if found else b""


def less(found: Found, stale: bytes) -> Taken:
    """Without the tasks of these bits."""
    import numpy as np

    if stale:
        bits = np.frombuffer(stale, np.uint8)
        left = np.unpackbits(bits, count=len(found.attempts), bitorder="little").astype(bool)
        found.attempts[left] = 0
    return Taken(found.attempts, found.bags, stale)
