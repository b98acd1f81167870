"""`--set pools.spot.max=100`: a value of a scenario, changed before it is read."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from decimal import Decimal
from typing import Any

from tailrace.errors import BadInput


def parse(text: str) -> tuple[tuple[str, ...], str]:
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise BadInput(f"{text!r} sets nothing", remedy="write it as pools.spot.max=100")
    return tuple(step.strip() for step in path.split(".")), value.strip()


def value_of(text: str) -> Any:
    """As in TOML; what is no TOML value is a text."""
    try:
        return tomllib.loads(f"x = {text}", parse_float=Decimal)["x"]
    except tomllib.TOMLDecodeError:
        return text


def changed(data: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    new = deepcopy(data)
    inner = new
    for step in path[:-1]:
        inner = inner.setdefault(step, {})
        if not isinstance(inner, dict):
            raise BadInput(f"{'.'.join(path)}: {step} is not a table")
    inner[path[-1]] = value
    return new


def variations(texts: list[str]) -> Iterator[dict[tuple[str, ...], Any]]:
    """`--vary k=1,2,4`, crossed where there are several."""
    axes = []
    for text in texts:
        path, values = parse(text)
        axes.append([(path, value_of(value.strip())) for value in values.split(",")])
    for combination in itertools.product(*axes):
        yield dict(combination)
