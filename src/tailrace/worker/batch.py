"""What a batch system tells the worker of its own end.

Slurm gives the moment, Torque and PBS the time from the start of the job, which is about when the
worker starts: only a script that does much before is told too much, and gives --lifetime itself.
"""

from __future__ import annotations

import os
import time
from typing import Mapping, Optional

MOMENT = "SLURM_JOB_END_TIME"
LENGTH = "PBS_WALLTIME"


def left_s(environment: Mapping[str, str] = os.environ) -> Optional[float]:
    """Seconds until it ends this machine; None: it says nothing."""
    moment, length = _number(environment, MOMENT), _number(environment, LENGTH)
    if moment is not None:
        return max(moment - time.time(), 0.0)
    return length


def _number(environment: Mapping[str, str], name: str) -> Optional[float]:
    """Above 0: without a limit some write 0, or a word."""
    try:
        number = float(environment.get(name, ""))
    except ValueError:
        return None
    return number if 0 < number < 1e11 else None
