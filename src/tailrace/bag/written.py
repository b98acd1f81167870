"""Files that a shell line writes by redirection, and leaves: `sort a > b` has to leave a `b`."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise

_UNCERTAIN = re.compile(r"[$`*?\[~\\]")  # only a shell knows what the name becomes
_MOVES = {"cd", "pushd"}  # then names are those of another folder
_INTO = (">", ">>")


def written(line: str) -> list[str]:
    """As the line names them. What it names again later, it may have moved or removed."""
    words = _words(line) if ">" in line else []
    if _MOVES.intersection(words):
        return []
    names = [name for sign, name in pairwise(words) if sign in _INTO]
    return [name for name in names if _is_left(name, words)]


def _is_left(name: str, words: list[str]) -> bool:
    return not _UNCERTAIN.search(name) and words.count(name) == 1


def _words(line: str) -> list[str]:
    """With signs such as `>` apart, unless they are quoted."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return list(reader)
    except ValueError:
        return []
