"""What is raised for a call that did not succeed."""

from __future__ import annotations

import pickle

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.errors import Exit, TailraceError


class TaskFailed(TailraceError):
    """The call ended without an answer of its own: its process died, or its host could not run it.
    `stderr` is what it printed there."""

    exit_code = Exit.SOME_FAILED

    def __init__(
        self, message: str, *, outcome: str = "", stderr: str = "", remedy: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.outcome = outcome
        self.stderr = stderr


class OverLimit(TaskFailed):
    """It passed its limit of time, memory or disk, and was ended."""


class Stopped(TaskFailed):
    """Its bag was cancelled, paused or stopped before the call was made, or while it was."""


class RemoteTraceback(Exception):
    """The cause of an exception that was raised in a runner: its traceback there, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text.rstrip()}\n"""'


class Told(msgspec.Struct, frozen=True):
    """Of what a worker reported, only this."""

    outcome: str = ""
    pickled: bytes = b""
    limit: str | None = None
    error: str = ""
    stderr: str = ""


read = msgspec.json.Decoder(Told).decode


def exception_of(outcome: str, body: bytes | None) -> BaseException:
    """The call's own exception where it raised one, with its traceback as the cause."""
    told = read(body) if body else Told()
    if outcome == Outcome.TASK_FAILED and told.pickled:
        return _own(told)
    said = told.error or told.stderr.rstrip().rpartition("\n")[2] or "nothing was said"
    if outcome == Outcome.OVER_LIMIT:
        return OverLimit(f"the call passed its limit of {told.limit}", outcome=outcome,
                         stderr=told.stderr, remedy="Give it more, or ask less of it.")  # fmt: skip
    message = f"the call has no result ({outcome.replace('_', ' ')}): {said}"
    return TaskFailed(message, outcome=outcome, stderr=told.stderr)


def _own(told: Told) -> BaseException:
    try:
        error, text = pickle.loads(told.pickled)
    except Exception as unreadable:
        message = f"{told.error} (the exception cannot be unpickled here: {unreadable!r})"
        return TaskFailed(message, outcome=told.outcome, stderr=told.stderr)
    if not isinstance(error, BaseException):
        error = TaskFailed(str(error), outcome=told.outcome, stderr=told.stderr)
    raised: BaseException = error
    raised.__cause__ = RemoteTraceback(text)
    return raised
