"""Where the store of a folder is: in the folder, or in the database that its `store.url` names.

Settings name a database for runs to come. Where a run was begun, the folder says where it is, so
that every command finds it there.
"""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.errors import BadInput
from tailrace.server.tables.storeurl import Place, read, shown

FILE, URL = "store.db", "store.url"


def holds_runs(folder: Path) -> bool:
    return (folder / FILE).exists() or (folder / URL).exists()


def store_of(folder: Path) -> Place:
    """The file need not be there yet."""
    try:
        return (folder / URL).read_text().strip()
    except FileNotFoundError:
        return folder / FILE


def settle(folder: Path, wanted: str = "") -> Place:
    """For a server that begins in this folder. `wanted`: a URL; else what the folder has, or a
    file in it."""
    found = store_of(folder)
    if not wanted:
        return found
    if holds_runs(folder) and not (isinstance(found, str) and _same(found, wanted)):
        raise BadInput(
            f"{folder}: its runs are in {shown(found)}, not in {shown(wanted)}.",
            remedy="Leave the setting `store` as it was, or run in another folder.",
        )
    return wanted


def remember(folder: Path, place: Place) -> None:
    """When a store could be opened there: an address with a slip of the pen binds nobody."""
    if isinstance(place, str) and not holds_runs(folder):
        _write(folder / URL, place)


def _same(found: str, wanted: str) -> bool:
    """A password may have changed since."""
    return str(read(found)) == str(read(wanted))


def _write(path: Path, url: str) -> None:
    """It may hold a password."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f"{url}\n")
