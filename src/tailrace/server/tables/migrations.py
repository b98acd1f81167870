"""Numbered forward migrations: `sql/NNN_name.sql`, after a copy of the store as it was; for
PostgreSQL, `sql/postgres/NNN_name.sql`, with the same numbers."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from tailrace.errors import StoreError
from tailrace.server.tables.link import WritingLink


@cache
def steps(dialect: str = "") -> list[tuple[int, str]]:
    folder = resources.files("tailrace.server.tables") / "sql" / dialect
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(int(name[:3]), (folder / name).read_text()) for name in names]


def newest() -> int:
    return steps()[-1][0]


def refuse_newer(found: int, path: Path | str) -> None:
    if found > newest():
        raise StoreError(
            f"{path}: the store has version {found}, this tailrace knows up to {newest()}.",
            remedy="It was written by a newer tailrace: upgrade, or use another folder.",
        )


def migrate(link: WritingLink, path: Path | str) -> None:
    """Each step with its version number in one transaction: a crash leaves the step before."""
    found = link.version()
    refuse_newer(found, path)
    if 0 < found < newest():
        link.keep_copy(found)
    for number, text in steps(link.dialect):
        if number > found:
            link.migrate(number, text)
