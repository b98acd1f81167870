"""A file for its owner alone, from the first byte on."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.errors import BadInput


def keep(path: Path, text: str) -> None:
    try:
        _write(path, text).replace(path)
    except OSError as error:
        raise _unwritable(path, str(error.strerror)) from error


def check_new(path: Path) -> None:
    """Before something is made that can be kept nowhere else, or takes the place of such a one."""
    try:
        _write(path, "").unlink()
    except OSError as error:
        raise _unwritable(path, str(error.strerror)) from error
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    if os.path.lexists(path):
        raise BadInput(f"{path} is there already", remedy="Name another file, or remove it first.")


def _write(path: Path, text: str) -> Path:
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{text}\n")
    return fresh


def _unwritable(path: Path, why: str) -> BadInput:
    remedy = "Name a file in a folder that exists and that you may write to."
    return BadInput(f"{path}: {why}", remedy=remedy)
