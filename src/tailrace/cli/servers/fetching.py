"""Outputs on their way from a server to this machine: what is here already is not fetched again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tailrace.cli.bags.arriving import LOOK_S, PATIENCE_S
from tailrace.cli.servers.remote import Remote
from tailrace.cli.servers.sending import depot
from tailrace.errors import BadInput, ServerError
from tailrace.quantities import show_size
from tailrace.report.record import Which
from tailrace.report.words import count
from tailrace.server.files.publishing import beside
from tailrace.server.tables.lock import Owner
from tailrace.worker.blobs import Broken, File, describe
from tailrace.worker.depot import Depot, Refused
from tailrace.worker.filling import fill


class Fetched(msgspec.Struct):
    files: int = 0
    bytes: int = 0
    fetched: int = 0  # files that were not here, or not as the server has them
    waiting: int = 0  # accepted, and not yet published
    in_the_way: list[str] = []  # why

    def told(self, bag: int) -> str:
        return (
            f"{count(self.files, 'output')} of bag {bag}, {show_size(self.bytes)}; "
            f"{self.fetched:,} fetched, {self.files - self.fetched:,} here already"
        )


def fetch(owner: Owner, bag: int, folder: Path) -> Fetched:
    """All outputs of a bag's accepted results; those not yet published are waited for, unless
    something is in their way."""
    here = Remote(owner)
    until = time.monotonic() + PATIENCE_S
    found = _once(here, bag, folder)
    while found.waiting and time.monotonic() < until:
        found.in_the_way = here.details(bag).in_the_way
        if found.in_the_way:
            break
        time.sleep(LOOK_S)
        found = _once(here, bag, folder)
    return found


def _once(here: Remote, bag: int, folder: Path) -> Fetched:
    found = Fetched()
    from_ = depot(here.owner)
    try:
        for of, output in _outputs(here, bag):
            if not output["path"]:
                found.waiting += 1
                continue
            found.files += 1
            found.bytes += output["size"]
            found.fetched += _brought(from_, of, output, folder)
    finally:
        from_.close()
    return found


def _outputs(here: Remote, bag: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each with the bag that holds it: an earlier one, when the result was taken over."""
    for result in here.results(bag, Which.DONE):
        of = bag if result.from_bag is None else result.from_bag
        yield from ((of, output) for output in result.outputs if output.get("hash"))


def _brought(from_: Depot, bag: int, output: dict[str, Any], folder: Path) -> bool:
    """False when it is here already."""
    target = _target(folder, output["path"])
    file = File(output["hash"], output["size"])
    if _is_here(target, file):
        return False
    part = beside(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fill(str(part), file, lambda name: from_.read(name, f"?bag={bag}"), lambda: None, _mode())
        part.replace(target)
    except (Refused, Broken) as error:
        raise ServerError(
            f"the output {output['path']} cannot be had: {error}",
            remedy="`tailrace gc` may have removed it; the server's own copy is in its folder, "
            f"as outputs/{bag}/{output['path']}.",
        ) from None
    except OSError as error:
        raise BadInput(f"{target}: {error.strerror}", remedy="Name another folder.") from error
    return True


def _target(folder: Path, path: str) -> Path:
    """Inside the folder, whatever the server says, and wherever links in it lead."""
    target = folder / path
    if not target.parent.resolve().is_relative_to(folder.resolve()) or target.name in ("", ".."):
        raise BadInput(f"the server names an output {path!r}, outside {folder}: not taken")
    if target.is_dir():
        raise BadInput(f"{target} is a folder", remedy="Fetch into another place with --to DIR.")
    return target


def _is_here(target: Path, file: File) -> bool:
    try:
        if target.is_symlink() or target.stat().st_size != file.size:
            return False
        with open(target, "rb") as stream:
            return describe(stream).file == file
    except OSError:
        return False


def _mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
