"""Recorded workflows in WfFormat (WfCommons): how long the tasks of a program ran."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tailrace.bag.tables import meant
from tailrace.errors import BadInput
from tailrace.simulation.archived import read_archived

ENDINGS = (".json", ".json.gz")


class Command(msgspec.Struct):
    program: str = ""


class Ran(msgspec.Struct, rename={"seconds": "runtimeInSeconds"}):
    seconds: float
    command: Command = msgspec.field(default_factory=Command)


class Execution(msgspec.Struct):
    tasks: list[Ran]


class Workflow(msgspec.Struct):
    execution: Execution


class Recorded(msgspec.Struct):
    workflow: Workflow


def is_workflow(path: Path) -> bool:
    return path.name.endswith(ENDINGS)


def read_run_times(path: Path, shown: str, program: str) -> list[float]:
    """Seconds, in the order of the file."""
    tasks = _recorded(path, shown).workflow.execution.tasks
    found = [task.seconds for task in tasks if task.command.program == program]
    if not found:
        known = list(dict.fromkeys(task.command.program for task in tasks))
        remedy = f"{meant(program, known)}its programs are {', '.join(known) or 'none'}"
        raise BadInput(f"no task ran the program {program!r}", file=shown, remedy=remedy)
    return found


def _recorded(path: Path, shown: str) -> Recorded:
    try:
        return msgspec.json.decode(read_archived(path, shown), type=Recorded)
    except msgspec.DecodeError as fault:
        remedy = (
            "it must have workflow.execution.tasks, each with runtimeInSeconds (WfFormat 1.4 on)"
        )
        raise BadInput(f"it is no workflow: {fault}", file=shown, remedy=remedy) from None
