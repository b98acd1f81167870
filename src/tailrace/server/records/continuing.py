"""Earlier bags that a new one goes on with: all that they have left is among its tasks.

They are closed when it is handed in, for to resume one as well would do its tasks twice.
"""

from __future__ import annotations

from itertools import chain

from tailrace.bag.bag import Bag
from tailrace.bag.identity import basis
from tailrace.server.records import reading
from tailrace.server.records.taking import MOST_BAGS, MOST_TASKS
from tailrace.server.tables.link import Link, stream

CONTINUED = "continued as bag"  # why such a bag is closed, with the number of the new one
UNFINISHED = (
    "SELECT bag FROM bags WHERE basis = ? AND owner = ?"
    " AND phase NOT IN ('finished', 'cancelled') ORDER BY bag DESC LIMIT ?"
)
DONE = "SELECT idx FROM results WHERE bag = ?"


def continued(link: Link, bag: Bag, owner: str = "") -> tuple[int, ...]:
    """The numbers of those bags."""
    sign = basis(bag.spec)
    rows = link.execute(UNFINISHED, (sign, owner, MOST_BAGS)).fetchall() if sign else []
    return tuple(number for (number,) in rows if _has_what_is_left(link, number, bag))


def _has_what_is_left(link: Link, number: int, bag: Bag) -> bool:
    import numpy as np

    from tailrace.bag.kinship import moved

    old = reading.content(link, number)
    if old.spec.then != bag.spec.then or old.count > MOST_TASKS:
        return False
    left = np.ones(old.count, bool)
    left[np.fromiter(chain.from_iterable(stream(link, DONE, (number,))), np.int64)] = False
    (numbers,) = left[: old.blocks.count].nonzero()
    return bool((moved(old, bag, numbers) >= 0).all())
