"""SciPy's special functions, imported when the first of them is used: that takes longer than many a
run, and the commonest laws need none."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from scipy import special

    found = globals()[name] = getattr(special, name)
    return found
