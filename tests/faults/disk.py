"""The disk that outputs are published on: here the server may die before each sync.

No bytes are forced to the medium: a simulated crash loses none that were written.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .world import World


class Disk:
    def __init__(self, world: World) -> None:
        self._world = world

    def sync(self, path: Path) -> None:
        """In place of `publishing.sync`: a file before it is moved, or the folder after it."""
        self._world.server.step("an output is safe")
        if path.is_file():
            self._world.oracle.publication_begins(int(path.parent.name.removeprefix("a")))
