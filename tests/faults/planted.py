"""Faults put in on purpose: if one of them is not found, the harness is not good enough."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.events import Ended, HostSilent
from tailrace.server.desk import Desk
from tailrace.server.leasing import Act
from tailrace.worker.agent import Agent

from .driving import MachineRoom
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
            self.room.drive(call)
        return super().commit(batch)


class IgnoresFailedCommits(Server):
    def commit(self, batch: Any) -> bool:
        before = self.desk
        if not super().commit(batch):
            self.desk = before  # and goes on as if nothing had happened
        return True


class ObeysOldReplies(Agent):
    """It starts what a reply to an abandoned call tells it to start."""

    def replied(self, seq: int, reply: Any, now: int) -> Any:
        if seq == self._line.in_hand:
            return super().replied(seq, reply, now)
        self._hear(reply)
        for order in reply["start"]:
            self._take(order)
        return self._settle([], now)


class ForgetsCalls(Desk):
    """After a restart it does not know which calls of a worker are old. Chance rarely finds this:
    see `test_late_calls`."""

    def _restore(self, store: Any, now: int) -> None:
        super()._restore(store, now)
        for session in self._sessions.values():
            session.seq = 0


class KeepsOldSessions(Desk):
    """What an earlier session had is believed to be still there."""

    def _close_old_attempts(self, call: Any, now: int) -> None:
        pass


class AcknowledgesUnread(Desk):
    """A result is acknowledged, but one in five is not looked at."""

    def _ended(self, host: str, result: Any) -> Any:
        return None if result.attempt % 5 == 0 else super()._ended(host, result)


class DoesNotAwaitDrops(Desk):
    """A dropped attempt is taken to be over at once, though its worker still holds it."""

    def _end_dropped(self, call: Any, now: int) -> None:
        call.held = {}
        super()._end_dropped(call, now)
        call.held = dict.fromkeys(call.request.held)


class GivesUpTheSilent(Desk):
    """What a silent host has is taken to be lost, also where two at once do harm."""

    def _handle(self, event: Any, now: int) -> Any:
        if isinstance(event, HostSilent):
            for one in list(self.scheduler.state.hosts[event.host].live.values()):
                lost = Ended(one.attempt, one.bag, one.index, event.host, Outcome.LOST)
                super()._handle(lost, now)
        return super()._handle(event, now)


class Unwatched(MachineRoom):
    """What runs without a lease is not stopped when it is found."""

    def _act(self, act: Act, lease: int, row: Any) -> None:
        if act is not Act.STOP:
            super()._act(act, lease, row)


class LeavesStrays(Server):
    room_kind = Unwatched


class KeepsWorkers(Desk):
    """A worker whose lease is over is not told so, and stays."""

    def _stop(self, request: Any) -> Any:
        return None


def plant(*rules: Rule, **parts: Any) -> Planted:
    return Planted(Parts(**parts), rules)


FAULTS = {
    "reply-before-commit": plant(Rule.COMMIT_FIRST, Rule.KEPT, server=RepliesBeforeCommit),
    "old-reply-obeyed": plant(Rule.ONCE, Rule.ALONE, agent=ObeysOldReplies),
    "lease-after-driver": plant(Rule.COMMIT_FIRST, server=DrivesBeforeCommit),
    "failed-commit-ignored": plant(
        Rule.COMMIT_FIRST, Rule.KEPT, Rule.SOUND, Rule.REPLAY, server=IgnoresFailedCommits
    ),
    "old-session-believed": plant(Rule.ONCE, desk=KeepsOldSessions),
    "acknowledged-unread": plant(Rule.COMMIT_FIRST, Rule.KEPT, desk=AcknowledgesUnread),
    "drop-not-awaited": plant(Rule.ALONE, desk=DoesNotAwaitDrops),
    "strays-left": plant(Rule.NO_ORPHAN, server=LeavesStrays, desk=KeepsWorkers),
    "silent-given-up": plant(Rule.ALONE, desk=GivesUpTheSilent),
}
