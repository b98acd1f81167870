"""Files that a command shall write: whether it can is found out before the work, not after it."""

from __future__ import annotations

from pathlib import Path

from tailrace.errors import BadInput


def check_writable(flag: str, path: Path) -> None:
    """What is there stays as it is until the real thing comes, and what is not is not left."""
    there = path.exists()
    try:
        path.open("ab").close()
        if not there:
            path.unlink()
    except FileNotFoundError:
        remedy = f"make it: mkdir -p {path.parent}"
        raise BadInput(f"{flag} {path}: there is no folder {path.parent}", remedy=remedy) from None
    except OSError as fault:
        remedy = "name a file that can be written"
        raise BadInput(f"{flag} {path}: {(fault.strerror or '').lower()}", remedy=remedy) from None
