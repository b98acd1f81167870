"""The variables that Slurm sets for a job on one machine; see *output environment variables* of
`sbatch`. Those that differ from task to task are in `batch`."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from typing import Any

from tailrace.bag import slurmunits
from tailrace.bag.arrayids import Array, env_of_array
from tailrace.bag.asked import Asked, memory, tasks
from tailrace.bag.needs import THOUSANDTHS

MIB = 1024 * 1024


def env_of(
    asked: Asked, numbers: Array | None, here: str, rules: Mapping[str, Any]
) -> dict[str, str]:
    cores = str(max(rules["needs"]["cores"] // THOUSANDTHS, 1))
    env = dict.fromkeys(("SLURM_JOB_NUM_NODES", "SLURM_NNODES"), "1")
    env |= dict.fromkeys(("SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS"), "0")
    env |= dict.fromkeys(("SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE"), cores)
    env |= {
        "ENVIRONMENT": "BATCH",
        "SLURM_JOB_NAME": rules["name"],
        "SLURM_JOB_USER": getpass.getuser(),
        "SLURM_JOB_GID": str(os.getgid()),
        "SLURM_JOB_UID": str(os.getuid()),
        "SLURM_SUBMIT_DIR": here,
        "SLURM_SUBMIT_HOST": socket.gethostname().partition(".")[0],
        "SLURM_TASKS_PER_NODE": str(tasks(asked)),
    }
    if "cpus-per-task" in asked:
        env["SLURM_CPUS_PER_TASK"] = asked.text("cpus-per-task")
    if tasks(asked) > 1 or "ntasks" in asked:
        env |= dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), str(tasks(asked)))
    for name in ("partition", "account", "qos"):
        if name in asked:
            env[f"SLURM_JOB_{name.upper()}"] = asked.text(name)
    return env | _memory_env(asked) | (env_of_array(numbers) if numbers else {})


def _memory_env(asked: Asked) -> dict[str, str]:
    if "mem" in asked:
        return {"SLURM_MEM_PER_NODE": str(memory(asked) // MIB)}
    if "mem-per-cpu" in asked:
        return {"SLURM_MEM_PER_CPU": str(asked.read("mem-per-cpu", slurmunits.size) // MIB)}
    return {}
