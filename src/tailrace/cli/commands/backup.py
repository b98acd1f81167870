"""`tailrace backup`: a copy of the runs, also while a server goes on with them."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import click

from tailrace.cli.stored import Stored, stored
from tailrace.errors import BadInput
from tailrace.quantities import show_size
from tailrace.report import words
from tailrace.server.files.copying import copy_beside_store, copy_files
from tailrace.server.tables.link import Link
from tailrace.server.tables.storeurl import read
from tailrace.server.tables.whereabouts import FILE, store_of


@click.command(
    epilog="Example: `tailrace backup --files /backups/runs-$(date +%F)` from a cron job"
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--files", is_flag=True, help="Also files that travelled, and outputs kept here.")
def command(folder: Path, files: bool) -> int:
    """Copy the runs of the nearest `.tailrace` to FOLDER, which must not be there yet.

    It gets the store, whole and as of one moment, the server's certificate, and the sealed secrets
    with their key: keep it as you would keep `.tailrace`. A server goes on meanwhile. To go back,
    copy FOLDER to `.tailrace` in an empty folder (`cp -a`), and start the server there.

    Runs kept in PostgreSQL are copied by pg_dump: first, for what its rows name is copied here.
    """
    if folder.exists():
        raise BadInput(f"{folder} is there already", remedy="Name a folder that is to be made.")
    with stored() as here:
        _copy(here, folder, files)
        bags = words.count(len(here.names()), "bag")
    click.echo(f"{bags} in {folder}, {show_size(_size(folder))}.")
    if not (folder / FILE).exists():
        schema = read(str(store_of(here.folder))).schema
        click.echo(f"Without the store: pg_dump --schema={schema} copies it; do so before this.")
    return 0


def _copy(here: Stored, folder: Path, files: bool) -> None:
    """Under its name only when it is whole; for its owner alone, as the runs are."""
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        unfinished.mkdir(mode=0o700)
        waiting = _unpublished(here.link)
        if isinstance(here.link, sqlite3.Connection):
            waiting = _fill(here.link, unfinished / FILE)
        copy_beside_store(here.folder, unfinished)
        if files:
            copy_files(here.folder, unfinished, waiting)
        os.sync()
        unfinished.rename(folder)
    except OSError as error:
        remedy = "Name a folder below one that exists and that you may write to."
        raise BadInput(f"{error.filename or folder}: {error.strerror}", remedy=remedy) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _fill(link: sqlite3.Connection, file: Path) -> list[int]:
    """Attempts whose outputs wait, as of that moment."""
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    copy = sqlite3.connect(file)
    try:
        link.backup(copy)  # in one step: in parts, every commit would begin it anew
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        return _unpublished(copy)
    finally:
        copy.close()


def _unpublished(link: Link) -> list[int]:
    return [attempt for (attempt,) in link.execute("SELECT attempt FROM unpublished").fetchall()]


def _size(folder: Path) -> int:
    """On disk, where a blob that several hold lies once."""
    found = (Path(above, name).stat() for above, _, names in os.walk(folder) for name in names)
    return sum({there.st_ino: there.st_size for there in found}.values())
