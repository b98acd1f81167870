"""The routes of a bag's policy: what it is, and what its owner makes of it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from tailrace.bag.policy import BagPolicy
from tailrace.scheduler.events import BagChanged
from tailrace.server import policysetting
from tailrace.server.people.principals import Principal, Who
from tailrace.server.policysetting import PolicyChange, PolicyTold, PolicyTrial
from tailrace.server.policytrial import try_policy
from tailrace.server.records import reading
from tailrace.server.tables.link import Link
from tailrace.server.web.apart import apart
from tailrace.server.web.routes import Call, Refused, Route
from tailrace.server.world import World

log = logging.getLogger("tailrace.server")
MOST_TRIALS = 4
PATH = "/api/v1/bags/{bag}/policy"


class Policies:
    def __init__(
        self,
        world: World,
        own: Callable[[Call], int],
        tell: Callable[[BagChanged], Awaitable[None]],
    ) -> None:
        """`own` is the number of the caller's bag; `tell` returns when the change is committed."""
        self._world, self._own, self._tell = world, own, tell
        # Of a bag, each builds on the one before; a lock lasts as long as somebody has it.
        self._setting: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._trying = asyncio.Semaphore(MOST_TRIALS)
        self._of_one: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def routes(self) -> tuple[Route, ...]:
        people = Who.PEOPLE
        return (
            Route("GET", PATH, people, "The policy of a bag, in ClassAds.", self._show, PolicyTold),
            Route("GET", f"{PATH}/trial", people, "What it would do now, host by host.",
                  self._try, PolicyTrial),
            Route("POST", PATH, people, "Change it; it holds from now on.", self._set, PolicyTold,
                  PolicyChange),
        )  # fmt: skip

    async def believe(self, policy: BagPolicy | None, who: Principal) -> None:
        """Nothing of it is evaluated here before it was in another process. Of one user one at a
        time: his long ones make no others wait."""
        if policy is not None:
            async with self._of_one[who.name], self._trying:
                await asyncio.to_thread(try_policy, policy)

    async def _show(self, call: Call) -> PolicyTold:
        return self._told(self._own(call))

    async def _try(self, call: Call) -> PolicyTrial:
        number = self._own(call)
        if number not in self._world.state.bags:  # forgotten, and its rows go yet
            raise Refused(404, f"there is no bag {number}")
        return policysetting.tried(self._world.state, number)

    async def _set(self, call: Call) -> PolicyTold:
        """Answered when it is committed."""
        async with self._setting.setdefault(self._own(call), asyncio.Lock()):
            number = self._own(call)  # it may have gone meanwhile
            wanted = await self._wanted(number, call.body)
            await self.believe(wanted.policy, call.who)
            await self._tell(wanted.event)
            terms = reading.bag_row(self._world.store.link, self._own(call)).terms
            policysetting.see_set(number, terms, wanted)
            log.info("policy of bag %d set by %s", number, call.who)
            return self._told(self._own(call))

    async def _wanted(self, number: int, asked: PolicyChange) -> policysetting.Setting:
        """Parameters of many tasks take a while to be read."""

        def find(link: Link) -> policysetting.Setting:
            return policysetting.setting(link, number, asked)

        return await apart(self._world.folder, find)

    def _told(self, number: int) -> PolicyTold:
        return policysetting.told(number, reading.bag_row(self._world.store.link, number).terms)
