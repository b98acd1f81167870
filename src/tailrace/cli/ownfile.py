"""Whose a file is: settings may name commands, which are then run under this account."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import click

_told: dict[Path, None] = {}


def is_ours(path: Path) -> bool:
    """Ours or root's, and nobody else writes to it. Another's is passed over, with a word."""
    why = _why_not(path)
    if why and path not in _told:
        _told[path] = None
        click.echo(f"tailrace: {path} is not read: {why}", err=True)
    return not why


def _why_not(path: Path) -> str:
    found = path.stat()
    if found.st_uid not in (0, os.geteuid()):
        return "it belongs to another user; copy it if it is meant for you"
    if found.st_mode & stat.S_IWOTH:
        return f"everybody may write to it; run: chmod o-w {path}"
    return ""
