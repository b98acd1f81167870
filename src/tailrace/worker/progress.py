"""How far tasks are: what they write to `$TAILRACE_PROGRESS`, looked at now and then.

A task that writes nothing costs nothing: each has a path of its own, and a look finds the files
that are there, and clears away those of tasks that have ended. There is one look in a second, and
the keeper is never woken for it: limits wake it twice as often while anything runs.
"""

from __future__ import annotations

import os
import re
import stat
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from . import tree
from .attempt import Attempt
from .family import OrphansOf, family
from .ring import remove

EVERY_S = 1.0
READ_BYTES = 1024  # of the end: who appends lines is understood as well
TEXT_CHARACTERS = 200
ENDING = ".progress"
_NUMBER = r"\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+"
_FORM = re.compile(rf"({_NUMBER})\s*(?:(%)|/\s*({_NUMBER}))?(?![\w.])[\s:,;-]*(.*)")
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
Json = Dict[str, Any]


class NotUnderstood(Exception):
    """Says in a few words why."""


class Onlooker:
    def __init__(self, folder: str, family: tree.Tree) -> None:
        self._folder = folder
        self._tree = family
        self._next = 0.0

    def path_of(self, attempt: int) -> str:
        return f"{self._folder}/{attempt}{ENDING}"

    def look(self, attempts: Mapping[int, Attempt], orphans_of: OrphansOf) -> List[Json]:
        """What is new, as the work call carries it."""
        now = time.monotonic()
        if now < self._next:
            return []
        self._next = now + EVERY_S
        found = [(attempt, _news_of(attempt, path)) for attempt, path in self._there(attempts)]
        new = [(attempt, news) for attempt, news in found if news is not None]
        parents = self._tree.look() if new else {}
        for attempt, news in new:
            news["ran_us"] = max(int(now * 1_000_000) - attempt.started_us, 1)
            if attempt.order.get("item") is None:  # else its runner has worked for others, too
                members = family(attempt, orphans_of, parents)
                news["cpu_us"] = sum(map(tree.cpu_us, members))
        return [news for _, news in new]

    def _there(self, attempts: Mapping[int, Attempt]) -> Iterator[Tuple[Attempt, str]]:
        """Those that have written something."""
        for name in _names(self._folder):
            number = name[: -len(ENDING)]
            if name.endswith(ENDING) and number.isdigit():
                attempt, path = attempts.get(int(number)), self.path_of(int(number))
                if attempt is None:
                    remove(path)
                else:
                    yield attempt, path


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:  # somebody has cleared up too much
        return []


def _news_of(attempt: Attempt, path: str) -> Optional[Json]:
    """None when nothing was written since the last look."""
    try:
        there = os.lstat(path)
    except OSError:
        return None
    mark = (there.st_mtime_ns, there.st_size)
    if mark == attempt.progress_mark:
        return None
    attempt.progress_mark = mark
    try:
        line = _last_line(path, there)
        if not line:
            return None  # it is just being written
        done: Optional[float]
        done, text = understand(line)
    except NotUnderstood as error:
        done, text = None, str(error)
    told = attempt.masked({"attempt": attempt.id, "done": done, "text": text})
    return dict(told, text=told["text"][:TEXT_CHARACTERS])


def _last_line(path: str, there: os.stat_result) -> str:
    if not stat.S_ISREG(there.st_mode):
        raise NotUnderstood("it is not a file")
    try:
        fd = os.open(path, _OPEN)
    except OSError as error:
        raise NotUnderstood(f"it cannot be read: {error.strerror}") from None
    try:
        data = os.pread(fd, READ_BYTES, max(0, there.st_size - READ_BYTES))
    finally:
        os.close(fd)
    lines = data.decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def understand(line: str) -> Tuple[float, str]:
    """`0.37`, `37 %` or `370/1000`, and a text after it: the share, and the text."""
    found = _FORM.fullmatch(line)
    if found is None:
        raise NotUnderstood(f"{_said(line)} is not such as 0.37, 37 % or 370/1000")
    number, percent, whole, text = found.groups()
    of = 100.0 if percent else float(whole or 1)
    if not 0 < of < float("inf") or not float(number) <= of:
        raise NotUnderstood(f"{_said(line)} is not between 0 and 1")
    return float(number) / of, text.strip()


def _said(line: str) -> str:
    return repr(line if len(line) <= 40 else line[:40] + "...")
