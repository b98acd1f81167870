"""The machine the figures are of: nothing that names it, everything that explains them."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
import time
from pathlib import Path

import msgspec

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Machine(msgspec.Struct, frozen=True):
    cores: int
    processor: str
    memory_gib: float
    kernel: str
    python: str
    sqlite: str
    fsyncs_per_s: float
    load_before: float
    load_after: float = 0.0
    pace: float = 0.0


def facts(folder: Path) -> Machine:
    memory = PAGE * os.sysconf("SC_PHYS_PAGES") / 2**30
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        processor=_processor(),
        memory_gib=round(memory, 1),
        kernel=f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        fsyncs_per_s=fsync_rate(folder),
        pace=pace(1.0),
        load_before=load(),
    )


def load() -> float:
    return os.getloadavg()[0]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def fsync_rate(folder: Path, seconds: float = 1.0) -> float:
    """Appends of one page, each forced to the disk: no durable commit can be faster."""
    with tempfile.TemporaryFile(dir=folder) as file:
        count, began = 0, time.monotonic()
        while time.monotonic() < began + seconds:
            os.write(file.fileno(), b"x" * PAGE)
            os.fdatasync(file.fileno())
            count += 1
        return count / (time.monotonic() - began)


def pace(seconds: float = 0.1) -> float:
    """Millions of additions a second in this Python: a shared machine is not always as fast, and
    not every Python is built alike."""
    step, total, count, began = range(10_000), 0, 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        for each in step:
            total += each
        count += len(step)
    return count / (time.perf_counter() - began) / 1e6


def resident_mb(pid: int, field: str = "VmRSS") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise LookupError(field)


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / TICK


def descendants(pid: int) -> list[int]:
    """The process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += descendants(int(child))
    return found
