"""What a user's package adds to planning: entry points, of a group for each kind."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from tailrace.errors import BadInput


class Kind(NamedTuple):
    group: str  # of entry points
    name: str  # as it is told
    short: str


METHOD = Kind("tailrace.characterisation", "method of characterisation", "method")
GRID = Kind("tailrace.search", "grid or search", "search")
PREFERENCE = Kind("tailrace.utility", "preference", "preference")


def load(kind: Kind, name: str, ours: Iterable[str]) -> Any:
    """For a name that is not ours; no other of their packages is imported."""
    there = {one.name: one for one in entry_points(group=kind.group)}
    if name not in there:
        known = ", ".join(sorted([*ours, *there]))
        raise BadInput(
            f"there is no {kind.name} {name!r}",
            remedy=f"It is one of: {known}. A package adds one by an entry point of {kind.group}.",
        )
    return _loaded(kind, there[name])


def _loaded(kind: Kind, one: EntryPoint) -> Any:
    try:
        return one.load()
    except Exception as fault:  # whatever it is: the code is not ours
        package = one.dist.name if one.dist else one.value
        raise BadInput(
            f"the {kind.short} {one.name!r} of {package} cannot be loaded: {fault}",
            remedy=f"It is said to be {one.value}: mend or remove that package.",
        ) from fault
