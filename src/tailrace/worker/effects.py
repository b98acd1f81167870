"""What the agent wants done. Effects are carried out in the order in which they are given."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple, Union

Json = Dict[str, Any]


class Call(NamedTuple):
    """Send this body to the server; there is never a second call in hand."""

    seq: int
    body: Json


class Abandon(NamedTuple):
    """Hang up; the reply to this call is not wanted any more."""

    seq: int


class Start(NamedTuple):
    """Run this attempt; `order` is its entry in `start`, `terms` the entry of its bag in `bags`."""

    attempt: int
    order: Json
    terms: Json


class Kill(NamedTuple):
    """End a started attempt: TERM, then KILL after the grace. It ends with this outcome, unless it
    ended by itself before the signal reached it, or waits and never began: then it is cancelled."""

    attempt: int
    grace_s: float
    outcome: str


class Spool(NamedTuple):
    """Keep this result on disk until it is forgotten."""

    result: Json


class Forget(NamedTuple):
    """These results are acknowledged: the server has them for good."""

    attempts: Tuple[int, ...]


class Exit(NamedTuple):
    """End this worker, and everything it still runs."""

    code: int
    why: str


Effect = Union[Call, Abandon, Start, Kill, Spool, Forget, Exit]
Effects = List[Effect]
