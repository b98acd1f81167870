"""`--set pools.spot.max=100`, `--vary pools.spot.max=10,20`: values of a scenario, changed before
it is read."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any

import msgspec

from tailrace.bag.tables import meant
from tailrace.errors import BadInput
from tailrace.simulation.listed import CLOSING, split

# Tables of tables under names of the user's own: none is made by a typo.
NAMED = ("pools", "bags", "sites")


class Setting(msgspec.Struct, frozen=True):
    flag: str  # as it was typed, for complaints
    path: tuple[str, ...]
    value: Any
    shown: str

    @property
    def key(self) -> str:
        return ".".join(map(quoted, self.path))


def one(text: str) -> Setting:
    """Of `--set`."""
    path, value = _parse("--set", text)
    return _setting(f"--set {text}", path, value)


def variations(texts: Sequence[str]) -> Iterator[tuple[Setting, ...]]:
    """Of `--vary`, crossed where there are several."""
    axes = [_axis(text) for text in texts]
    keys = [axis[0].key for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise BadInput(f"--vary: {key} is varied twice", remedy=f"write --vary {key}=A,B,…")
    yield from itertools.product(*axes)


def check_effects(fixed: Sequence[Setting], varied: Sequence[Setting]) -> None:
    """None of these is undone by one that is varied, in the order in which they change a table."""
    before = list(fixed)
    for later in varied:
        for one in before:
            if _undoes(later, one):
                message = f"{one.flag} would have no effect beside {later.flag}"
                raise BadInput(message, remedy="keep one of them")
        before.append(later)


def _undoes(later: Setting, one: Setting) -> bool:
    """It changes the same value, the table that this one is in, or what this one says of it."""
    if one.path[: len(later.path)] == later.path:
        return True
    if later.path[: len(one.path)] != one.path:
        return False
    inner = one.value
    for step in later.path[len(one.path) :]:
        if not isinstance(inner, dict) or step not in inner:
            return False
        inner = inner[step]
    return True


def changed(data: dict[str, Any], settings: Sequence[Setting]) -> dict[str, Any]:
    """Another table with these values; the first stays as it is."""
    new = deepcopy(data)
    for setting in settings:
        _change(new, setting)
    return new


def _axis(text: str) -> list[Setting]:
    path, values = _parse("--vary", text)
    flag, parts = f"--vary {text}", split(values)
    if not all(parts):
        remedy = "write each value once, with a comma between two; a text that is empty is ''"
        message = f"{flag}: value {parts.index('') + 1} of {len(parts)} is empty"
        raise BadInput(message, remedy=remedy)
    axis = [_setting(flag, path, part) for part in parts]
    for at, setting in enumerate(axis):
        if setting.value in [other.value for other in axis[:at]]:
            message = f"{flag}: {setting.shown} is there twice"
            raise BadInput(message, remedy="write each value once")
    if _told_apart(axis):
        return axis
    whole = zip(axis, parts, strict=True)
    return [msgspec.structs.replace(setting, shown=text) for setting, text in whole]


def _told_apart(axis: list[Setting]) -> bool:
    """By their values alone, as laws are by their names: else tables are shown whole."""
    tables = [one.value for one in axis if isinstance(one.value, dict) and "law" not in one.value]
    keys = [list(table) for table in tables]
    return len(Counter(one.shown for one in axis)) == len(axis) and keys[1:] == keys[:-1]


def _setting(flag: str, path: tuple[str, ...], text: str) -> Setting:
    value, opens = _value(text), text[0] in CLOSING
    if opens and value == text:
        remedy = "as in TOML: each bracket and quote is closed, and texts inside stand in quotes"
        raise BadInput(f"{flag}: {text} is not a whole value", remedy=remedy)
    return Setting(flag, path, value, (opens and _shown(value)) or text)


def _parse(flag: str, text: str) -> tuple[tuple[str, ...], str]:
    key, equals, value = text.partition("=")
    path = _path(key)
    if not equals or not all(path) or not value.strip():
        example = "pools.spot.max=100" + (",200" if flag == "--vary" else "")
        raise BadInput(f"{flag} {text}: this is no KEY=VALUE", remedy=f"write {flag} {example}")
    return path, value.strip()


def _path(key: str) -> tuple[str, ...]:
    """As in TOML, where a name that has a dot in it stands in quotes; others need none."""
    found, path = _loaded(f"{key} = 0"), list[str]()
    while isinstance(found, dict) and len(found) == 1:
        ((name, found),) = found.items()
        path.append(name)
    return tuple(path) if found == 0 else tuple(step.strip() for step in key.split("."))


def _loaded(text: str) -> Any:
    """None if it is no TOML, also for numbers and nestings beyond what Python reads."""
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def quoted(name: str) -> str:
    return f'"{name}"' if "." in name else name


def _value(text: str) -> Any:
    """As in TOML; what is no TOML value is a text."""
    found = _loaded(f"x = {text}")
    return text if found is None or list(found) != ["x"] else found["x"]


def _shown(value: Any) -> str:
    """Short enough for a heading: a law by its name and its numbers."""
    if isinstance(value, dict):
        return " ".join(_shown(inner) for inner in value.values())
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _change(data: dict[str, Any], setting: Setting) -> None:
    inner, path = data, setting.path
    for depth, step in enumerate(path[:-1]):
        if depth == 1 and path[0] in NAMED and step not in inner:
            raise _nobody(setting, path[0], step, list(inner))
        inner = inner.setdefault(step, {})
        if not isinstance(inner, dict):
            key = ".".join(path[: depth + 1])
            remedy = f"set {key} itself, as a table: {key}='{{ … }}'"
            raise BadInput(f"{setting.flag}: {key} is not a table", remedy=remedy)
    inner[path[-1]] = setting.value


def _nobody(setting: Setting, kind: str, name: str, known: list[str]) -> BadInput:
    known = [quoted(one) for one in known]
    there = f"the {kind} are {', '.join(known)}" if known else f"there are no {kind}"
    message = f"{setting.flag}: there is no {kind}.{quoted(name)}"
    return BadInput(message, remedy=meant(name, known) + there)
