"""What a worker is told of the attempts it is to start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tailrace.bag import then
from tailrace.bag.task import CannotBeMade, Input, Task
from tailrace.pools.terms import Pool, is_below
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.state import State
from tailrace.server.protocol import Start, WorkResult
from tailrace.server.unmade import Unmade

SMALL = 64 * 1024  # an input up to this size goes along with the order to start
MOST_ALONG = 4 * 1024 * 1024  # of them in one reply
MOST_SENT = 4096  # that are remembered of a session


class Content(msgspec.Struct, frozen=True):
    """How the desk learns what a task is: the world reads bags, the desk only sends them on."""

    task: Callable[[int, int], Task]
    shared: Callable[[int], dict[str, Any]]
    lacking: Callable[[int, int, WorkResult], str] = lambda bag, index, result: ""
    small: Callable[[int, str], bytes | None] = lambda bag, name: None
    fitted: Callable[[int, WorkResult], WorkResult] = lambda bag, result: result


class Orders:
    def __init__(self, content: Content, pools: Mapping[str, Pool]) -> None:
        self._content = content
        self._pools = pools

    def all(self, attempts: list[Attempt], state: State, unmade: Unmade) -> list[Start]:
        """Those that can be made; the others are noted."""
        try:
            return [self._start(attempt, state) for attempt in attempts]
        except CannotBeMade:  # seldom: then they are looked at one by one
            made = [self._made(attempt, state, unmade) for attempt in attempts]
            return [one for one in made if one is not None]

    def _made(self, attempt: Attempt, state: State, unmade: Unmade) -> Start | None:
        try:
            return self._start(attempt, state)
        except CannotBeMade as fault:
            unmade.note(attempt.attempt, str(fault))
            return None

    def _start(self, attempt: Attempt, state: State) -> Start:
        task, bag = self._content.task(attempt.bag, attempt.index), state.bags[attempt.bag]
        trouble = bag.troubles.get(attempt.index)
        if task.last:
            task = then.with_failed(task, bag.failed.count)
        return Start(
            attempt.attempt,
            attempt.bag,
            attempt.index,
            task.argv,
            task.shell,
            task.item,
            task.params,
            task.env,
            self._inputs(task, state.hosts[attempt.host].pool) if task.inputs else [],
            _outputs(task) if task.outputs else [],
            trouble.needs if trouble else None,
            msgspec.to_builtins(trouble.limits) if trouble and trouble.limits else None,
            task.printed,
            task.last,
        )

    def _inputs(self, task: Task, pool: str) -> list[Any]:
        """What a pool shares is there already, under its name."""
        terms = self._pools.get(pool)
        shared = () if terms is None else terms.shared
        return [_input(item, is_below(item.path, shared)) for item in task.inputs]

    def shared(
        self, start: list[Start], known: list[int], told: dict[int, None]
    ) -> dict[str, dict[str, Any]]:
        """What all tasks of a bag share, unless the session has it from us. From an earlier life of
        the store it may have that of another bag under the same number."""
        has = {bag: None for bag in known if bag in told}
        bags = dict.fromkeys([one.bag for one in start if one.bag not in has])
        told.clear()
        told.update(has | bags)
        return {str(bag): self._content.shared(bag) for bag in bags}

    def small(self, start: list[Start], sent: dict[str, None]) -> dict[str, bytes]:
        """The bytes of small inputs go along, once to each session; it asks for what it lost."""
        found: dict[str, bytes] = {}
        room = MOST_ALONG
        for one in start:
            for item in one.inputs:
                name, size = item.get("hash"), item.get("size", 0)
                if not name or name in sent or size > min(SMALL, room):
                    continue
                data = self._content.small(one.bag, name)
                if data is not None:
                    found[name], sent[name] = data, None
                    room -= size
        if len(sent) > MOST_SENT:
            sent.clear()
        return found


def _input(item: Input, shared: bool) -> dict[str, Any]:
    if shared or not item.hash:
        return {"name": item.name, "path": item.path}
    told: dict[str, Any] = {"name": item.name, "hash": item.hash, "size": item.size}
    return {**told, "executable": True} if item.executable else told


def _outputs(task: Task) -> list[Any]:
    return [{"name": item.name, "required": item.required} for item in task.outputs]
