"""A chosen strategy, as a run is told of it: for a bag file, and for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.planning.strategy import Strategy

LEAST_S = 1e-6  # of D: an attempt has some time


def told(strategy: Strategy) -> Iterator[str]:
    options = ", ".join(f"{name} = {value}" for name, value in _options(strategy).items())
    yield f'in a bag file: replication = {{ strategy = "ntdmr", {options} }}'
    yield f"for one run: tailrace run --repeatable --replication '{words(strategy)}' …"


def words(strategy: Strategy) -> str:
    """Behind `--replication`."""
    return ",".join(["ntdmr", *(f"{name}={value}" for name, value in _options(strategy).items())])


def _options(one: Strategy) -> dict[str, str]:
    """What is given up as soon as it is sent need not be sent."""
    n = -1 if one.n is None else one.n if one.d_s > 0 else 0
    return {
        "n": str(n), "t_s": _plain(one.t_s), "d_s": _plain(max(one.d_s, LEAST_S)),
        "mr": _plain(one.mr),
    }  # fmt: skip


def _plain(value: float) -> str:
    """Without an exponent, by which the command line would not know it as a number."""
    return f"{value:.9f}".rstrip("0").rstrip(".")
