"""How a machine's capacity is divided among its jobs (thesis 2.2, 5.3.1, 6.4.2).

The jobs of a machine speed up and slow down together, so that one `WorkClock` serves them all; it
shows the work that a job of one core has had.
"""

from __future__ import annotations

from typing import Protocol

from tailrace.bag.needs import THOUSANDTHS


class Sharing(Protocol):
    def room(self, slots: int) -> int:
        """Thousandths of cores that its jobs may need together, when it is to offer `slots`."""

    def rate(self, speed: float, running: int) -> float:
        """Of the work clock, when each core gives `speed` to our jobs, and those that run need
        `running` thousandths. A job has this for each core that it needs."""


class EqualShare:
    """Every running job has the cores that it needs, or an equal part of its need when there are
    too few for all (eqs. 5.1 and 6.3, where a machine has one core and each job needs it)."""

    __slots__ = ("_cores",)

    def __init__(self, cores: int = 1) -> None:
        self._cores = cores * THOUSANDTHS

    def room(self, slots: int) -> int:
        return slots * THOUSANDTHS

    def rate(self, speed: float, running: int) -> float:
        return speed if running <= self._cores else speed * self._cores / running


class Reservation:
    """Each job reserves the cores that it needs (0.4, 2) from admission to its end; more than is
    there is refused. With one core that is the thesis's percentage of a machine. What is reserved
    and not used is nobody's."""

    __slots__ = ("_cores",)

    def __init__(self, cores: int = 1) -> None:
        self._cores = cores

    def room(self, slots: int) -> int:
        return min(slots, self._cores) * THOUSANDTHS

    def rate(self, speed: float, running: int) -> float:
        return speed
