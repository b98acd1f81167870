"""An `sbatch` script becomes a bag: one task for each number of its array, each runs the script.

What its `#SBATCH` lines ask for becomes needs and limits; flags stand above it. Its text is kept
with the bag, so that it may be edited while the bag runs, as under Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tailrace.bag import policysaid, slurmunits
from tailrace.bag.arrayids import Array, read_array
from tailrace.bag.asked import Asked, cores, gpus, memory, tasks
from tailrace.bag.bag import Bag
from tailrace.bag.bagfile import around
from tailrace.bag.batch import Batch, fields
from tailrace.bag.checks import check_bag
from tailrace.bag.places import Path as KeyPath
from tailrace.bag.policysaid import Believe
from tailrace.bag.rules import read_rules
from tailrace.bag.sbatch import is_batch_script, read_options
from tailrace.bag.slurmenv import env_of
from tailrace.bag.slurmoptions import FLAGS, REFUSED, UNHEEDED
from tailrace.bag.spec import BagSpec
from tailrace.bag.strategies import Admit, anything
from tailrace.bag.tables import Origin, Table
from tailrace.bag.textfile import read_text
from tailrace.bag.then import read_then
from tailrace.errors import BadInput

_LAUNCHERS = re.compile(r"^[^#\n]*?\b(srun|mpirun|mpiexec|ibrun)\b", re.MULTILINE)


class Lines(Origin):
    """Knows at which line of the script a key of the bag was set."""

    def __init__(self, asked: Asked, flags: Mapping[str, Any]) -> None:
        super().__init__(asked.shown, "", flags)
        self._asked = asked

    def _line(self, path: KeyPath) -> int | None:
        for name in _SETS.get(".".join(map(str, path[:2])), ()):
            if name in self._asked:
                return self._asked.options[name].line
        return None


_SETS = {
    "name": ("job-name",),
    "limits.time": ("time",),
    "limits.memory": ("mem", "mem-per-cpu", "mem-per-gpu"),
    "needs.memory": ("mem", "mem-per-cpu", "mem-per-gpu"),
    "needs.cores": ("cpus-per-task", "cpus-per-gpu", "ntasks", "ntasks-per-node"),
    "needs.gpus": ("gpus", "gpus-per-task", "gpus-per-node", "gres"),
}


def is_script(path: Path) -> bool:
    """A file with `#SBATCH` lines; whatever cannot be read is none. A pipe is not opened: what is
    read of it is gone, and nobody may write to it."""
    try:
        if not path.is_file():
            return False
        with open(path, "rb") as stream:
            if stream.read(2) != b"#!":
                return False
        return is_batch_script(path.read_text("utf-8"))
    except (OSError, UnicodeError):
        return False


def load_batch_script(
    path: Path,
    arguments: Sequence[str],
    array: str | None,
    folder: Path,
    *,
    admit: Admit = anything,
    believe: Believe = policysaid.anything,
    **settings: Any,
) -> Bag:
    """`array` as in `--array`; `settings` are keys of a bag file given as flags."""
    shown = str(path)
    text = read_text(path, shown)
    asked = Asked(read_options(text, shown), shown)
    _refuse(asked, text)
    numbers = _numbers(asked, array)
    flags = {key: value for key, value in settings.items() if value not in (None, ())}
    table = Table(_merged(_keys(asked, numbers), flags), Lines(asked, flags))
    repeatable = bool(table.take("repeatable", bool))
    rules = read_rules(table, path.name) | read_then(table)
    rules |= around(table, rules, folder)
    table.finish()
    batch = _batch(path.name, text, asked, numbers, folder, rules)
    spec = BagSpec(
        folder=str(folder.absolute()), source=shown, command=(path.name, *arguments),
        syntax="batch", axes=((numbers.column,),) if numbers else (), batch=batch,
        repeatable=repeatable, **rules,
    )  # fmt: skip
    return check_bag(spec, [], table.origin, unused_ok=True, admit=admit, believe=believe)


def _merged(keys: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """Flags above the script; of `needs` and `limits` each amount by itself."""
    merged = {**keys, **flags}
    for name in ("needs", "limits"):
        merged[name] = {**keys.get(name, {}), **flags.get(name, {})}
    return merged


def _refuse(asked: Asked, text: str) -> None:
    for name, (_, reason, remedy) in REFUSED.items():
        if name in asked and not (name == "input" and asked.text(name) == "/dev/null"):
            raise asked.bad(name, f"--{name} cannot be done: {reason}", remedy)
    if asked.read("nodes", slurmunits.nodes, 1) > 1:
        remedy = "a task runs on one machine: ask for --nodes=1, or run it under Slurm"
        raise asked.bad("nodes", f"--nodes={asked.text('nodes')} asks for several machines", remedy)
    launcher = _LAUNCHERS.search(text)
    if tasks(asked) > 1 and launcher is not None:
        name = "ntasks" if "ntasks" in asked else "ntasks-per-node"
        message = f"{tasks(asked)} processes that `{launcher[1]}` starts are one parallel program"
        remedy = "tasks here are single programs: ask for --ntasks=1 and --cpus-per-task, or run it"
        raise asked.bad(name, message, f"{remedy} under Slurm")


def _numbers(asked: Asked, array: str | None) -> Array | None:
    if array is None:
        found: Array | None = asked.read("array", read_array)
        return found
    try:
        return read_array(array)
    except BadInput as fault:
        raise BadInput(fault.message, flag="--array", remedy=fault.remedy) from None


def _keys(asked: Asked, numbers: Array | None) -> dict[str, Any]:
    """In the words of a bag file."""
    needs, limits = {"cores": cores(asked)}, {}
    if memory(asked):
        needs["memory"] = limits["memory"] = memory(asked)
    if gpus(asked):
        needs["gpus"] = gpus(asked)
    seconds = asked.read("time", slurmunits.seconds)
    if seconds is not None:
        limits["time"] = seconds
    keys: dict[str, Any] = {"needs": needs, "limits": limits}
    if "job-name" in asked:
        keys["name"] = asked.text("job-name").replace("/", "_")
    if numbers is not None and numbers.most_running:
        keys["max_running"] = numbers.most_running
    return keys


def _batch(
    name: str,
    text: str,
    asked: Asked,
    numbers: Array | None,
    folder: Path,
    rules: Mapping[str, Any],
) -> Batch:
    here = folder.absolute()
    exported, unexported = _exported(asked)
    chdir = here / asked.text("chdir")
    if not chdir.is_dir():
        raise asked.bad("chdir", f"--chdir: there is no folder {chdir}", f"mkdir -p {chdir}")
    return Batch(
        name, text, str(chdir), numbers is not None,
        stdout=_file(asked, "output", chdir, "slurm-%A_%a.out" if numbers else "slurm-%j.out"),
        stderr=_file(asked, "error", chdir, "") if "error" in asked else None,
        append=asked.read("open-mode", _open_mode, False),
        env={**env_of(asked, numbers, str(here), rules), **exported},
        unheeded=(*_unheeded(asked), *unexported),
    )  # fmt: skip


def _open_mode(text: str) -> bool:
    if text[:1] not in ("a", "t"):
        raise ValueError(f"{text!r} is neither append nor truncate")
    return text[0] == "a"


def _file(asked: Asked, name: str, chdir: Path, default: str) -> str:
    """Slurm fails without a word where the folder of an output is missing."""
    pattern = asked.text(name, default)
    if pattern in ("/dev/null", ""):
        return ""
    if "N" in fields(pattern):
        message = f"--{name}: %N, the name of the machine, is not known before a task runs"
        raise asked.bad(name, message, "write %a or %j, which tell the tasks apart")
    parent = (chdir / pattern).parent
    if "%" not in str(parent) and not parent.is_dir():
        raise asked.bad(name, f"--{name}: there is no folder {parent}", f"mkdir -p {parent}")
    return pattern


def _exported(asked: Asked) -> tuple[dict[str, str], list[str]]:
    """Variables with values, and the option itself where it would take others away."""
    found, rest = {}, []
    for part in re.split(r",(?=\w+(?:=|,|$))", asked.text("export", "ALL")):
        key, equals, value = part.partition("=")
        if equals:
            found[key] = value.strip("'\"")
        else:
            rest.append(part)
    keeps_all = rest == [] or "ALL" in rest
    told = [] if keeps_all else [f"--export={asked.text('export')} (tasks see all of this shell)"]
    return found, told


def _unheeded(asked: Asked) -> list[str]:
    names = (*UNHEEDED, *FLAGS)
    found = [option for option in asked.options.values() if option.name in names]
    others = asked.read("gres", slurmunits.gres, (0, []))[1]
    told = [f"{option} (line {option.line})" for option in found]
    return told + [f"--gres={other} (line {asked.options['gres'].line})" for other in others]
