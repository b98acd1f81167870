"""`{alpha}` in a text becomes the value of the parameter alpha.

`{{` and `}}` are braces. A format may follow a colon, as in Python: `{alpha:.3f}`, `{seed:04d}`.
Besides the parameters there are `{index}` (the task's number, from 0) and `{bag}` (the bag's
name). In a shell command each value is quoted for the place where it stands, and `${HOME}` is left
to the shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from tailrace.bag.quoting import Quote, ShellState
from tailrace.bag.values import Value, number, show
from tailrace.errors import BadInput

Scope = dict[str, Value]
Render = Callable[[Scope], str]
BUILT_IN = ("index", "bag")

NAME = re.compile(r"[^\W\d](?:[\w. -]*\w)?")
_ALIGN = frozenset("<>=^")
_NUMBER_LONG = 400  # the largest number, with all its digits
_NUMERIC = frozenset("bcdeEfFgGnoxX%")
_DIGITS = re.compile(r"\d+")
MOST_WIDE = 1000  # places that a format may ask for, before the point or behind it
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Field(NamedTuple):
    name: str
    spec: str = ""


class Template:
    """A text with fields, ready to be rendered often."""

    def __init__(self, text: str, *, shell: bool = False) -> None:
        self.text = text
        self.parts = list(_parts(text, shell))
        self.fields = [part for part in self.parts if isinstance(part, Field)]
        self._pieces = [piece for piece in _pieces(self.parts, shell) if piece]
        self.render = self._renderer()

    def _renderer(self) -> Render:
        """Most words are all fixed, or a field and nothing else."""
        pieces = self._pieces
        if not self.fields:
            fixed = "".join(piece for piece in pieces if isinstance(piece, str))
            return lambda scope: fixed
        if len(pieces) == 1:
            return pieces[0]  # type: ignore[return-value]
        return lambda scope: "".join([p if p.__class__ is str else p(scope) for p in pieces])  # type: ignore

    def names(self) -> set[str]:
        return {field.name for field in self.fields}


def is_too_wide(spec: str) -> bool:
    """It would make a long text of a short value."""
    return any(one > MOST_WIDE for one in _widths(spec))


def room(spec: str) -> int:
    """How much longer than its value a text of this format may be."""
    if not spec:
        return 0
    digits = _NUMBER_LONG if spec[-1] in _NUMERIC else 0
    return digits + sum(_widths(spec))


def _widths(spec: str) -> list[int]:
    """A digit before `<`, `>`, `=` or `^` is what is filled in. Of many digits some tell enough."""
    found = _DIGITS.findall(spec[2:] if spec[1:2] in _ALIGN else spec)
    return [int(one.lstrip("0")[:9] or "0") for one in found]


def formatted(value: Value, spec: str) -> str:
    """Raises ValueError when the format does not suit the value."""
    if not spec:
        return show(value)
    if isinstance(value, str) and spec[-1] in _NUMERIC:
        value = number(value)
    text = format(value, spec)
    if spec[-1] == "c":  # not every number is that of a letter which can be written down
        _check_letter(text)
    return text


def _check_letter(text: str) -> None:
    text.encode()
    if "\0" in text:
        raise ValueError("a NUL byte cannot be part of a command")


def _parts(text: str, shell: bool) -> Iterator[str | Field]:
    at = 0
    for found in _PIECE.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        yield from _piece(text, found, shell)
    yield text[at:]


def _piece(text: str, found: re.Match[str], shell: bool) -> Iterator[str | Field]:
    whole = found[0]
    if whole in ("{{", "}}"):
        yield whole[0]
    elif found[1] is None:
        raise BadInput(
            f"a lone {whole} in {_around(text, found)}", remedy=f"write {whole * 2} for a brace"
        )
    elif shell and text[found.start() - 1 : found.start()] == "$":
        yield whole
    else:
        yield _field(found[1], text, found)


def _field(inside: str, text: str, found: re.Match[str]) -> Field:
    name, _, spec = inside.partition(":")
    if NAME.fullmatch(name):
        return Field(name, spec)
    if not inside:
        raise BadInput(
            "{} names no parameter", remedy="write a name, such as {alpha}; {} is for `:::`"
        )
    raise BadInput(
        f"{{{inside}}} in {_around(text, found)} is not a placeholder",
        remedy=f"for literal braces write {{{{{inside}}}}}",
    )


def _around(text: str, found: re.Match[str]) -> str:
    cut = text[max(found.start() - 15, 0) : found.end() + 15]
    return repr(cut)


def _pieces(parts: list[str | Field], shell: bool) -> Iterator[str | Render]:
    state = ShellState()
    for part in parts:
        if isinstance(part, str):
            state.read(part)
            yield part
        else:
            quote = state.quote(part.name) if shell else None
            state.value()
            yield _renderer(part, quote)


def _refuse(what: str, scope: Scope) -> str:
    raise BadInput(f"{what} has more than {MOST_WIDE:,} places")


def _renderer(field: Field, quote: Quote | None) -> Render:
    name, spec = field
    if is_too_wide(spec):  # of a bag from before it was refused
        return partial(_refuse, f"{{{name}:{spec}}}")
    if quote is None and not spec:
        return lambda scope: show(scope[name])
    if quote is None:
        return lambda scope: formatted(scope[name], spec)
    return lambda scope: quote(formatted(scope[name], spec))
