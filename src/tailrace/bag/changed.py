"""Whether what a task was made of has changed since: then its result is not taken over.

A file that a task's values or words name is an input, unless the task wrote it itself: what changed
after the attempt had ended makes it stale, what changed while it ran was its own doing. Programs
are compared by content (see `identity`), as one change of theirs concerns every task.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

from tailrace.bag.bag import Bag
from tailrace.bag.command import LISTED
from tailrace.bag.written import written

TRIED = 200
_AWAY = re.compile(r"\d*>{1,2}\s*(\S+)")  # what a shell writes to
_EDGES = "'\"<;()&|"


class Changes:
    """Looks at each file once, however many tasks name it."""

    def __init__(self, bag: Bag, programs: dict[str, str]) -> None:
        self._bag = bag
        self._folder = Path(bag.spec.folder)
        self._times: dict[str, int] = dict.fromkeys(programs, 0)
        self._there: dict[str, frozenset[str]] = {}  # by folder, as words name it
        self._writes = _writes(bag)
        self._reads = self._looks_likely()
        self.possible = self._writes or self._reads

    def since(self, index: int, moment_us: int) -> bool:
        """Has an input changed since then, or is an output gone?"""
        if self._bag.spec.outputs and not self._published(index):
            return True
        if self._writes and self._left_nothing(index):
            return True
        return self._reads and any(self._time(name) > moment_us for name in self._names(index))

    def inputs_since(self, index: int, moment_us: int) -> list[str]:
        names = dict.fromkeys(self._names(index))
        return [name for name in names if self._time(name) > moment_us]

    def _looks_likely(self) -> bool:
        """A sweep whose values name no files need not be looked at task by task: some are tried."""
        spec, count = self._bag.spec, self._bag.blocks.count
        if spec.outputs or spec.inputs or spec.syntax == "listed":
            return True
        some = range(0, count, max(count // TRIED, 1))
        return any(self._time(name) for index in some for name in self._names(index))

    def _published(self, index: int) -> bool:
        outputs = self._bag.task(index).outputs
        return all((self._folder / one.target).exists() for one in outputs if one.required)

    def _left_nothing(self, index: int) -> bool:
        """Is a file gone that its shell wrote? A line is taken apart only when one may be."""
        line = self._line(index)
        if all(self._is_there(name.strip(_EDGES)) for name in _AWAY.findall(line)):
            return False
        return not all(map(self._is_there, written(line)))

    def _line(self, index: int) -> str:
        if self._bag.spec.syntax == "listed":
            return str(self._bag.raw(index)[LISTED])
        return self._bag.task(index).shell or ""

    def _names(self, index: int) -> Iterator[str]:
        if self._bag.spec.syntax == "listed":
            yield from words(str(self._bag.raw(index)[LISTED]))
            return
        task = self._bag.task(index)
        yield from (one.path for one in task.inputs)
        for word in task.argv or (task.shell or "",):
            yield from words(word) if task.shell else (word, word.rpartition("=")[2])

    def _time(self, name: str) -> int:
        """When it last changed, in microseconds; 0: it is no file."""
        found = self._times.get(name)
        if found is None:
            found = self._times[name] = self._looked_up(name)
        return found

    def _looked_up(self, name: str) -> int:
        return _changed_us(self._folder / name) if self._is_there(name) else 0

    def _is_there(self, name: str) -> bool:
        """A folder is read once: most words name nothing in it, and need no further look."""
        above, _, last = name.rpartition("/")
        if above not in self._there:
            self._there[above] = _listed(self._folder / (above or "/" * ("/" in name) or "."))
        return last in self._there[above]


def _writes(bag: Bag) -> bool:
    """Outputs that a bag declares are looked at instead: its tasks run in folders of their own."""
    spec = bag.spec
    if spec.outputs or spec.files != "here" or spec.batch is not None:
        return False
    if spec.syntax == "listed":
        return True
    return isinstance(spec.command, str) and bool(written(spec.command))


def words(line: str) -> Iterator[str]:
    """Of a shell line, those it may read from: not what it writes to."""
    written: list[str] = []
    if ">" in line:
        written = [found.strip(_EDGES) for found in _AWAY.findall(line)]
        line = _AWAY.sub(" ", line)
    for word in line.split():
        plain = word.strip(_EDGES)
        if plain not in written:
            yield plain
        if "=" in plain:
            yield plain.rpartition("=")[2]


def _listed(folder: Path) -> frozenset[str]:
    try:
        return frozenset(entry.name for entry in folder.iterdir())
    except (OSError, ValueError):
        return frozenset()


def _changed_us(path: Path) -> int:
    """Of its content or its name: a file moved here counts as new, whatever its age."""
    try:
        about = path.stat()
    except (OSError, ValueError):
        return 0
    return about.st_ctime_ns // 1000 if stat.S_ISREG(about.st_mode) else 0
