"""A file for its owner alone, from the first byte on."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.errors import BadInput


def keep(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{text}\n")
        fresh.replace(path)
    except OSError as error:
        remedy = "Name a file in a folder that exists and that you may write to."
        raise BadInput(f"{path}: {error.strerror}", remedy=remedy) from error
