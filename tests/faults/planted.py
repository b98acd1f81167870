"""Faults put in on purpose: if one of them is not found, the harness is not good enough.

Each is a small change of one of the product's own classes.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.scheduler.decisions import AnyDecision, Assign
from tailrace.scheduler.events import Ended, HostSilent, Progress
from tailrace.scheduler.journal import check_of
from tailrace.server.batch import Batch
from tailrace.server.cycle import CannotCommit, Cycle
from tailrace.server.desk import Desk
from tailrace.server.files.porter import Porter
from tailrace.server.pools.crew import Crew
from tailrace.server.pools.leasing import Act
from tailrace.server.pools.machine_room import MachineRoom
from tailrace.worker.agent import Agent

from .oracle import Rule
from .thread import Died
from .world import Parts


class Planted(msgspec.Struct, frozen=True):
    parts: Parts
    rules: tuple[Rule, ...]  # one of these finds it


# the cycle


class RepliesBeforeCommit(Cycle):
    """Replies leave at once, and what they tell is committed a moment later. What else may leave
    waits for its commit: drivers and porter read the tables."""

    _owed: Batch | None = None

    def turn(self, now: int) -> Any:
        self._pay()
        if self._told:
            return super().turn(now)
        batch, released = self.desk.work(now), self.desk.release(now)
        self._owed = batch
        if released.driver or released.publish or released.discard:
            self._pay()
        else:
            asyncio.get_running_loop().call_later(0.001, self._pay)
        return batch, released

    def _pay(self) -> None:
        batch, self._owed = self._owed, None
        try:
            if batch:
                self._store.commit(batch)
        except sqlite3.OperationalError as error:
            raise Died("of a late commit that failed") from error


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

    def _known(self, number: int) -> Any:
        return None if number % 5 == 0 else super()._known(number)


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


class MixesUpTasks(Desk):
    """What one task tells is believed of the newest on its host."""

    def _handle(self, event: Any, now: int) -> Any:
        if isinstance(event, Progress):
            newest = max(self.scheduler.state.hosts[event.host].live)
            event = msgspec.structs.replace(event, attempt=newest)
        return super()._handle(event, now)


class KeepsWorkers(Desk):
    """A worker whose lease is over is not told so, and stays."""

    def _stop(self, request: Any) -> Any:
        return None


class Misnotes(Desk):
    """One decision is in the journal otherwise than it was taken: who got the third attempt."""

    def _handle(self, event: Any, now: int) -> Any:
        decisions = super()._handle(event, now)
        noted = [_misnoted(one) for one in decisions]
        if noted != decisions:
            self._ledger._page.entries[-1].check = check_of(noted)
        return decisions


def _misnoted(one: AnyDecision) -> AnyDecision:
    third = isinstance(one, Assign) and one.attempt == 3
    return msgspec.structs.replace(one, host="another") if third else one


# money


def always_affordable(state: Any, bag: Any, lease: Any) -> bool:
    return True


# machines, outputs, workers


class LeavesStrays(Crew):
    """What runs without a lease is not stopped when it is found."""

    def _settle(self, one: Any, ends_us: int) -> None:
        if one.act is not Act.STOP:
            super()._settle(one, ends_us)


class Unwatched(MachineRoom):
    crew = LeavesStrays


class LeavesOutputs(Porter):
    """What a server that died did not publish, the next one does not take up."""

    def take_up(self) -> None:
        pass


class PublishesLosers(Porter):
    """What came second is published like what came first."""

    def discard(self, attempt: int) -> None:
        if self._store.of_no_use(attempt):
            self.carry(attempt)


class PretendsToPublish(Porter):
    """Outputs are said to be at their targets, and stay where they are."""

    def carry(self, attempt: int) -> None:
        self._told(attempt, True)


class ObeysOldReplies(Agent):
    """It starts what a reply to an abandoned call tells it to start."""

    def replied(self, seq: int, reply: Any, now: int) -> Any:
        if seq == self._line.in_hand:
            return super().replied(seq, reply, now)
        self._hear(reply, now)
        for order in reply["start"]:
            self._take(order)
        return self._settle([], now)


def plant(*rules: Rule, **parts: Any) -> Planted:
    for part in parts.values():
        if isinstance(part, type):
            hit = any(hasattr(part.__base__, name) for name in vars(part) if name[:2] != "__")
            assert hit, f"{part.__name__} changes nothing of {part.__base__.__name__} any more"
    return Planted(Parts(**parts), rules)


FAULTS = {
    "reply-before-commit": plant(Rule.COMMIT_FIRST, Rule.KEPT, cycle=RepliesBeforeCommit),
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
    "loser-published": plant(Rule.PUBLISHED, porter=PublishesLosers),
    "publication-pretended": plant(Rule.PUBLISHED, porter=PretendsToPublish),
    "all-affordable": plant(Rule.BUDGET, affordable=always_affordable, check=False),
    "progress-mixed-up": plant(Rule.TOLD, desk=MixesUpTasks),
    "decision-misnoted": plant(Rule.REPLAY, desk=Misnotes),
}
