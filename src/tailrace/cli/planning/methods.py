"""Ways to characterise a pool that a user's package adds: entry points of a group of our own."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from tailrace.errors import BadInput
from tailrace.knowledge.characterisation import METHODS, Method

GROUP = "tailrace.characterisation"


def load(name: str) -> str:
    """The name again, once there is such a method. Packages are looked at only for one that is not
    ours, and no other of theirs is imported."""
    if name in METHODS:
        return name
    there = {one.name: one for one in entry_points(group=GROUP)}
    if name not in there:
        known = ", ".join(sorted([*METHODS, *there]))
        raise BadInput(
            f"there is no method of characterisation {name!r}",
            remedy=f"It is one of: {known}. A package adds one by an entry point of {GROUP}.",
        )
    METHODS[name] = _loaded(there[name])
    return name


def _loaded(one: EntryPoint) -> Method:
    try:
        found: Method = one.load()
        return found
    except Exception as fault:  # whatever it is: the code is not ours
        package = one.dist.name if one.dist else one.value
        raise BadInput(
            f"the method {one.name!r} of {package} cannot be loaded: {fault}",
            remedy=f"It is said to be {one.value}: mend or remove that package.",
        ) from fault
