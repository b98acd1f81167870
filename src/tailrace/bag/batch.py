"""A batch script that every task of a bag runs, and what Slurm would put around it.

`SLURM_ARRAY_JOB_ID` is the number of the bag. `SLURM_JOB_ID`, of which each task has its own, is
made of that and of the task's place in the array: numbers that no other task of the folder has.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

TASKS = 10_000_000  # job ids of one bag
NO_ARRAY = 4294967294  # what Slurm puts for %a where there is none
FILLED_IN = ("SLURM_JOB_USER", "SLURM_JOB_NAME")  # into the names of files, as %u and %x
MOST_WORD = 1024  # characters of one, as Slurm has it
_FIELD = re.compile(r"%(\d{0,2})([A-Za-z%])")


class Batch(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str  # of the script
    script: str  # its text, as it was when it was handed in
    chdir: str  # where its tasks run
    array: bool = False
    stdout: str = ""  # a pattern; empty: written nowhere but into the result
    stderr: str | None = None  # None: where stdout goes
    append: bool = False
    env: dict[str, str] = {}
    unheeded: tuple[str, ...] = ()  # of its options


class Printed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Files that a task's output goes to, beside its result; empty: to none."""

    stdout: str
    stderr: str | None = None  # None: with stdout
    append: bool = False


def job_id(batch: Batch, number: int, index: int) -> int:
    return number * TASKS + index if batch.array else number


def of_bag(batch: Batch, number: int) -> dict[str, str]:
    """Variables that all tasks share."""
    env = dict(batch.env)
    if batch.array:
        env["SLURM_ARRAY_JOB_ID"] = str(number)
    return env


def of_task(batch: Batch, number: int, index: int, place: Any) -> dict[str, str]:
    job = str(job_id(batch, number, index))
    env = {"SLURM_JOB_ID": job, "SLURM_JOBID": job}
    if batch.array:
        env["SLURM_ARRAY_TASK_ID"] = str(place)
    return env


def printed(batch: Batch, number: int, index: int, place: Any) -> Printed | None:
    if not batch.stdout and not batch.stderr:
        return None
    words = {
        "A": number,
        "a": place if batch.array else NO_ARRAY,
        "j": job_id(batch, number, index),
        "J": job_id(batch, number, index),
        "n": 0,
        "s": "batch",
        "t": 0,
        "u": batch.env.get("SLURM_JOB_USER", ""),
        "x": batch.env.get("SLURM_JOB_NAME", ""),
        "%": "%",
    }
    error = None if batch.stderr is None else filled(batch.stderr, words)
    return Printed(filled(batch.stdout, words), error, batch.append)


def filled(pattern: str, words: dict[str, Any]) -> str:
    """`%5a` is padded with zeros; a backslash anywhere keeps all as it stands."""
    if "\\" in pattern:
        return pattern.replace("\\", "")

    def word(found: re.Match[str]) -> str:
        if found[2] not in words:
            return found[0]
        text = str(words[found[2]])
        return text.zfill(min(int(found[1] or 0), 10)) if text.isdigit() else text

    return _FIELD.sub(word, pattern)


def fields(pattern: str) -> list[str]:
    return [] if "\\" in pattern else [found[2] for found in _FIELD.finditer(pattern)]
