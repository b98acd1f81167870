"""A worker offers what it was given of its machine, and not the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.worker import confines, machine

from .conftest import Worker, wait_for
from .scripted_desk import ScriptedDesk

MIB = 1024 * 1024
WHOLE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def groups(tmp_path: Path, ours: str, **files: str) -> tuple[str, str]:
    """A tree of control groups, and the file that says which is ours."""
    for name, text in files.items():
        path = tmp_path / "groups" / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "ours").write_text(ours)
    return str(tmp_path / "groups"), str(tmp_path / "ours")


def test_the_group_of_this_process_counts_and_each_above_it(tmp_path: Path) -> None:
    root, ours = groups(tmp_path, "0::/slurm/job_7/step_0\n",
                        memory_dot_max="max\n", slurm__job_7__memory_dot_max="2000\n",
                        slurm__job_7__step_0__memory_dot_max="3000\n",
                        slurm__job_8__memory_dot_max="10\n",
                        slurm__job_7__cpu_dot_max="200000 100000\n")  # fmt: skip
    assert sorted(confines.memory({}, root, ours)) == [2000, 3000]
    assert confines.cores({}, root, ours) == [2]


def test_groups_of_the_first_version_are_found_by_their_controllers(tmp_path: Path) -> None:
    limit = {"memory__slurm__uid_1__memory.limit_in_bytes": "4000\n"}
    root, ours = groups(tmp_path, "5:cpu,cpuacct:/other\n4:memory:/slurm/uid_1\n", **limit)
    assert confines.memory({}, root, ours) == [4000]


@pytest.mark.parametrize(
    ("job", "memory", "cores"),
    [
        ({"SLURM_MEM_PER_NODE": "2048", "SLURM_CPUS_ON_NODE": "4"}, [2048], [4]),
        ({"SLURM_MEM_PER_CPU": "100", "SLURM_CPUS_ON_NODE": "4"}, [400], [4]),
        ({"SLURM_MEM_PER_NODE": "0", "SLURM_CPUS_PER_TASK": "3"}, [], [3]),
        ({"SLURM_CPUS_PER_TASK": "2", "SLURM_NTASKS": "3", "SLURM_CPUS_ON_NODE": "8"}, [], [8, 6]),
        ({"SLURM_CPUS_PER_TASK": "2", "SLURM_NTASKS": "3", "SLURM_STEP_ID": "0"}, [], [2]),
        ({"NCPUS": "2"}, [], [2]),
        ({"PBS_NUM_PPN": "5", "SLURM_MEM_PER_NODE": "lots"}, [], [5]),
    ],
)
def test_batch_systems_tell_what_their_job_has(
    tmp_path: Path, job: dict[str, str], memory: list[int], cores: list[int]
) -> None:
    nowhere = str(tmp_path / "none")
    assert confines.memory(job, nowhere, nowhere) == [limit * MIB for limit in memory]
    assert confines.cores(job, nowhere, nowhere) == cores


def test_a_pilot_offers_what_its_job_has(
    desk: ScriptedDesk, start: Callable[..., Worker], tmp_path: Path
) -> None:
    job = {"SLURM_MEM_PER_NODE": "64", "SLURM_CPUS_ON_NODE": "1"}
    start(env=job, command=[sys.executable, "-m", "tailrace.worker"])
    wait_for(lambda: desk.calls)
    offered = desk.calls[0]["capacity"]
    assert 0 < offered["memory"] <= 64 * MIB < WHOLE
    code = "from tailrace.worker import machine; print(machine.cores())"
    told = subprocess.run([sys.executable, "-c", code], env={**os.environ, **job}, check=True,
                          capture_output=True, text=True)  # fmt: skip
    assert int(told.stdout) == 1
    assert machine.memory() <= WHOLE
