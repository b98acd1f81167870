"""The processes of an attempt, wherever they are."""

from __future__ import annotations

from typing import Callable, Dict, List

from . import container, tree
from .attempt import Attempt

OrphansOf = Callable[[int], List[int]]


def family(attempt: Attempt, orphans_of: OrphansOf, parents: Dict[int, int]) -> List[int]:
    """Parents first. In a container without the engine's own, and with those that are a daemon's
    children: they are found one by one, the ones below others, too."""
    if attempt.inside is not None and attempt.slot is not None:
        return tree.below(container.members(attempt.slot.result_path), parents)
    return tree.below([attempt.pid, *orphans_of(attempt.id)], parents)
