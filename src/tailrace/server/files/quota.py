"""How much of the server's disk one user has: files he has put, what his bags hold, results, and
outputs that were published for him here.

Outputs of bags that are gone count no more: they stay until the server's owner removes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tailrace.server.files.blobs import Blobs, of_bag, of_user
from tailrace.server.tables.link import Link

RESULTS = (
    "SELECT COALESCE(SUM(LENGTH(a.body)), 0) FROM attempts a JOIN bags b ON b.bag = a.bag"
    " WHERE b.owner = ?"
)


def stored(link: Link, blobs: Blobs, outputs: Path, user: str) -> int:
    """In bytes. What several of his bags hold counts once, as it is there once; what was published
    in `outputs` is a copy of its own."""
    bags = [row[0] for row in link.execute("SELECT bag FROM bags WHERE owner = ?", (user,))]
    results = int(link.execute(RESULTS, (user,)).fetchone()[0])
    files: dict[int, int] = {}  # by inode
    for holder in (of_user(user), *map(of_bag, bags)):
        files |= dict(_each(blobs.folder / "of" / holder))
    published = (size for bag in bags for _, size in _each(outputs / str(bag)))
    return results + sum(files.values()) + sum(published)


def _each(folder: Path) -> Iterator[tuple[int, int]]:
    """Of each file below: inode and size. Some may go while it looks."""
    for above, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = Path(above, name).lstat()
                yield found.st_ino, found.st_size
