"""The one tree of errors: each knows its exit code, and says what was found and what to do."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command; scripts rely on them."""

    OK = 0
    SOME_FAILED = 1
    BAD_INPUT = 2
    INFEASIBLE = 3
    BUDGET = 4
    BRAKE = 5
    SERVER = 6
    INTERRUPTED = 130


class TailraceError(Exception):
    """Base of all errors shown to a user."""

    exit_code: Exit = Exit.SERVER

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class BadInput(TailraceError):
    """What the user handed in cannot be used: names the file and the line where it stands."""

    exit_code = Exit.BAD_INPUT

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        flag: str | None = None,
        remedy: str = "",
    ) -> None:
        """`flag`: as it was typed, where the fault stands there and in no file."""
        super().__init__(message, remedy=remedy)
        self.file = file
        self.line = line
        self.flag = flag

    def __str__(self) -> str:
        place = self.file or self.flag or ""
        if place and self.line is not None:
            place += f":{self.line}"
        return f"{place}: {super().__str__()}" if place else super().__str__()


class Infeasible(TailraceError):
    """No machine, or no money, could ever do what is asked."""

    exit_code = Exit.INFEASIBLE


class StoreError(TailraceError):
    """The store cannot be opened, read or written."""


class StoreBusy(StoreError):
    """Another server owns the store."""


class ServerError(TailraceError):
    """The server cannot be started or reached."""
