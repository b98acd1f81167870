"""Faults put in on purpose: if one of them is not found, the harness is not good enough."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.server.desk import Desk
from tailrace.worker.agent import Agent

from .oracle import Rule
from .server import Server
from .world import Parts


class Planted(msgspec.Struct, frozen=True):
    parts: Parts
    rules: tuple[Rule, ...]  # one of these finds it


class RepliesBeforeCommit(Server):
    def cycle(self, desk: Desk) -> None:
        batch = desk.work(self.clock())
        for leave in self.leaving(desk.release(self.clock())):
            leave()
        self.step("the commit")
        if batch and not self.commit(batch):
            return
        wakeup = desk.next_wakeup() - self.clock() + self.world.engine.now
        self._wake_at(max(wakeup, self.world.engine.now + 1))


class DrivesBeforeCommit(Server):
    def commit(self, batch: Any) -> bool:
        for call in self.desk._ledger.take_driver_calls():
            self._drive(call)
        return super().commit(batch)


class ObeysOldReplies(Agent):
    """It starts what a reply to an abandoned call tells it to start."""

    def replied(self, seq: int, reply: Any, now: int) -> Any:
        if seq == self._line.in_hand:
            return super().replied(seq, reply, now)
        self._hear(reply)
        for order in reply["start"]:
            self._take(order)
        return self._settle([], now)


FAULTS = {
    "reply-before-commit": Planted(
        Parts(server=RepliesBeforeCommit), (Rule.COMMIT_FIRST, Rule.KEPT)
    ),
    "old-reply-obeyed": Planted(Parts(agent=ObeysOldReplies), (Rule.ONCE, Rule.ALONE)),
    "lease-after-driver": Planted(Parts(server=DrivesBeforeCommit), (Rule.COMMIT_FIRST,)),
}
