"""Results of earlier bags at a server: which a bag on its way there takes over.

The server compares the tasks, as it has the results; who hands in looks at the files, as they are
with him. Of a bag whose files travel, the server has both.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from tailrace.bag.bag import Bag
from tailrace.bag.changed import Changes
from tailrace.cli.servers.calling import NotThere
from tailrace.cli.servers.waiting import insist
from tailrace.server.comparing import Compared, Comparison
from tailrace.server.records.taking import Earlier, changed_since
from tailrace.server.submission import Taking
from tailrace.server.tables.lock import Owner

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Told(NamedTuple):
    """What the server has of a bag's tasks."""

    size: int
    bags: tuple[int, ...]
    changed: int = 0
    stale: bytes = b""  # a bit for each task that is done again

    @property
    def taking(self) -> Taking:
        return Taking(list(self.bags), self.stale)


class There:
    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def earlier(self, sign: str) -> list[Earlier]:
        path = f"/api/v1/earlier?basis={sign}"
        try:
            found: list[Earlier] = insist(self._owner, "GET", path, kind=list[Earlier], asks=True)
        except NotThere:  # an older server, which takes nothing over
            return []
        return found

    def take(self, bag: Bag, bags: list[int], programs: dict[str, str]) -> Told:
        if not bags:
            return Told(0, ())
        changes = Changes(bag, programs) if self._lie_here(bag) else None
        looks = changes is not None and changes.possible
        asked = Comparison(bag.spec, bags, list(bag.encode()[1]), times=looks)
        path = "/api/v1/compare"
        found: Compared = insist(self._owner, "POST", path, asked, Compared, asks=True)
        if changes is None or not looks:
            return Told(found.tasks, tuple(found.bags), found.changed)
        stale = changed_since(changes, _ended(found))
        changed = int.from_bytes(stale).bit_count()
        return Told(found.tasks - changed, tuple(found.bags), found.changed + changed, stale)

    def _lie_here(self, bag: Bag) -> bool:
        """Outputs of a bag whose files travel stay with the server, unless it is of this folder."""
        return bag.spec.catalogue is None or bool(self._owner.pid)


def _ended(found: Compared) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.frombuffer(zlib.decompress(found.ended), "<i8")
