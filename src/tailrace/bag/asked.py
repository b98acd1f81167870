"""What the `#SBATCH` lines of a script ask for, each value with its line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailrace.bag import slurmunits
from tailrace.bag.sbatch import Option
from tailrace.errors import BadInput


class Asked:
    """What the script asks for: the last of each option counts."""

    def __init__(self, options: Sequence[Option], shown: str) -> None:
        self.options = {option.name: option for option in options}
        self.shown = shown

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def text(self, name: str, default: str = "") -> str:
        return self.options[name].value if name in self.options else default

    def read(self, name: str, reader: Any, default: Any = None) -> Any:
        """A value by its reader, whose ValueError is told with its line."""
        option = self.options.get(name)
        if option is None:
            return default
        try:
            return reader(option.value)
        except BadInput as fault:
            raise self.bad(name, fault.message, fault.remedy) from None
        except ValueError as fault:
            raise self.bad(name, f"--{name}: {fault}", "mend the line, or remove it") from None

    def bad(self, name: str, message: str, remedy: str = "") -> BadInput:
        line = self.options[name].line
        return BadInput(message, file=self.shown, line=line, remedy=remedy)


def tasks(asked: Asked) -> int:
    each: int = asked.read("ntasks-per-node", slurmunits.count, 1)
    tasks: int = asked.read("ntasks", slurmunits.count, each)
    return tasks


def cores(asked: Asked) -> int:
    per_gpu: int = asked.read("cpus-per-gpu", slurmunits.count, 0)
    each: int = asked.read("cpus-per-task", slurmunits.count, per_gpu * gpus(asked) or 1)
    return each * tasks(asked)


def gpus(asked: Asked) -> int:
    found: int = asked.read("gres", slurmunits.gres, (0, []))[0]
    for name, times in (("gpus-per-node", 1), ("gpus-per-task", tasks(asked)), ("gpus", 1)):
        found = asked.read(name, slurmunits.gpus, 0) * times or found
    return found


def memory(asked: Asked) -> int:
    """Bytes; 0: as much as there is."""
    each = asked.read("mem-per-cpu", slurmunits.size, 0) * cores(asked)
    of_gpus: int = asked.read("mem-per-gpu", slurmunits.size, 0) * gpus(asked)
    memory: int = asked.read("mem", slurmunits.size, each or of_gpus)
    return memory
