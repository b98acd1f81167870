"""A pool whose machines are started, stopped and listed by commands of its user's own.

Words in braces are filled in, each quoted for the shell as one word: `sbatch -J {name} --wrap
{run}`. Other braces, such as `${HOME}` and those of awk, stay as they are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

import msgspec

SECOND_US = 1_000_000
WORDS = ("name", "lease", "pool", "join", "worker", "run", "ends", "seconds", "minutes", "log",
         "port", "id", "cores", "memory")  # fmt: skip
KEYS = ("start", "stop", "list", "renew", "id", "timeout", "look", "appear", "python", "url")
BRACES = re.compile(r"(?<!\$)\{([a-z]+)\}")
PREFIX = "tailrace"


class Commands(msgspec.Struct, frozen=True):
    start: str
    stop: str
    list: str  # prints the names of those that stand, a line each
    renew: str = ""  # where a machine can be given more time
    folder: str = "."  # where they run: that of the file they stand in
    id: str = ""  # finds the machine's own id in what `start` prints; '': its first word
    timeout_us: int = 60 * SECOND_US  # of each command
    look_us: int = 60 * SECOND_US  # how often it is asked which machines stand
    appear_us: int = 10 * SECOND_US  # so long one that was started may be missing from the list
    python: str = "python3"  # of its machines
    url: str = ""  # how they reach the server; '': as others do


def fill(command: str, words: Mapping[str, str]) -> str:
    def word(found: re.Match[str]) -> str:
        value = words.get(found[1])
        return found[0] if value is None else shlex.quote(value)

    return BRACES.sub(word, command)


def asks_for(command: str, word: str) -> bool:
    return any(found[1] == word for found in BRACES.finditer(command))


class Names:
    """`tailrace-<store>-<lease>`: what a machine is called, wherever it stands."""

    def __init__(self, store: str) -> None:
        self.store = store
        self._ours = _pattern(re.escape(store))

    def of(self, lease: int) -> str:
        return f"{PREFIX}-{self.store}-{lease}"

    def leases(self, printed: str) -> dict[int, str]:
        """Those that are named in some line, and the first other word of that line: its id."""
        found: dict[int, str] = {}
        for line in printed.splitlines():
            name = self._ours.search(line)
            if name is not None:
                found.setdefault(int(name[2]), _other_word(line, name[0]))
        return found


def any_names(printed: str) -> dict[str, str]:
    """Of whatever store, and the store of each."""
    return {found[0]: found[1] for found in _pattern("[0-9a-f]{10}").finditer(printed)}


def _pattern(store: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){PREFIX}-({store})-(\d+)(?![\w-])")


def _other_word(line: str, name: str) -> str:
    return next((word for word in line.split() if name not in word), "")
