"""What a user may keep on the server's disk, where its admin has set a limit.

It is counted at most once a minute, and what he sends meanwhile is added. Outputs and results of
his tasks count, but are taken in: they were paid for with time. He hands in nothing more then.
"""

from __future__ import annotations

from tailrace.quantities import show_size
from tailrace.server.files.porter import Places
from tailrace.server.files.quota import stored
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.web.apart import apart
from tailrace.server.web.routes import Refused
from tailrace.server.world import World

COUNT_S = 60.0
OVER = (
    "you have {used} on this server, of {most} that each user may have: nothing more of yours is "
    "taken in until old bags are gone (its admin removes them with `tailrace gc`) or it is raised "
    "(the setting `quota`)"
)


class Allowance:
    def __init__(self, world: World, most: int | None) -> None:
        """None: no limit."""
        self._world = world
        self._most = most
        self._used: dict[str, tuple[float, int]] = {}  # when it was counted, and what has come

    async def check(self, who: Principal | None) -> None:
        """Before anything is read."""
        if self._most is None or who is None or who.kind is not Kind.USER:
            return
        used = await self._counted(who.name)
        if used >= self._most:
            self._used.pop(who.name, None)  # he is told what is so when he asks again
            raise Refused(507, OVER.format(used=show_size(used), most=show_size(self._most)))

    async def _counted(self, user: str) -> int:
        now = self._world.loop.time()
        when, used = self._used.get(user, (float("-inf"), 0))
        if now - when < COUNT_S:
            return used
        world = self._world
        outputs = Places(world.folder).outputs
        used = await apart(world.folder, lambda link: stored(link, world.blobs, outputs, user))
        self._used[user] = now, used
        return used

    def took(self, who: Principal | None, size: int) -> None:
        if who is not None and who.name in self._used and who.kind is Kind.USER:
            when, used = self._used[who.name]
            self._used[who.name] = when, used + size
