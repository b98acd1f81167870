"""A bag is handed to a server once, however often the call has to be made."""

from __future__ import annotations

import secrets

from tailrace.cli.servers.calling import call
from tailrace.cli.servers.waiting import Say, Wait, Waiting, sleep, to_the_terminal
from tailrace.errors import ServerError
from tailrace.server.submission import Submission, Submitted
from tailrace.server.tables.lock import Owner


def new_key() -> str:
    return secrets.token_hex(16)


def hand_in(owner: Owner, body: Submission, /, key: str) -> Submitted:
    told: Submitted = call(owner, "POST", "/api/v1/bags", body, Submitted, key)
    return told


def patiently(
    owner: Owner,
    body: Submission,
    /,
    say: Say = to_the_terminal,
    wait: Wait = sleep,
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
