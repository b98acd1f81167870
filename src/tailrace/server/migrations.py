"""Numbered forward migrations: `sql/NNN_name.sql`, after a copy of the store as it was."""

from __future__ import annotations

import sqlite3
from functools import cache
from importlib import resources
from pathlib import Path

from tailrace.errors import StoreError


@cache
def steps() -> list[tuple[int, str]]:
    folder = resources.files("tailrace.server") / "sql"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(int(name[:3]), (folder / name).read_text()) for name in names]


def newest() -> int:
    return steps()[-1][0]


def version_of(link: sqlite3.Connection) -> int:
    return int(link.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(link: sqlite3.Connection, path: Path | str) -> None:
    found = version_of(link)
    if found > newest():
        raise StoreError(
            f"{path}: the store has version {found}, this tailrace knows up to {newest()}.",
            remedy="It was written by a newer tailrace: upgrade, or use another folder.",
        )


def migrate(link: sqlite3.Connection, path: Path | str) -> None:
    """Each step with its version number in one transaction: a crash leaves the step before."""
    refuse_newer(link, path)
    found = version_of(link)
    if 0 < found < newest():
        _copy(link, Path(path).with_name(f"{Path(path).name}.v{found}.bak"))
    for number, text in steps():
        if number > found:
            link.executescript(f"BEGIN;\n{text}\nPRAGMA user_version = {number};\nCOMMIT;")


def _copy(link: sqlite3.Connection, target: Path) -> None:
    fresh = target.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    copy = sqlite3.connect(fresh)
    try:
        link.backup(copy)
    finally:
        copy.close()
    fresh.replace(target)
