"""`tailrace backup`: a copy of the store, also while a server runs on it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import click

from tailrace.cli.stored import Stored, stored
from tailrace.errors import BadInput
from tailrace.quantities import show_size
from tailrace.report import words


@click.command(epilog="Example: `tailrace backup /backups/store-$(date +%F).db` from a cron job")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> int:
    """Copy the store of the nearest `.tailrace` to FILE: whole, as of one moment.

    A server goes on meanwhile. To go back, end the server, put FILE in place of
    `.tailrace/store.db`, and remove `store.db-wal` and `store.db-shm` beside it.
    """
    with stored() as here:
        if not isinstance(here.link, sqlite3.Connection):
            remedy = "Copy the database with its own means, such as pg_dump."
            raise BadInput("the runs of this folder are kept in PostgreSQL", remedy=remedy)
        _copy(here, file)
        bags = words.count(len(here.names()), "bag")
    click.echo(f"{bags} in {file}, {show_size(file.stat().st_size)}.")
    return 0


def _copy(here: Stored, file: Path) -> None:
    """Under its name only when it is whole; for its owner alone, as the store is."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        _fill(here, unfinished)
        with open(unfinished, "rb+") as written:
            os.fsync(written.fileno())
        unfinished.replace(file)
    except OSError as error:
        remedy = "Name a file in a folder that exists and that you may write to."
        raise BadInput(f"{file}: {error.strerror}", remedy=remedy) from error
    finally:
        unfinished.unlink(missing_ok=True)


def _fill(here: Stored, unfinished: Path) -> None:
    assert isinstance(here.link, sqlite3.Connection)
    copy = sqlite3.connect(unfinished)
    try:
        here.link.backup(copy)  # in one step: in parts, every commit would begin it anew
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
    finally:
        copy.close()
