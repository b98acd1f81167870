"""Reading a TOML table key by key; every complaint names the file and the line, or the flag."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TypeVar

from tailrace.bag.places import Path, Places
from tailrace.errors import BadInput
from tailrace.quantities import duration_us, money, size_bytes

T = TypeVar("T")

_WORDS: dict[type, str] = {
    str: "a text in quotes",
    bool: "true or false",
    int: "a whole number",
    Decimal: "a number",
    list: "a list",
    dict: "a table",
}
_EXAMPLES: dict[type, str] = {
    str: '"…"',
    bool: "true",
    int: "3",
    Decimal: "0.5",
    list: "[…]",
    dict: "{…}",
}
_QUANTITIES: dict[Callable[..., Any], str] = {
    duration_us: '"90s"',
    size_bytes: '"4 GiB"',
    money: '"20 USD"',
}
_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class Origin:
    """Where values come from: a file with its lines, or flags that stand above it."""

    def __init__(
        self,
        file: str | None = None,
        text: str = "",
        flags: Mapping[str, Any] | None = None,
        typed: Mapping[Path, str] | None = None,
    ) -> None:
        self.file = file
        self.flags = flags or {}
        self.typed = typed or {}  # by the path of what they changed: flags such as --set
        self.keys: frozenset[str] = frozenset()  # those of the file itself, once it is read
        self._text = text
        self._places: Places | None = None

    def bad(self, path: Path, message: str, remedy: str = "") -> BadInput:
        if path and path[0] in self.flags:
            return BadInput(message, flag=f"--{_flag(path)}", remedy=remedy)
        for changed, flag in self.typed.items():
            if path[: len(changed)] == changed:
                return BadInput(message, flag=flag, remedy=remedy)
            if path and changed[: len(path)] == path:
                message = f"{message} (with {flag})"
        return BadInput(message, file=self.file, line=self._line(path), remedy=remedy)

    @contextmanager
    def at(self, *path: str | int, remedy: str = "") -> Iterator[None]:
        """Faults raised inside, that know no place yet, stand here. The remedy is one for files."""
        try:
            yield
        except BadInput as fault:
            if fault.file is not None or fault.flag is not None:
                raise
            raise self.bad(path, fault.message, fault.remedy) from None
        except ValueError as fault:
            if path and path[0] in self.flags:
                raise self.bad(path, str(fault)) from None
            raise self.bad(path, f"{label(path)}: {fault}", remedy) from None

    def _line(self, path: Path) -> int | None:
        if self.file is None:
            return None
        self._places = self._places or Places(self._text)
        return self._places.line(path) if path else None


def _flag(path: Path) -> str:
    """As it was typed: `--time-limit` for `limits.time`, `--needs` for all below it."""
    if path[0] == "limits" and len(path) > 1:
        return f"{path[1]}-limit"
    return str(path[0]).replace("_", "-")


class Table:
    """A table whose keys are taken one by one; what is left at the end is unknown."""

    def __init__(self, data: Mapping[str, Any], origin: Origin, path: Path = ()) -> None:
        self._data = dict(data)
        self._known: dict[str, None] = {}  # all that was asked for, whether it was there or not
        self.origin = origin
        self.path = path

    def __contains__(self, key: str) -> bool:
        self._known[key] = None
        return key in self._data

    def peek(self, key: str) -> Any:
        return self._data.get(key)

    def take(self, key: str, *kinds: type, wanted: str = "", example: str = "") -> Any:
        """The value of a key, of one of these kinds; None when it is not there. What is `wanted`
        may have a name of its own, and its own example."""
        self._known[key] = None
        value = self._data.pop(key, None)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise self.bad(key, f"{self.label(key)} is {value}", "it must fit into 64 bits")
        if value is None or _is(value, kinds):
            return value
        wanted = wanted or " or ".join(_WORDS[kind] for kind in kinds)
        message = f"{self.label(key)} is {said(value)}, but should be {wanted}"
        raise self.bad(key, message, f"such as {key} = {example or _EXAMPLES[kinds[0]]}")

    def read(self, key: str, reader: Callable[[Any], T], default: T, *, example: str = "") -> T:
        """The value of a key in words of a quantity: `reader` raises ValueError when it is none.
        Readers of other quantities than those of everywhere have their own example."""
        self._known[key] = None
        if key not in self._data:
            return default
        example = example or _QUANTITIES.get(reader, "")
        remedy = f"write it as in {key} = {example}" if example else ""
        with self.origin.at(*self.path, key, remedy=remedy):
            value = self._data.pop(key)
            if isinstance(value, (list, dict, bool)):
                raise ValueError(f"{said(value)} is not a quantity")
            return reader(value)

    def choice(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.take(key, str)
        if value is None or value in allowed:
            return value or default
        raise self.bad(
            key,
            f"{self.label(key)} is {value!r}",
            f"it may be {listing(allowed)}{near(value, allowed)}",
        )

    def table(self, key: str, example: str = "") -> Table:
        data = self.take(key, dict, example=example)
        return Table(data or {}, self.origin, (*self.path, key))

    def instead_of(self, key: str) -> str:
        """`you wrote pool; ` where a key that is missing was perhaps meant, or nothing."""
        found = get_close_matches(key, list(self._data), n=1, cutoff=0.6)
        return f"you wrote {found[0]}; " if found else ""

    def items(self) -> list[tuple[str, Any]]:
        """All that is left, under names of the user's own."""
        data, self._data = self._data, {}
        return list(data.items())

    def finish(self) -> None:
        for key in self._data:
            raise self.bad(
                key,
                f"unknown key {self.label(key)}",
                f"{meant(key, list(self._known))}known here are {', '.join(sorted(self._known))}",
            )
        if not self.path:
            self.origin.keys = frozenset(self._known)

    def label(self, key: str) -> str:
        return label((*self.path, key))

    def bad(self, key: str, message: str, remedy: str = "") -> BadInput:
        return self.origin.bad((*self.path, key), message, remedy)


def read_toml(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as fault:
        raise _syntax(str(fault), text, file) from None
    except ValueError:  # of Python itself
        remedy = "a number has at most 4,300 digits"
        raise BadInput("a number in it is too long to be read", file=file, remedy=remedy) from None
    except RecursionError:
        remedy = "write it with fewer brackets inside brackets"
        raise BadInput(
            "its lists or tables are nested too deeply", file=file, remedy=remedy
        ) from None


def _syntax(message: str, text: str, file: str) -> BadInput:
    found = _AT.search(message)
    lines = text.splitlines()
    line = int(found[1]) if found and found[1] else max(len(lines), 1)
    plain = _AT.sub("", message)
    here = lines[line - 1].strip() if line <= len(lines) else ""
    if plain == "Cannot overwrite a value":
        key = here.partition("=")[0].strip()
        return BadInput(f"{key} is given twice", file=file, line=line, remedy="keep one of the two")
    if plain.startswith("Cannot declare") and plain.endswith("twice"):
        remedy = "put all its keys under one of them"
        return BadInput(f"{here} is given twice", file=file, line=line, remedy=remedy)
    return BadInput(
        f"this is not valid TOML: {plain}", file=file, line=line, remedy=_toml_remedy(here)
    )


def _toml_remedy(here: str) -> str:
    if not here:
        return "something is left open above, such as a quote or a bracket"
    return f"the line reads: {here[:100]}  (texts need quotes, lists need brackets)"


def label(path: Path) -> str:
    return ".".join(str(step) for step in path if not isinstance(step, int))


def said(value: Any) -> str:
    """A value as its user wrote it, roughly."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, dict):
        return "a table"
    return repr(value) if isinstance(value, str) else str(value)


def listing(words: tuple[str, ...]) -> str:
    return " or ".join(f'"{word}"' for word in words)


def near(word: str, known: tuple[str, ...] | list[str]) -> str:
    """`; did you mean alpha?`, or nothing."""
    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""


def meant(word: str, known: tuple[str, ...] | list[str]) -> str:
    """The same to stand first, before a long list."""
    found = near(word, known)
    return f"{found.removeprefix('; ')} " if found else ""


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    if Decimal in kinds and isinstance(value, (int, float)):
        return True
    return isinstance(value, kinds)
