"""The last words of a worker."""

from __future__ import annotations

import os
from pathlib import Path

TAIL = 4096  # bytes that are looked at


def last_line(log: Path) -> str:
    """Empty where nothing was said, or nothing can be read."""
    try:
        with open(log, "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - TAIL, 0))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""
