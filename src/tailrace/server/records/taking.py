"""Results of earlier bags that a new one takes over: equal tasks that succeeded in this folder.

A result that is taken over stays the work of the attempt that made it, and costs nothing again. A
task that failed, or of which an input has changed since, is done anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tailrace.bag.bag import Bag
from tailrace.bag.changed import Changes
from tailrace.bag.identity import basis
from tailrace.server.records import reading
from tailrace.server.tables.link import Link, stream

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
    changed: int = 0  # tasks whose results were left, as an input has changed since

    @property
    def size(self) -> int:
        return 0 if self.attempts is None else int((self.attempts > 0).sum())

    @property
    def bits(self) -> bytes:
        import numpy as np

        assert self.attempts is not None
        return np.packbits(self.attempts > 0, bitorder="little").tobytes()

    def rows(self) -> Iterator[tuple[int, int]]:
        assert self.attempts is not None
        (indices,) = self.attempts.nonzero()
        return zip(indices.tolist(), self.attempts[indices].tolist(), strict=True)


NOTHING = Taken(None, ())


class Earlier(NamedTuple):
    bag: int
    programs: dict[str, str]  # hashes of what its command was made of, by name


def earlier(link: Link, bag: Bag, owner: str = "") -> list[Earlier]:
    """Bags of the same basis that have results, newest first. No more is asked when there are
    none, however large the bag."""
    sign = basis(bag.spec)
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
    """From these bags, the newest result of each task."""
    if not bags:
        return NOTHING
    import numpy as np

    from tailrace.bag.kinship import moved

    attempts, ended = np.zeros(bag.count, np.int64), np.zeros(bag.count, np.int64)
    used = []
    for number in bags:
        rows = chain.from_iterable(stream(link, RESULTS, (number,)))
        found = np.fromiter(rows, np.int64).reshape(-1, 3)
        places = moved(reading.content(link, number), bag, found[:, 0])
        new = places >= 0
        new[new] = attempts[places[new]] == 0
        if new.any():
            used.append(number)
            attempts[places[new]], ended[places[new]] = found[new, 1], found[new, 2]
        if attempts.all():
            break
    changed = _leave_changed(Changes(bag, programs), attempts, ended)
    return Taken(attempts, tuple(used), changed)


def _leave_changed(
    changes: Changes, attempts: npt.NDArray[np.int64], ended: npt.NDArray[np.int64]
) -> int:
    if not changes.possible:
        return 0
    stale = [i for i in attempts.nonzero()[0].tolist() if changes.since(i, int(ended[i]))]
    attempts[stale] = 0
    return len(stale)
