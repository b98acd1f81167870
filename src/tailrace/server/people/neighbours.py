"""Users whose tasks run under one account: each can read what is others', and the server's."""

from __future__ import annotations

import logging

from tailrace.server.people.tokens import Tokens

log = logging.getLogger("tailrace.server")
TOLD = (
    "tasks of %d users run on this machine under the account of the server, and can read its "
    "secrets and each other's files: see 'Tasks of others' in docs/how-to/server.md"
)


class Neighbours:
    """Told once: at the start, or when the second is let in."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._told = False

    def look(self, now: int) -> None:
        users = self._tokens.users(now)
        if len(users) > 1 and not self._told:
            self._told = True
            log.warning(TOLD, len(users))
