"""A bag is handed to a server once, however often the call has to be made."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from typing import Any, Protocol

import click

from tailrace.cli.servers.calling import Busy, Lost, call
from tailrace.errors import ServerError
from tailrace.quantities import show_duration
from tailrace.server.submission import Submission, Submitted
from tailrace.server.tables.lock import Owner

PATIENCE_S = 120.0
FIRST_S, LONGEST_S = 0.5, 15.0  # between two calls


class HandIn(Protocol):
    def __call__(self, owner: Owner, body: Submission, /) -> Submitted: ...


def new_key() -> str:
    return secrets.token_hex(16)


def hand_in(owner: Owner, body: Submission, /, key: str) -> Submitted:
    told: Submitted = call(owner, "POST", "/api/v1/bags", body, Submitted, key)
    return told


def _to_the_terminal(text: str) -> None:
    click.echo(f"tailrace: {text}", err=True)


def patiently(
    owner: Owner,
    body: Submission,
    /,
    say: Callable[[str], Any] = _to_the_terminal,
    wait: Callable[[float], Any] = time.sleep,
) -> Submitted:
    """Again and again under the same key, while the server is busy or its answer was lost; `wait`
    says true to end it."""
    key, waiting = new_key(), Waiting(say)
    while True:
        try:
            return hand_in(owner, body, key)
        except ServerError as error:
            pause_s = waiting.after(error)
            if wait(pause_s):
                raise


class Waiting:
    """For a server that was there: one that never was may have another address."""

    def __init__(self, say: Callable[[str], Any]) -> None:
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
