"""What this machine is and has."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Dict, Optional

from . import confines

# Left for the system and the worker itself, when the whole machine is offered.
_LEFT_FREE = 0.05


def cores() -> int:
    """Those this process may use."""
    try:
        bound = len(os.sched_getaffinity(0))
    except AttributeError:
        bound = os.cpu_count() or 1
    return min([bound, *confines.cores()])


def memory() -> int:
    """Bytes for tasks: of the machine, or of what it is confined to."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(min([total, *confines.memory()]) * (1 - _LEFT_FREE))


def gpus() -> int:
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return len([name for name in given.split(",") if name])
    try:
        return sum(1 for name in os.listdir("/dev") if re.fullmatch(r"nvidia\d+", name))
    except OSError:
        return 0


def disk(folder: str) -> int:
    there = os.statvfs(folder)
    return there.f_bavail * there.f_frsize


def capacity(
    folder: str, some_cores: Optional[float], some_memory: Optional[int], some_gpus: Optional[int]
) -> Dict[str, int]:
    """What is not given is all there is."""
    count = cores() if some_cores is None else some_cores
    devices = gpus() if some_gpus is None else some_gpus
    amounts = {
        "cores": int(count * 1000),
        "memory": memory() if some_memory is None else some_memory,
        "disk": disk(folder),
    }
    if devices:
        amounts["gpus"] = devices * 1000
    return amounts


def kind() -> str:
    system = os.uname()
    return f"{system.sysname}-{system.machine}"


def about() -> Dict[str, Any]:
    system = os.uname()
    return {
        "name": system.nodename,
        "cores": cores(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": f"{sys.implementation.name} {sys.version.split()[0]}",
        "process": os.getpid(),
    }
