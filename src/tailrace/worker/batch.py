"""What a batch system tells the worker of its own end.

Slurm gives the moment, since 23.02 in the environment, before that to who asks. Torque gives the
time from the start of the job, which is about when the worker starts: only a script that does much
before is told too much, and gives --lifetime itself.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import Mapping, Optional

MOMENT, JOB = "SLURM_JOB_END_TIME", "SLURM_JOB_ID"
LENGTH = "PBS_WALLTIME"
ASK_S = 20.0


def left_s(environment: Mapping[str, str] = os.environ) -> Optional[float]:
    """Seconds until it ends this machine; None: it says nothing."""
    moment = _number(environment.get(MOMENT, ""))
    if moment is None and environment.get(JOB):
        moment = _asked(environment)
    if moment is not None:
        return max(moment - time.time(), 0.0)
    return _number(environment.get(LENGTH, ""))


def _asked(environment: Mapping[str, str]) -> Optional[float]:
    words = ["squeue", "-h", "-j", environment[JOB], "-o", "%e"]
    env = {**environment, "SLURM_TIME_FORMAT": "%s"}
    try:
        told = subprocess.run(words, env=env, stdout=subprocess.PIPE, timeout=ASK_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return _number(told.stdout.decode("utf-8", "replace"))


def _number(text: str) -> Optional[float]:
    """Above 0: without a limit some write 0, or a word."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < 1e11 else None
