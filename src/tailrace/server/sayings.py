"""What owners of machines say of the tasks they take: tried once, before a host is believed.

A trial is another process, so that no text can hold or end the server; and one at a time, so that
machines of which each says something else cannot take all its cores. What came of it is kept, of
words that are refused, too: who is sent away may come back at once, and say the same.
"""

from __future__ import annotations

import asyncio
import math
from typing import NamedTuple

from tailrace.bag.policy import HostPolicy
from tailrace.errors import BadInput
from tailrace.policy.policies import texts
from tailrace.policy.tokens import MOST_CHARACTERS
from tailrace.server.policytrial import Told, Undecided, try_policy

MOST_KNOWN = 1000
UNDECIDED_S = 60.0  # so long a trial that was cut off is not made again


class Finding(NamedTuple):
    told: Told
    until_s: float  # on the clock of the loop


class Sayings:
    def __init__(self) -> None:
        self._found: dict[HostPolicy, Finding] = {}  # what was said longest ago comes first
        self._trial = asyncio.Lock()

    async def check(self, says: HostPolicy) -> None:
        """BadInput: it cannot be believed."""
        _check_length(says)
        found = self._known(says)
        if found is None:
            async with self._trial:
                # The one before may have said the same.
                found = self._known(says) or await self._tried(says)
        if found.told.message:
            raise BadInput(found.told.message, remedy=found.told.remedy)

    def _known(self, says: HostPolicy) -> Finding | None:
        found = self._found.pop(says, None)
        if found is None or _now_s() >= found.until_s:
            return None
        self._found[says] = found
        return found

    async def _tried(self, says: HostPolicy) -> Finding:
        told, is_decided = await asyncio.to_thread(_trial, says)
        found = Finding(told, math.inf if is_decided else _now_s() + UNDECIDED_S)
        self._found[says] = found
        if len(self._found) > MOST_KNOWN:
            del self._found[next(iter(self._found))]
        return found


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _trial(says: HostPolicy) -> tuple[Told, bool]:
    """What is to be told, and whether another trial would tell the same."""
    try:
        try_policy(says)
    except BadInput as fault:
        return Told(fault.message, fault.remedy), not isinstance(fault, Undecided)
    return Told(), True


def _check_length(says: HostPolicy) -> None:
    """A call may have many megabytes: no child need read them."""
    for name, text in texts(says).items():
        if len(text) > MOST_CHARACTERS:
            remedy = f"it may have {MOST_CHARACTERS}"
            raise BadInput(f"{name}: the expression has {len(text)} characters", remedy=remedy)
