"""What is seen to at once, as it takes less time than to start a process: the rest is an errand.

All of a check that is more than linear grows with the body (formats by values, outputs by outputs)
or with the tasks (targets that are compared, an order by a parameter). Both must be little.
"""

from __future__ import annotations

from math import prod

from tailrace.bag.blocks import Axes
from tailrace.bag.spec import BagSpec

BODY = 4096  # bytes
TASKS = 1000
FILES = 8  # inputs and outputs of a task


def is_little(spec: BagSpec) -> bool:
    """Of one that came in a little body."""
    files = len(spec.inputs) + len(spec.outputs)
    if not files and spec.order in ("listed", "shuffled"):
        return True  # nobody looks at its tasks
    return files <= FILES and tasks(spec.axes) <= TASKS


def tasks(axes: Axes) -> int:
    return prod(axis[0].count if axis else 0 for axis in axes)
