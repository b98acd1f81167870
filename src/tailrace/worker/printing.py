"""A task's output goes into files of its owner's, where its bag names some: as under Slurm, it can
be read there while the task runs, and the result has it too."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from . import spawn
from .ring import Slot

Json = Dict[str, Any]


def redirect(slot: Slot, printed: Json) -> None:
    """Names are seen from the folder that was entered last."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    flags |= 0 if printed.get("append") else os.O_TRUNC
    out = _opened(printed.get("stdout"), flags)
    together = out is not None and printed.get("stderr") is None
    try:
        err = os.dup(out) if together and out is not None else _opened(printed.get("stderr"), flags)
    except BaseException:
        if out is not None:
            os.close(out)
        raise
    slot.lend(out, err, together)


def _opened(path: Optional[str], flags: int) -> Optional[int]:
    if not path:
        return None
    try:
        return os.open(path, flags, 0o666)
    except OSError as error:
        raise spawn.cannot_write(error, path) from None
