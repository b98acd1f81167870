"""What changes with each task that is sent: who looks at it, is asked anew before the next.

`Tail` does, too, but once: what a host is sent ends where it begins (see `tails`).
"""

from __future__ import annotations

from tailrace.policy.expression import Expression

LOTTERY = "Lottery"
OF_HOSTS = ("Host.Running", "Host.RunningOfBot", "Host.JobsToday")
OF_BAGS = ("BOT.JobsRunning", "BOT.JobsQueued", "BudgetLeft", LOTTERY)


def looks(*asked: Expression | None) -> bool:
    return any(key in OF_HOSTS or key in OF_BAGS for one in asked if one for key in one.needs.keys)
