"""What is left of a machine for this process: by its control groups, and by its batch system.

A pilot of a batch system is one job of many on its node: were it to offer the whole node, its tasks
would be killed for the memory they were promised.
"""

from __future__ import annotations

import os
from typing import Iterator, List, Mapping, Optional

MIB = 1024 * 1024
ROOT = "/sys/fs/cgroup"
OURS = "/proc/self/cgroup"


def memory(
    environment: Mapping[str, str] = os.environ, root: str = ROOT, ours: str = OURS
) -> List[int]:
    """In bytes; each is a limit, and there may be none."""
    told = (_whole(text) for text in _read_all(root, ours, "memory"))
    return [limit for limit in (*told, *_of_job(environment)) if limit]


def cores(
    environment: Mapping[str, str] = os.environ, root: str = ROOT, ours: str = OURS
) -> List[int]:
    told = (_quota(text) for text in _read_all(root, ours, "cpu"))
    return [limit for limit in (*told, *_cores_of_job(environment)) if limit]


# ---- control groups, of both versions -----------------------------------------------------------

_FILES = {"memory": ("memory.max", "memory.limit_in_bytes"), "cpu": ("cpu.max", "")}


def _read_all(root: str, ours: str, what: str) -> Iterator[str]:
    """Of our group, and of all above: each of them counts."""
    second, first = _FILES[what]
    for folder in _folders(root, ours, what):
        for name in (second, first):
            try:
                with open(os.path.join(folder, name), encoding="ascii") as file:
                    yield file.read()
            except (OSError, UnicodeError):
                pass


def _folders(root: str, ours: str, what: str) -> Iterator[str]:
    """Also the root itself: in a container our group may be there, whatever its name."""
    yield root
    yield os.path.join(root, what)
    for controllers, path in _groups(ours):
        if controllers and what not in controllers.split(","):
            continue
        above = os.path.join(root, what) if controllers else root
        for step in [each for each in path.split("/") if each and each != ".."]:
            above = os.path.join(above, step)
            yield above


def _groups(ours: str) -> Iterator[List[str]]:
    """Controllers (none: the second version) and path of each group this process is in."""
    try:
        with open(ours, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeError):
        return
    for line in lines:
        parts = line.split(":", 2)
        if len(parts) == 3:
            yield parts[1:]


def _quota(text: str) -> Optional[int]:
    """`200000 100000`: two cores' time. A part of a core counts as one."""
    words = text.split()
    if len(words) != 2 or not all(word.isdigit() for word in words) or not int(words[1]):
        return None
    return max(int(words[0]) // int(words[1]), 1)


# ---- batch systems ------------------------------------------------------------------------------


def _of_job(environment: Mapping[str, str]) -> Iterator[int]:
    """0 is Slurm's word for all there is."""
    yield _whole(environment.get("SLURM_MEM_PER_NODE", "")) * MIB
    each = _whole(environment.get("SLURM_MEM_PER_CPU", "")) * MIB
    yield each * max(min(_cores_of_job(environment), default=1), 1)
    yield _whole(environment.get("PBS_RESC_MEM", ""))


def _cores_of_job(environment: Mapping[str, str]) -> List[int]:
    """Slurm, PBS Pro, Torque, Grid Engine and LSF, in this order. A job's script has the cores of
    all its tasks, a step (`srun`) those of one."""
    told = [_whole(environment.get(name, ""))
            for name in ("SLURM_CPUS_ON_NODE", "NCPUS", "PBS_NUM_PPN", "NSLOTS",
                         "LSB_DJOB_NUMPROC")]  # fmt: skip
    each = _whole(environment.get("SLURM_CPUS_PER_TASK", ""))
    is_step = environment.get("SLURM_STEP_ID", "").isdigit()
    tasks = 1 if is_step else _whole(environment.get("SLURM_NTASKS", "")) or 1
    return [count for count in (*told, each * tasks) if count]


def _whole(text: str) -> int:
    """0: no number, and so no limit."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() else 0
