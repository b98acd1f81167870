"""Faults put in on purpose: if one of them is not found, the harness is not good enough.

Each is a small change of one of the product's own classes.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.events import Ended, HostSilent
from tailrace.server.batch import Batch
from tailrace.server.cycle import CannotCommit, Cycle
from tailrace.server.desk import Desk
from tailrace.server.leasing import Act
from tailrace.server.machine_room import MachineRoom
from tailrace.server.porter import Porter
from tailrace.worker.agent import Agent

from .oracle import Rule
from .world import Parts


class Planted(msgspec.Struct, frozen=True):
    parts: Parts
    rules: tuple[Rule, ...]  # one of these finds it


# the cycle


class RepliesBeforeCommit(Cycle):
    def turn(self, now: int) -> Any:
        batch = self.desk.work(now)
        asyncio.get_running_loop().call_later(0.001, self._store.commit, batch)
        return batch, self.desk.release(now)


class IgnoresFailedCommits(Cycle):
    def turn(self, now: int) -> Any:
        desk = self.desk
        try:
            return super().turn(now)
        except CannotCommit:
            self._desk = desk  # and goes on as if nothing had happened
            return Batch(), desk.release(now)


class ForgetsWhatItWasTold(Cycle):
    """What was told before a failed commit is not told to the next desk."""

    def rise(self) -> None:
        self._told = []
        super().rise()


class TellsTwice(Cycle):
    """A bag whose commit took place unheard is handed in once more."""

    def rise(self) -> None:
        told, self._told = self._told, []
        super().rise()
        for event, new, heard in told:
            self.tell(event, new, heard)


# the desk


class RecordsLeasesLate(Desk):
    """A lease is written down one commit after its machine was asked for."""

    _owed: Any = ()

    def work(self, now: int) -> Batch:
        batch = super().work(now)
        batch.leases, self._owed = self._owed, batch.leases
        return batch


class ForgetsCalls(Desk):
    """After a restart it does not know which calls of a worker are old."""

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


class KeepsWorkers(Desk):
    """A worker whose lease is over is not told so, and stays."""

    def _stop(self, request: Any) -> Any:
        return None


# machines, outputs, workers


class Unwatched(MachineRoom):
    """What runs without a lease is not stopped when it is found."""

    def _settle(self, driver: Any, one: Any, ends: Any) -> None:
        if one.act is not Act.STOP:
            super()._settle(driver, one, ends)


class LeavesOutputs(Porter):
    """What a server that died did not publish, the next one does not take up."""

    def take_up(self) -> None:
        pass


class ObeysOldReplies(Agent):
    """It starts what a reply to an abandoned call tells it to start."""

    def replied(self, seq: int, reply: Any, now: int) -> Any:
        if seq == self._line.in_hand:
            return super().replied(seq, reply, now)
        self._hear(reply)
        for order in reply["start"]:
            self._take(order)
        return self._settle([], now)


def plant(*rules: Rule, **parts: Any) -> Planted:
    return Planted(Parts(**parts), rules)


FAULTS = {
    "reply-before-commit": plant(
        Rule.COMMIT_FIRST, Rule.KEPT, Rule.SOUND, cycle=RepliesBeforeCommit
    ),
    "old-reply-obeyed": plant(Rule.ONCE, Rule.ALONE, agent=ObeysOldReplies),
    "lease-after-driver": plant(Rule.COMMIT_FIRST, desk=RecordsLeasesLate),
    "failed-commit-ignored": plant(
        Rule.COMMIT_FIRST,
        Rule.KEPT,
        Rule.SOUND,
        Rule.REPLAY,
        Rule.QUIET,
        cycle=IgnoresFailedCommits,
    ),
    "told-forgotten": plant(Rule.QUIET, cycle=ForgetsWhatItWasTold),
    "told-twice": plant(Rule.SOUND, cycle=TellsTwice),
    "old-call-believed": plant(Rule.ALONE, desk=ForgetsCalls),
    "old-session-believed": plant(Rule.ONCE, desk=KeepsOldSessions),
    "acknowledged-unread": plant(Rule.COMMIT_FIRST, Rule.KEPT, desk=AcknowledgesUnread),
    "drop-not-awaited": plant(Rule.ALONE, desk=DoesNotAwaitDrops),
    "strays-left": plant(Rule.NO_ORPHAN, machines=Unwatched, desk=KeepsWorkers),
    "silent-given-up": plant(Rule.ALONE, desk=GivesUpTheSilent),
    "outputs-left": plant(Rule.QUIET, porter=LeavesOutputs),
}
