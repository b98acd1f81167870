"""Which tailrace this is: its number, and whether its hottest modules are compiled."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import tailrace


def compiled() -> bool:
    """By what lies beside the source, where Python looks first; nothing is loaded for it."""
    scheduler = Path(tailrace.__file__).parent / "scheduler"
    return any((scheduler / f"brain{suffix}").exists() for suffix in EXTENSION_SUFFIXES)


def version() -> str:
    return f"tailrace {tailrace.__version__}{' (compiled)' if compiled() else ''}"
