"""Bags in their tail ask how to go on: another process computes the answer, which comes back as an
event like any other. No call waits for it; until it is there the old plan holds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tailrace.errors import BadInput
from tailrace.knowledge.inquiry import Plan
from tailrace.scheduler.decisions import Replan
from tailrace.scheduler.events import AnyEvent, PlanReady
from tailrace.server.errands.deeds import Deed, Nothing
from tailrace.server.errands.errands import Errands
from tailrace.server.errands.told import Undone
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.protocol import encode

log = logging.getLogger("tailrace.server")

US = Principal(Kind.OWNER)


class Planner:
    def __init__(self, folder: Path, tell: Callable[[AnyEvent], Any]) -> None:
        self._errands = Errands(folder)
        self._tell = tell
        self._under_way: dict[asyncio.Task[None], None] = {}

    def ask(self, asked: Replan) -> None:
        task = asyncio.ensure_future(self._answer(asked))
        self._under_way[task] = None
        task.add_done_callback(lambda done: self._under_way.pop(done, None))

    async def _answer(self, asked: Replan) -> None:
        number = asked.inquiry.number
        try:
            found = await self._errands.run(US, Deed.PLAN, Nothing(), encode(asked.inquiry))
            plan = msgspec.json.decode(found[1], type=Plan)
        except (BadInput, Undone) as none:
            log.info("bag %d goes on without a new plan: %s", asked.bag, none)
            self._tell(PlanReady(asked.bag, number, None, str(none)))
        except Exception as fault:  # of our own: the bag asks again
            log.exception("bag %d goes on without a new plan", asked.bag)
            self._tell(PlanReady(asked.bag, number, None, f"{type(fault).__name__}: {fault}"))
        else:
            self._tell(PlanReady(asked.bag, number, plan))

    def close(self) -> None:
        for task in self._under_way:
            task.cancel()
