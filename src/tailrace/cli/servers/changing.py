"""Changes to a bag and its policy, and more tasks for it: through the server that runs, or in the
store when none does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.cli.servers.asking import Asked
from tailrace.scheduler.events import BagChanged, Change
from tailrace.server.tables import lock

if TYPE_CHECKING:
    from tailrace.bag.additions import Addition
    from tailrace.bag.bag import Bag
    from tailrace.server.enlarging import Enlarged
    from tailrace.server.policysetting import PolicyChange, PolicyTold


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


def add(folder: Path, bag: int, asked: Addition) -> tuple[Enlarged, bool]:
    """And whether a server took it, as above."""
    owner = lock.alive(folder)
    if owner is not None:
        return Asked(owner).add(bag, asked), True
    from tailrace.server.enlarging import enlarge
    from tailrace.server.offline import Offline
    from tailrace.server.people.principals import OWNER
    from tailrace.server.records import reading

    with Offline(folder) as store:
        found = enlarge(store.link, bag, asked, OWNER)
        if found.event is not None:
            _look_for_files(folder, bag, reading.content(store.link, bag))
            store.tell(found.event, new=found.more)
    return found.told, False


def _look_for_files(folder: Path, number: int, bag: Bag) -> None:
    from tailrace.server.catalogues import Catalogues
    from tailrace.server.files.blobs import Blobs

    if bag.spec.catalogue is not None:
        Catalogues(Blobs(folder / "blobs")).check_kept(number, bag.spec.catalogue)


def set_policy(folder: Path, bag: int, asked: PolicyChange) -> tuple[PolicyTold, bool]:
    """And whether a server took it, as above."""
    owner = lock.alive(folder)
    if owner is not None:
        return Asked(owner).set_policy(bag, asked), True
    from tailrace.server import policysetting
    from tailrace.server.offline import Offline
    from tailrace.server.policytrial import try_policy
    from tailrace.server.records import reading

    with Offline(folder) as store:
        found = policysetting.setting(store.link, bag, asked)
        if found.policy is not None:
            try_policy(found.policy)
        store.tell(found.event)
        return policysetting.told(bag, reading.bag_row(store.link, bag).terms), False
