"""Where each key of a TOML text stands, because `tomllib` does not tell.

The text has been read by `tomllib` before, so this scanner may take it for valid and only walk
along: `Places(text).line(("parameters", "alpha"))` → 7. An element of a list has its position as
last step.
"""

from __future__ import annotations

import re
from collections import Counter

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LITERAL = re.compile(r"'([^'\n]*)'")
_LONG = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}|' r"'''(?:[^']|'{1,2}(?!'))*'{3,5}", re.DOTALL
)
_SCALAR = re.compile(r"[^,\]}\n#]+")


class Places:
    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._lines: dict[Path, int] = {}
        self._tables: Counter[Path] = Counter()
        self._document()

    def line(self, path: Path) -> int | None:
        """The line of the key, or of the nearest one around it."""
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[:-1]
        return None

    def _document(self) -> None:
        table: Path = ()
        while self._blank() < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        many = self._text.startswith("[[", self._at)
        line = self._line()
        self._at += 2 if many else 1
        path = self._key(())
        self._blank()
        self._at += 2 if many else 1
        if many:
            self._tables[path] += 1
            path = (*path, self._tables[path] - 1)
        for end in range(1, len(path) + 1):
            self._lines.setdefault(path[:end], line)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = self._key(table)
        for end in range(len(table) + 1, len(path) + 1):
            self._lines.setdefault(path[:end], line)
        self._blank()
        self._at += 1  # the equals sign
        self._value(path)

    def _key(self, path: Path) -> Path:
        while True:
            self._blank()
            path = (*path, self._name())
            self._blank()
            if not self._text.startswith(".", self._at):
                return path
            self._at += 1

    def _name(self) -> str:
        for form in (_BARE, _BASIC, _LITERAL):
            found = form.match(self._text, self._at)
            if found:
                self._at = found.end()
                return found[found.lastindex or 0]
        self._at += 1  # not valid TOML; walk on rather than stand still
        return ""

    def _value(self, path: Path) -> None:
        self._blank()
        first = self._text[self._at : self._at + 1]
        if first == "[":
            self._list(path)
        elif first == "{":
            self._inline(path)
        else:
            self._scalar()

    def _list(self, path: Path) -> None:
        self._at += 1
        position = 0
        while self._blank() < len(self._text) and self._text[self._at] != "]":
            self._lines.setdefault((*path, position), self._line())
            self._value((*path, position))
            position += self._comma()
        self._at += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        while self._blank() < len(self._text) and self._text[self._at] != "}":
            self._pair(path)
            self._comma()
        self._at += 1

    def _comma(self) -> int:
        if self._blank() < len(self._text) and self._text[self._at] == ",":
            self._at += 1
        return 1

    def _scalar(self) -> None:
        for form in (_LONG, _BASIC, _LITERAL, _SCALAR):
            found = form.match(self._text, self._at)
            if found:
                self._at = found.end()
                return
        self._at += 1

    def _blank(self) -> int:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1
