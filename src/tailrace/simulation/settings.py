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
    return Setting(f"--set {text}", path, _value(value), value)


def variations(texts: Sequence[str]) -> Iterator[tuple[Setting, ...]]:
    """Of `--vary`, crossed where there are several."""
    axes = [_axis(text) for text in texts]
    keys = [axis[0].key for axis in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise BadInput(f"--vary: {key} is varied twice", remedy=f"write --vary {key}=A,B,…")
    yield from itertools.product(*axes)


def changed(data: dict[str, Any], settings: Sequence[Setting]) -> dict[str, Any]:
    """Another table with these values; the first stays as it is."""
    new = deepcopy(data)
    for setting in settings:
        _change(new, setting)
    return new


def _axis(text: str) -> list[Setting]:
    path, values = _parse("--vary", text)
    flag = f"--vary {text}"
    axis = [Setting(flag, path, value, shown) for value, shown in _values(values)]
    for shown, count in Counter(setting.shown for setting in axis).items():
        if count > 1:
            raise BadInput(f"{flag}: {shown} is there twice", remedy="write each value once")
    return axis


def _parse(flag: str, text: str) -> tuple[tuple[str, ...], str]:
    key, equals, value = text.partition("=")
    path = _path(key)
    if not equals or not all(path) or not value.strip():
        example = "pools.spot.max=100" + (",200" if flag == "--vary" else "")
        raise BadInput(f"{flag} {text}: this is no KEY=VALUE", remedy=f"write {flag} {example}")
    return path, value.strip()


def _path(key: str) -> tuple[str, ...]:
    """As in TOML, where a name that has a dot in it stands in quotes; others need none."""
    try:
        found: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return tuple(step.strip() for step in key.split("."))
    path: list[str] = []
    while isinstance(found, dict):
        ((name, found),) = found.items()
        path.append(name)
    return tuple(path)


def quoted(name: str) -> str:
    return f'"{name}"' if "." in name else name


def _value(text: str) -> Any:
    """As in TOML; what is no TOML value is a text."""
    try:
        return tomllib.loads(f"x = {text}", parse_float=Decimal)["x"]
    except tomllib.TOMLDecodeError:
        return text


def _values(text: str) -> list[tuple[Any, str]]:
    """Between commas. Those of a TOML table or list belong to it, if all are TOML values."""
    parts = [part.strip() for part in text.split(",")]
    whole = _value(f"[{text}]")
    if isinstance(whole, list) and len(whole) != len(parts):
        return [(value, _shown(value)) for value in whole]
    return [(_value(part), part) for part in parts if part]


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
