"""The values of `--vary KEY=A,B,…`: split at the commas between them, not at those within."""

from __future__ import annotations

CLOSING = {"[": "]", "{": "}", '"': '"', "'": "'"}
QUOTES = "\"'"
BEFORE = "[{,="  # a value: there alone do quotes and brackets count, so that `it's` opens nothing


class Reader:
    """Goes along a text, and knows what is open."""

    def __init__(self) -> None:
        self._open: list[str] = []  # what will close it
        self._last = ","  # but for spaces
        self._escaped = False

    def is_between(self, letter: str) -> bool:
        """Whether this is a comma between two values."""
        if self._open and self._open[-1] in QUOTES:
            self._within_quotes(letter)
        elif self._open and letter == self._open[-1]:
            self._open.pop()
        elif letter in CLOSING and self._last in BEFORE:
            self._open.append(CLOSING[letter])
        self._last = self._last if letter.isspace() else letter
        return letter == "," and not self._open

    def _within_quotes(self, letter: str) -> None:
        if letter == self._open[-1] and not self._escaped:
            self._open.pop()
        self._escaped = letter == "\\" and not self._escaped and self._open[-1:] == ['"']


def split(text: str) -> list[str]:
    """Commas inside a list, a table or a text in quotes belong to that value."""
    reader = Reader()
    ends = [at for at, letter in enumerate(text) if reader.is_between(letter)]
    begins = [0, *(at + 1 for at in ends)]
    return [text[a:b].strip() for a, b in zip(begins, [*ends, len(text)], strict=True)]
