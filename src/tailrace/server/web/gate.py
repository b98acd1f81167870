"""Who makes a call, by the token in its head."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable

from tailrace.server.people.principals import OWNER, Principal
from tailrace.server.people.tokens import Tokens

SCHEME = b"Bearer "


class Gate:
    """The folder's own secret is asked first: it is what the workers of `tailrace run` have."""

    def __init__(self, secret: str, tokens: Tokens, now: Callable[[], int]) -> None:
        self._secret = SCHEME + secret.encode()
        self._tokens = tokens
        self._now = now

    def principal(self, headers: Iterable[tuple[bytes, bytes]]) -> Principal | None:
        for name, value in headers:
            if name == b"authorization":
                if hmac.compare_digest(value, self._secret):
                    return OWNER
                return self._tokens.principal(value.removeprefix(SCHEME), self._now())
        return None
