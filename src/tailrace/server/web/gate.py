"""Who makes a call, by the token in its head; and until when, for a call may wait."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from tailrace.server.people.principals import OWNER, Principal
from tailrace.server.people.tokens import Tokens
from tailrace.worker.depot import KEY_HEADER

SCHEME = b"Bearer "
KEY = KEY_HEADER.lower().encode()
Headers = Iterable[tuple[bytes, bytes]]
MOST_S = 24 * 3600.0  # a timer is set no further ahead; no call waits so long


class Gate:
    """The folder's own secret is asked first: it is what the workers of `tailrace run` have."""

    def __init__(self, secret: str, tokens: Tokens, now: Callable[[], int]) -> None:
        self._secret = SCHEME + secret.encode()
        self._tokens = tokens
        self._now = now
        self._waiting: dict[asyncio.Future[None], bytes] = {}  # and what they have shown

    def principal(self, headers: Headers) -> Principal | None:
        shown, key = _shown(headers), _shown(headers, KEY)
        found = None if shown is None else self._named(shown)
        return replace(found, key=key.decode("latin-1")) if found and key else found

    def _named(self, shown: bytes) -> Principal | None:
        if hmac.compare_digest(shown, self._secret):
            return OWNER
        return self._tokens.principal(shown.removeprefix(SCHEME), self._now())

    def over(self, headers: Headers) -> asyncio.Future[None]:
        """Done as soon as the token of this head holds no more; who waits for it cancels it."""
        loop, shown = asyncio.get_running_loop(), _shown(headers) or b""
        ends: asyncio.Future[None] = loop.create_future()
        self._waiting[ends] = shown
        expires = self._tokens.expires_us(shown.removeprefix(SCHEME))
        left_s = MOST_S if expires is None else max(expires - self._now(), 0) / 1e6
        timer = loop.call_later(min(left_s, MOST_S), self.look)
        ends.add_done_callback(lambda _: timer.cancel())
        ends.add_done_callback(lambda _: self._waiting.pop(ends, None))
        self._look_at(ends, shown)
        return ends

    def look(self) -> None:
        """Something was revoked, or has expired: who waits with it waits no longer."""
        for ends, shown in list(self._waiting.items()):
            self._look_at(ends, shown)

    def _look_at(self, ends: asyncio.Future[None], shown: bytes) -> None:
        if not ends.done() and self._named(shown) is None:
            ends.set_result(None)


def _shown(headers: Headers, wanted: bytes = b"authorization") -> bytes | None:
    return next((value for name, value in headers if name == wanted), None)
