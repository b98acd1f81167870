"""A call that is made again because its answer was lost: it makes one bag, not two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from tailrace.server.batch import Key
from tailrace.server.people.principals import Principal
from tailrace.server.records import reading
from tailrace.server.submission import Submitted
from tailrace.server.tables.link import Link
from tailrace.server.web.routes import MOST_KEY, Refused

OTHERWISE = "this Idempotency-Key was used before, for something else"


def key_of(who: Principal, headers: Iterable[tuple[bytes, bytes]], hash_: str) -> Key | None:
    """As the caller chose it; `hash_` is of all that was sent."""
    found = [value.decode("latin-1") for name, value in headers if name == b"idempotency-key"]
    if not found:
        return None
    if not 0 < len(found[0]) <= MOST_KEY or not (found[0].isascii() and found[0].isprintable()):
        raise Refused(400, f"an Idempotency-Key has 1 to {MOST_KEY} printable characters of ASCII")
    return Key(str(who), found[0], hash_)


class Repeats:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._under_way: dict[tuple[str, str], tuple[str, asyncio.Future[Submitted]]] = {}

    async def once(self, key: Key, sent: str, act: Callable[[], Awaitable[Submitted]]) -> Submitted:
        """What `act` gives; or gave, when it was called under this key before. `sent`: the hash of
        what was sent, as a server kept it that did not vouch for hashes yet."""
        name = key.who, key.key
        hash_, acting = self._under_way.get(name, ("", None))
        if acting is None:
            stored = self._stored(key, sent)
            if stored is not None:
                return stored
            acting = asyncio.ensure_future(act())
            self._under_way[name] = key.hash, acting
            acting.add_done_callback(lambda _: self._under_way.pop(name))
        elif hash_ != key.hash:
            raise Refused(422, OTHERWISE)
        return await asyncio.shield(acting)

    def _stored(self, key: Key, sent: str) -> Submitted | None:
        query = "SELECT hash, bag FROM submissions WHERE who = ? AND key = ?"
        found = self._link.execute(query, (key.who, key.key)).fetchone()
        if found is None:
            return None
        if found[0] not in (key.hash, sent):
            raise Refused(422, OTHERWISE)
        row = reading.bag_row(self._link, found[1])
        return Submitted(found[1], row.terms.name, row.terms.count, row.taken)
