"""How the kernel is compiled, and that what was compiled is kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

# Counting references to the arrays at each call took nine tenths of the time, and nothing here
# makes or keeps an array: hence `_nrt`.
# Nor is a wrapper needed by which Python could call it, whose making took a third of the time.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def compiled(function: F) -> F:
    """For what is called from compiled code alone: it becomes a part of its caller. To hand over a
    hundred fields of model and work at each call took longer than the work itself, fifteen times
    as long where the compiler chose so by its own measure."""
    made: F = njit(forceinline=True, **INNER, **OPTIONS)(function)
    return made


def apart(function: F) -> F:
    """For what is called once for a run, or less often: quicker compiled than as a part of it."""
    made: F = njit(**INNER, **OPTIONS)(function)
    return made


def kept(function: F) -> F:
    """For what is called from Python: quick from the second process on. What is kept is known by
    its own file and by what it closes over, hence `stamp` for all files."""
    try:
        made: F = njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no folder can be written in which it might be kept
        made = njit(**OPTIONS)(function)
    return made


def stamp() -> str:
    """Of all that is compiled here."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return " ".join(f"{one.stat().st_size}.{one.stat().st_mtime_ns}" for one in files)
