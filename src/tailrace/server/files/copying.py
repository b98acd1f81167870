"""A copy of the folder of runs, taken while a server goes on.

The store comes first, as of one moment, then what its rows speak of; what comes later stands in no
row of the copy, and does no harm. What goes meanwhile leaves a copy as good as the original: files
of a bag past its time go there, too; and outputs pass from their attempt to their bag, so that the
attempts are copied before the bags.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tailrace.server.files.blobs import Blobs
from tailrace.server.files.publishing import PART, attempt_folder
from tailrace.server.tables.whereabouts import URL

KEPT = ("tls", "secrets")  # small, and without them callers or bags do not go on


def copy_beside_store(runs: Path, target: Path) -> None:
    for name in KEPT:
        _tree(runs / name, target / name)
    if (runs / URL).exists():
        shutil.copy2(runs / URL, target / URL)


def copy_files(runs: Path, target: Path, unpublished: Iterable[int]) -> None:
    """Files that travelled, what was published of them, and outputs that wait to be moved."""
    for attempt in unpublished:
        source = attempt_folder(runs / "scratch", attempt)
        _tree(source, attempt_folder(target / "scratch", attempt))
    _blobs(Blobs(runs / "blobs"), Blobs(target / "blobs"))
    _tree(runs / "outputs", target / "outputs")


def _tree(source: Path, target: Path) -> None:
    for above, _, names in os.walk(source):
        beside = target / Path(above).relative_to(source)
        beside.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            if not (name.startswith(".") and name.endswith(PART)):
                with suppress(FileNotFoundError):
                    shutil.copy2(Path(above, name), beside / name, follow_symlinks=False)


def _blobs(source: Blobs, target: Blobs) -> None:
    for kind in ("attempt", "bag", "user"):
        for holder, _ in source.holders(kind):
            for above, _, names in os.walk(source.folder / "of" / holder):
                for name in names:
                    with suppress(FileNotFoundError):
                        _blob(source, target, holder, Path(above).name + name)


def _blob(source: Blobs, target: Blobs, holder: str, name: str) -> None:
    """Its bytes once, as they are there."""
    shared, held = target.shared(name), target.path(holder, name)
    for path in (shared, held):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not shared.exists():
        shutil.copy2(source.path(holder, name), shared)
    os.link(shared, held)
