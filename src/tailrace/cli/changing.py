"""Changes to a bag: through the server that runs, or in the store when none does."""

from __future__ import annotations

from pathlib import Path

from tailrace.cli.calling import Asked
from tailrace.scheduler.events import BagChanged, Change
from tailrace.server import lock


def change(
    folder: Path, bag: int, what: Change, tasks: tuple[int, ...] = (), why: str = ""
) -> bool:
    """True when a server took it, and acts on it now."""
    owner = lock.alive(folder)
    if owner is not None:
        Asked(owner).change(bag, what, tasks, why)
        return True
    from tailrace.server.offline import Offline

    with Offline(folder) as store:
        store.tell(BagChanged(bag, what, tasks, why))
    return False
