"""What travels: functions and arguments as bytes, and cloudpickle for a Python that has none."""

from __future__ import annotations

import io
import pickle
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import cloudpickle

from tailrace.errors import BadInput

PROTOCOL = 5
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def pickled(value: Any) -> bytes:
    """By plain pickle where that will do, which is ten times as fast. What stands in `__main__` is
    not found by another process, and goes by value."""
    try:
        found = pickle.dumps(value, PROTOCOL)
        if b"__main__" not in found:
            return found
    except Exception:
        pass
    return bytes(cloudpickle.dumps(value, PROTOCOL))


def function_bytes(function: Any) -> bytes:
    if not callable(function):
        remedy = "Give a function, and its arguments behind it."
        raise BadInput(f"{function!r} cannot be called", remedy=remedy)
    try:
        return pickled(function)
    except Exception as error:
        raise BadInput(
            f"{name_of(function)} cannot be pickled: {error}",
            remedy="Open files and locks cannot travel: make them inside the function.",
        ) from error


def name_of(function: Any) -> str:
    found = getattr(function, "__qualname__", None) or type(function).__qualname__
    return str(found).replace("<locals>.", "")[:80]


@lru_cache(maxsize=1)
def cloudpickle_zip() -> bytes:
    """The package as it is installed here; the same sources give the same bytes."""
    target = io.BytesIO()
    folder = Path(cloudpickle.__file__).parent
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.glob("*.py")):
            entry = zipfile.ZipInfo(f"cloudpickle/{path.name}", _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return target.getvalue()
