"""Where runs live: `.tailrace/` beside the bag, found from any folder below it."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.errors import BadInput
from tailrace.server.tables.whereabouts import holds_runs

NAME = ".tailrace"


def nearest() -> Path:
    """The nearest `.tailrace` upwards; `TAILRACE_FOLDER` names one outright."""
    given = os.environ.get("TAILRACE_FOLDER")
    return Path(given) if given else above(Path.cwd())


def above(start: Path) -> Path:
    """The nearest upwards from here; `.tailrace` itself will do, too."""
    start = start.resolve()
    if holds_runs(start):
        return start
    for folder in (start, *start.parents):
        if holds_runs(folder / NAME):
            return folder / NAME
    raise BadInput(
        f"{start}: neither here nor above is a folder {NAME} with runs.",
        remedy="Start one with `tailrace run`, or go to the folder where you did.",
    )


def of(folder: Path) -> Path:
    """Of a folder that was named: its own, and none above it, which would be of another run."""
    for found in (folder.resolve(), folder.resolve() / NAME):
        if holds_runs(found):
            return found
    raise BadInput(
        f"{folder}: nothing was run in this folder",
        remedy="Name one in which a bag was run; without a name, the nearest above is taken.",
    )


def report_path(folder: Path, bag: int, name: str) -> Path:
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:60]
    return folder / "reports" / f"{bag}-{safe}.html"


def for_run(folder: Path) -> Path:
    """Beside the bag."""
    given = os.environ.get("TAILRACE_FOLDER")
    return Path(given) if given else folder.resolve() / NAME
