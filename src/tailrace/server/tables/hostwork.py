"""What hosts were sent, and what of that succeeded: counted as it is written, not when asked."""

from __future__ import annotations

from collections import Counter

import msgspec

from tailrace.server.batch import Row
from tailrace.server.tables.link import Link

COUNTED = """
SELECT host, CAST(sum(attempts) AS BIGINT), CAST(sum(succeeded) AS BIGINT) FROM host_work{}
GROUP BY host
"""
LIVE = "SELECT host, count(*) FROM live_attempts{} GROUP BY host"
OF_ONE = " WHERE bag IN (SELECT bag FROM bags WHERE owner = ?)"


class HostWork(msgspec.Struct, frozen=True):
    attempts: int = 0
    succeeded: int = 0
    live: int = 0


class Counts:
    """What one cycle adds, by bag and host."""

    def __init__(self) -> None:
        self._sent: Counter[tuple[int, str]] = Counter()
        self._succeeded: Counter[tuple[int, str]] = Counter()

    def sent(self, bag: int, host: str) -> None:
        self._sent[bag, host] += 1

    def bags(self) -> list[int]:
        """Those that something was sent of, some of them several times."""
        return [bag for bag, _ in self._sent]

    def succeeded(self, bag: int, host: str) -> None:
        self._succeeded[bag, host] += 1

    def rows(self) -> list[Row]:
        """A host is told of its own successes and sent more in the same call: one row for both."""
        keys = dict.fromkeys([*self._sent, *self._succeeded])
        return [(*key, self._sent[key], self._succeeded[key]) for key in keys]


def host_work(link: Link, of: str | None = None) -> dict[str, HostWork]:
    """Of all hosts, for the bags `of` one owner, or for all."""
    whose, values = ("", ()) if of is None else (OF_ONE, (of,))
    live: dict[str, int] = dict(link.execute(LIVE.format(whose), values).fetchall())
    rows = link.execute(COUNTED.format(whose), values).fetchall()
    return {host: HostWork(sent, good, live.get(host, 0)) for host, sent, good in rows}
