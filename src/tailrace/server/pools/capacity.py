"""What the workers of a pool may use of their machines."""

from __future__ import annotations

import msgspec

from tailrace.bag.needs import THOUSANDTHS


class Capacity(msgspec.Struct, frozen=True):
    """None: all there is."""

    cores: float | None = None
    memory: int | None = None
    more: dict[str, int] = {}  # thousandths of gpus, and of names of the user's own

    def arguments(self) -> list[str]:
        cores = [] if self.cores is None else ["--cores", f"{self.cores:g}"]
        memory = [] if self.memory is None else ["--memory", str(self.memory)]
        more = [word for name, amount in self.more.items() for word in _more(name, amount)]
        return cores + memory + more


def _more(name: str, amount: int) -> list[str]:
    count = f"{amount / THOUSANDTHS:g}"
    return ["--gpus", count] if name == "gpus" else ["--has", f"{name}={count}"]
