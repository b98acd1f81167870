"""What the workers of a pool may use of their machines."""

from __future__ import annotations

from math import ceil

import msgspec

from tailrace.bag.needs import THOUSANDTHS

MIB = 1024 * 1024
OWN_SHARE = 0.05


class Capacity(msgspec.Struct, frozen=True):
    """None: all there is."""

    cores: float | None = None
    memory: int | None = None
    more: dict[str, int] = {}  # thousandths of gpus, and of names of the user's own

    def words(self) -> dict[str, str]:
        """For the commands that ask a batch system for a machine: whole cores; memory in MiB, with
        the share that a worker leaves for itself."""
        cores = {} if self.cores is None else {"cores": str(max(ceil(self.cores), 1))}
        if self.memory is None:
            return cores
        return {**cores, "memory": str(ceil(self.memory * (1 + OWN_SHARE) / MIB))}

    def arguments(self) -> list[str]:
        cores = [] if self.cores is None else ["--cores", f"{self.cores:g}"]
        memory = [] if self.memory is None else ["--memory", str(self.memory)]
        more = [word for name, amount in self.more.items() for word in _more(name, amount)]
        return cores + memory + more


def _more(name: str, amount: int) -> list[str]:
    count = f"{amount / THOUSANDTHS:g}"
    return ["--gpus", count] if name == "gpus" else ["--has", f"{name}={count}"]
