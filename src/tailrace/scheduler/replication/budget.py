"""Everything that is left goes to reliable hosts, as soon as there is the money for that (the
strategy B of ExPERT 5.3).

Until then a task is sent to unreliable hosts only, again when its time-out has passed. Then each
task without a result is wanted on a reliable host once, beside what is out.
"""

from __future__ import annotations

import math

from tailrace.scheduler.deriving import mypyc_attr
from tailrace.scheduler.replication.ntdmr import NTDMr
from tailrace.scheduler.state import Bag, State


@mypyc_attr(allow_interpreted_subclasses=True)
class WithinBudget(NTDMr):
    name = "budget"

    def __init__(
        self, amount: float = 0.0, cheap: float = 0.0, dear: float = 1.0, mr: float = 0.1,
        turnaround_s: float = 3600.0, cancel: bool = True, patience_s: float = 0.0,
    ) -> None:  # fmt: skip
        """`cheap` and `dear` are what a result of either kind costs, in the unit of `amount`."""
        for name, value in (("amount", amount), ("cheap", cheap), ("dear", dear)):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} is {value:g}, but must be 0 or more")
        usual_s = patience_s or 4 * turnaround_s
        super().__init__(0, 0.0, usual_s, mr, turnaround_s, cancel, patience_s)
        self._amount, self._cheap, self._dear = amount, cheap, dear

    def contradiction(self) -> tuple[str, str] | None:
        told = "what is left goes to reliable hosts, but mr = 0 allows none"
        return None if self._mr else (told, "write mr = 0.1, or more")

    def _is_near(self, state: State, bag: Bag) -> bool:
        return self._pays_for_all(bag)

    def _has_come(self, state: State, bag: Bag, machines: int) -> bool:
        return self._pays_for_all(bag)

    def _pays_for_all(self, bag: Bag) -> bool:
        """Until now every result was a cheap one."""
        done = bag.done.count
        left = self._amount - done * self._cheap
        return (bag.terms.count - done) * self._dear <= left
