"""What a task finds around it: its environment, its threads, its GPUs."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .engines import is_engines

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
SPEED = "TAILRACE_SPEED"  # how fast this machine is beside others
_ALWAYS = ("TAILRACE_", "SLURM", "CUDA_VISIBLE_DEVICES")  # names begin so
Json = Dict[str, Any]


class Surroundings:
    def __init__(
        self, capacity: Mapping[str, int], own: Optional[Mapping[str, str]] = None
    ) -> None:
        """`own` is the environment to pass on; this process's own unless given."""
        own = os.environ if own is None else own
        self._own = {name: value for name, value in own.items() if not name.startswith("TAILRACE_")}
        self._own[SPEED] = own.get(SPEED, "1")
        self._of_bag: Dict[int, Dict[str, str]] = {}  # by identity of its terms
        self._gpus = Gpus(capacity.get("gpus", 0), own.get("CUDA_VISIBLE_DEVICES", ""))

    def forget_bags(self) -> None:
        self._of_bag.clear()

    def environment(
        self, order: Json, terms: Json, needs: Mapping[str, int], gpus: Sequence[str]
    ) -> Dict[str, str]:
        """The worker's own, then the bag's, then the task's; ours last."""
        base = self._of_bag.get(id(terms))
        if base is None:
            base = self._of_bag[id(terms)] = dict(self._own)
            for name in ("made", "env", "secrets"):  # by its setup, by its owner
                base.update(terms.get(name) or {})
        env = {**base, **(order.get("env") or {})}
        threads = str(max(1, needs.get("cores", 1000) // 1000))
        for name in _THREADS:
            env.setdefault(name, threads)
        if gpus:
            env["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
        env["TAILRACE_ATTEMPT"] = str(order["attempt"])
        env["TAILRACE_TASK"] = str(order.get("index", ""))
        return env

    def handed_on(self, order: Json, terms: Json, env: Mapping[str, str]) -> Dict[str, str]:
        """What a task finds also where it has nothing else of this machine's environment. What
        the setup did for the engine's sake is not the task's."""
        made = [name for name in terms.get("made") or {} if not is_engines(name)]
        named = {*made, *(terms.get("env") or {}), *(terms.get("secrets") or {})}
        named.update(order.get("env") or {}, _THREADS)
        return {
            name: value for name, value in env.items() if name in named or name.startswith(_ALWAYS)
        }

    def of_engine(self, terms: Json) -> Dict[str, str]:
        return {**self._own, **(terms.get("made") or {})}

    def take_gpus(self, needs: Mapping[str, int]) -> List[str]:
        return self._gpus.take(needs["gpus"]) if needs.get("gpus") else []

    def give_back_gpus(self, names: Sequence[str], needs: Mapping[str, int]) -> None:
        if names:
            self._gpus.give_back(names, needs["gpus"])


class Gpus:
    """Which devices are in use, in thousandths. Whole ones go to tasks that need whole ones;
    several tasks with a fraction each share the fullest that still has room."""

    def __init__(self, thousandths: int, visible: str = "") -> None:
        names = [name for name in visible.split(",") if name]
        names = names or [str(number) for number in range(thousandths // 1000)]
        self._used = dict.fromkeys(names, 0)

    def take(self, amount: int) -> List[str]:
        if amount < 1000:
            room = [name for name, used in self._used.items() if used + amount <= 1000]
            taken = sorted(room, key=lambda name: -self._used[name])[:1]
        else:
            taken = [name for name, used in self._used.items() if used == 0][: amount // 1000]
        self._add(taken, min(amount, 1000))
        return taken

    def give_back(self, names: Sequence[str], amount: int) -> None:
        self._add(names, -min(amount, 1000))

    def _add(self, names: Sequence[str], amount: int) -> None:
        for name in names:
            self._used[name] += amount
