"""Text files of traces and samples, which archives keep compressed."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tailrace.bag.textfile import decode, read_bytes
from tailrace.errors import BadInput


def read_archived(path: Path, shown: str) -> str:
    """The text of a file, unpacked when its name ends in `.gz`."""
    data = read_bytes(path, shown)
    if path.suffix != ".gz":
        return decode(data, shown)
    try:
        return decode(gzip.decompress(data), shown)
    except (OSError, EOFError, zlib.error) as fault:
        remedy = "fetch it again, or give it a name without .gz if it is plain text"
        raise BadInput(f"it cannot be unpacked: {fault}", file=shown, remedy=remedy) from None
