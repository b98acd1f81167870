"""A value put into a shell command stays one value, wherever in the command it stands.

A placeholder outside quotes gets quotes of its own; inside quotes the value is escaped for those.
So `grep {word} file`, `grep '{word}' file` and `grep "^{word}" file` all do what they look like.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tailrace.errors import BadInput

Quote = Callable[[str], str]

_SAFE = re.compile(r"[A-Za-z0-9_@%+:,./-]+", re.ASCII)
_SPECIAL = re.compile(r'(["$`\\])')


def bare(text: str) -> str:
    return text if _SAFE.fullmatch(text) else f"'{in_single(text)}'"


def in_single(text: str) -> str:
    return text.replace("'", "'\\''")


def in_double(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def in_comment(text: str) -> str:
    return text.replace("\n", " ")


_QUOTES: dict[str, Quote] = {"(": bare, "'": in_single, '"': in_double, "#": in_comment}


class ShellState:
    """Reads a shell command up to a placeholder, and knows how a value must be quoted there.

    Follows quotes, backslashes, comments and `$( )`, not here-documents: use
    `$TAILRACE_PARAM_name` there.
    """

    def __init__(self) -> None:
        self._inside = ["("]  # the innermost of ( ' " # ` last
        self._before = " "
        self._escaped = False

    def read(self, text: str) -> None:
        for char in text:
            self._step(char)
            self._before = char

    def value(self) -> None:
        """A value stands here."""
        self._before = "x"

    def quote(self, name: str) -> Quote:
        if self._escaped:
            raise BadInput(
                f"a backslash stands directly before {{{name}}}",
                remedy="remove it: values are quoted for the shell by themselves",
            )
        if self._inside[-1] == "`":
            raise BadInput(
                f"{{{name}}} stands inside backticks, where it cannot be quoted safely",
                remedy="write $( … ) in place of the backticks",
            )
        return _QUOTES[self._inside[-1]]

    def _step(self, char: str) -> None:
        inside = self._inside[-1]
        if self._escaped:
            self._escaped = False
        elif inside == "'":
            self._leave_on(char, "'")
        elif inside == "#":
            self._leave_on(char, "\n")
        elif char == "\\":
            self._escaped = True
        elif inside == "`":
            self._leave_on(char, "`")
        elif char == "(" and (inside == "(" or self._before == "$"):
            self._inside.append("(")
        elif inside == '"':
            self._in_double(char)
        else:
            self._in_open(char)

    def _in_double(self, char: str) -> None:
        self._leave_on(char, '"')
        if char == "`":
            self._inside.append("`")

    def _in_open(self, char: str) -> None:
        if char in "'\"`" or (char == "#" and self._before in " \t\n;&|("):
            self._inside.append(char)
        elif char == ")" and len(self._inside) > 1:
            self._inside.pop()

    def _leave_on(self, char: str, end: str) -> None:
        if char == end:
            self._inside.pop()
