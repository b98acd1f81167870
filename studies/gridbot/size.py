"""A scenario in another size: so much of its machines, of its tasks and of its tail."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from studies.runs import SCENARIOS
from tailrace.bag.tables import read_toml


def sized(file: str, part: float) -> list[str]:
    """The changes that make it so."""
    return (
        [] if part == 1 else list(_changes(read_toml((SCENARIOS / file).read_text(), file), part))
    )


def _changes(data: dict[str, Any], part: float) -> Iterator[str]:
    for name, pool in data["pools"].items():
        yield f"pools.{name}.machines={ceil(part * pool['machines'])}"
    for name, bag in data["bags"].items():
        yield f"bags.{name}.tasks={ceil(part * bag['tasks'])}"
        if "tail_below" in bag.get("policy", {}):
            yield f"bags.{name}.policy.tail_below={ceil(part * bag['policy']['tail_below'])}"
