"""One task's content: computed from a sweep, or read from a stored chunk, when it is sent."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.bag.batch import Printed
from tailrace.errors import BadInput

#: What comes of values that do not suit the places where they stand.
FAULTS = (LookupError, TypeError, ValueError, ArithmeticError, BadInput)


class CannotBeMade(BadInput):
    """A task whose values do not suit its command, its environment or its files."""

    def __init__(self, index: int, fault: Exception) -> None:
        said = fault if isinstance(fault, BadInput) else BadInput(str(fault))
        super().__init__(f"task {index} cannot be made: {said.message}", remedy=said.remedy)


class Input(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str  # where it lies in the attempt's folder
    path: str  # where it lies now
    hash: str = ""  # of one that travels: with the size, what is in it
    size: int = 0
    executable: bool = False


class Output(msgspec.Struct, frozen=True):
    name: str  # what the task leaves in its folder
    target: str  # where it is published, relative to the bag's folder
    required: bool = True


class Task(msgspec.Struct, frozen=True):
    index: int
    params: dict[str, Any]
    argv: tuple[str, ...] | None = None
    shell: str | None = None
    env: dict[str, str] = {}
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    item: bytes | None = None  # of a call; exactly one of argv, shell and item is set. A large one
    # is empty here, and the only input
    printed: Printed | None = None
    last: bool = False  # in the bag's folder, when all others have their result

    def text(self) -> str:
        """The command as one would type it."""
        import shlex

        if self.item is not None:
            return f"call {self.index}"
        return self.shell if self.shell is not None else shlex.join(self.argv or ())
