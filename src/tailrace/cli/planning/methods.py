"""How a pool is characterised, by name: `--method`."""

from __future__ import annotations

from tailrace.cli.planning import added
from tailrace.knowledge.characterisation import METHODS


def load(name: str) -> str:
    """The name again, once there is such a method."""
    if name not in METHODS:
        METHODS[name] = added.load(added.METHOD, name, METHODS)
    return name
