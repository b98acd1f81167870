"""The options of `sbatch`, and what becomes of each here.

As there, an option may be cut short as long as it is clear which is meant (`--job=sweep`).
"""

from __future__ import annotations

from tailrace.bag.tables import near
from tailrace.errors import BadInput

HEEDED = {
    "array": "a",
    "chdir": "D",
    "cpus-per-gpu": "",
    "cpus-per-task": "c",
    "error": "e",
    "export": "",
    "gpus": "G",
    "gpus-per-node": "",
    "gpus-per-task": "",
    "gres": "",
    "job-name": "J",
    "mem": "",
    "mem-per-cpu": "",
    "mem-per-gpu": "",
    "nodes": "N",
    "ntasks": "n",
    "ntasks-per-node": "",
    "open-mode": "",
    "output": "o",
    "time": "t",
}
# What they ask for happens anyway, or is of no consequence.
SILENT = {
    "get-user-env": "", "ignore-pbs": "", "no-kill": "k", "overcommit": "O", "oversubscribe": "s",
    "parsable": "", "quiet": "Q", "requeue": "", "verbose": "v", "wait": "W",
}  # fmt: skip
UNHEEDED = {
    "account": "A", "acctg-freq": "", "batch": "", "bb": "", "bbf": "", "begin": "b",
    "cluster-constraint": "", "clusters": "M", "comment": "", "constraint": "C", "container": "",
    "core-spec": "S", "cores-per-socket": "", "cpu-freq": "", "deadline": "", "delay-boot": "",
    "distribution": "m", "exclude": "x", "export-file": "", "extra": "", "extra-node-info": "B",
    "gid": "", "gpu-bind": "", "gpu-freq": "", "gres-flags": "", "hint": "",
    "kill-on-invalid-dep": "", "licenses": "L", "mail-type": "", "mail-user": "", "mcs-label": "",
    "mem-bind": "", "mincpus": "", "network": "", "nodefile": "F", "nodelist": "w",
    "ntasks-per-core": "", "ntasks-per-gpu": "", "ntasks-per-socket": "", "partition": "p",
    "power": "", "prefer": "", "priority": "", "profile": "", "qos": "q", "reservation": "",
    "signal": "", "sockets-per-node": "", "switches": "", "thread-spec": "",
    "threads-per-core": "", "time-min": "", "tmp": "", "tres-per-task": "", "uid": "",
    "wait-all-nodes": "", "wckey": "",
}  # fmt: skip
# Without a value, or with one only behind `=`.
FLAGS = {
    "contiguous": "", "exclusive": "", "hold": "H", "nice": "", "no-requeue": "", "propagate": "",
    "reboot": "", "spread-job": "", "test-only": "", "use-min-nodes": "",
}  # fmt: skip
REFUSED = {
    "dependency": ("d", "what it waits for is not known here",
                   "run it when the other has ended, and remove the line"),
    "input": ("i", "tasks read nothing from standard input",
              "redirect it in the script: program < file"),
    "wrap": ("", "a script cannot wrap itself", "remove the line"),
}  # fmt: skip

_VALUED = {**HEEDED, **UNHEEDED, **{name: told[0] for name, told in REFUSED.items()}}
KNOWN = {**_VALUED, **SILENT, **FLAGS}
BY_LETTER = {letter: name for name, letter in KNOWN.items() if letter}


def takes_value(name: str) -> bool:
    return name in _VALUED


def full_name(given: str) -> str:
    if given in KNOWN:
        return given
    found = [name for name in KNOWN if name.startswith(given)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(f"--{given} may be {', '.join(found)}", remedy="write it in full")
    remedy = f"remove the line{near(given, list(KNOWN))}"
    raise BadInput(f"--{given} is not an option of sbatch", remedy=remedy)


def of_letter(letter: str) -> str:
    if letter not in BY_LETTER:
        raise BadInput(f"-{letter} is not an option of sbatch", remedy="remove the line")
    return BY_LETTER[letter]
