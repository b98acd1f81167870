"""A server that has too much to do asks its callers to come again: they do, for a while."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import click

from tailrace.cli.servers.calling import Busy, Lost, call
from tailrace.errors import ServerError
from tailrace.quantities import show_duration
from tailrace.server.tables.lock import Owner

PATIENCE_S = 120.0
FIRST_S, LONGEST_S = 0.5, 15.0  # between two calls
Say = Callable[[str], Any]
Wait = Callable[[float], Any]  # says true to end it


def to_the_terminal(text: str) -> None:
    click.echo(f"tailrace: {text}", err=True)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def insist(
    owner: Owner,
    method: str,
    path: str,
    body: Any = None,
    kind: Any = Any,
    say: Say = to_the_terminal,
    wait: Wait = sleep,
    *,
    asks: bool = False,
) -> Any:
    """Again and again while the server is busy: nothing has come of the call then. What else goes
    wrong goes wrong at once; but a call that only `asks` may be made again also if its answer was
    lost."""
    waiting = Waiting(say)
    while True:
        try:
            return call(owner, method, path, body, kind)
        except (Busy, Lost) as error:
            if (isinstance(error, Lost) and not asks) or wait(waiting.after(error)):
                raise


class Waiting:
    """For a server that was there: one that never was may have another address."""

    def __init__(self, say: Say) -> None:
        self._say, self._said = say, ""
        self._until = time.monotonic() + PATIENCE_S
        self._pause_s = FIRST_S
        self._was_there = self._lost = False

    def after(self, error: ServerError) -> float:
        """How long to wait now; the error itself when it is not worth while any more."""
        self._lost = self._lost or isinstance(error, Lost)
        self._was_there = self._was_there or isinstance(error, Busy | Lost)
        asked_s = max(self._pause_s, error.after_s if isinstance(error, Busy) else 0.0)
        pause_s = asked_s * random.uniform(1.0, 1.25)  # many may have been told the same
        self._pause_s = min(2 * self._pause_s, LONGEST_S)
        if not self._was_there or time.monotonic() + pause_s > self._until:
            raise _in_doubt(error) if self._lost else error
        self._tell(error)
        return pause_s

    def _tell(self, error: ServerError) -> None:
        """Each trouble once."""
        if error.message != self._said:
            left = show_duration(round((self._until - time.monotonic()) * 1e6))
            self._say(f"{error.message}; trying again, for {left} at most")
        self._said = error.message


def _in_doubt(error: ServerError) -> ServerError:
    return ServerError(
        f"{error.message}\n  The bag may have arrived: the connection broke before the answer.",
        remedy="Look with `tailrace status` before you hand it in again.",
    )
