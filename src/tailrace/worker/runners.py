"""The keeper's runners: who makes which call, who has begun what, and what is left of a dead one.

A runner is kept when it has nothing to do, so that imports and functions stay warm, and used again
by bags that may share it. While it works it takes the room of one task. Short calls are handed to
it ahead, a few milliseconds' worth; those behind one that turns out long are taken back.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections import deque
from typing import Any, Deque, Dict, Iterable, List, NamedTuple, Optional, Tuple

from . import spawn, tree
from .attempt import Attempt
from .begun import Begun
from .limits import Limits
from .orphans import Orphans
from .pipe import Outbox, encode
from .ring import Ring
from .room import Room
from .runner import ANSWERED, HELLO
from .runnerlink import Answer, RunnerLink, item_of
from .surroundings import Surroundings

AHEAD_US = 10_000  # of work handed to a runner beyond what it does
MOST_AHEAD = 120
STUCK_US = 30_000  # a call that lasts so long keeps none behind it waiting
IDLE_S = 60.0  # a runner with nothing to do is ended then
FULL = 8 << 20  # bytes printed into one file, before it is emptied
_SOME, _ALL = 1 << 20, 1 << 62  # bytes heard from one runner, before the others have their turn
_BEGUN = 4096  # the places of calls in the file of begun attempts, behind those of the slots
Json = Dict[str, Any]
Key = Tuple[Any, ...]


class Runner:
    def __init__(self, key: Key, link: RunnerLink, slot: Any, gpus: List[str]) -> None:
        self.key, self.link, self.slot, self.gpus = key, link, slot, gpus
        self.pid = link.pid
        self.calls: Deque[Attempt] = deque()  # handed over and not answered; the first is under way
        self.ready = False
        self.refusal = ""
        self.printed = (0, 0)  # what was printed by calls answered already
        self.ended_us = 0  # of the last call
        self.idle_since = 0.0
        self.needs: Dict[str, int] = {}
        self.blocked = False  # it takes no more just now


class Parts(NamedTuple):
    """What runners share with the commands a keeper runs beside them."""

    room: Room
    around: Surroundings
    ring: Ring
    begun: Begun
    limits: Limits
    orphans: Orphans
    births: tree.Births
    outbox: Outbox
    poll: Any
    current: Dict[int, Attempt]  # by process: what it does now
    by_id: Dict[int, Attempt]  # all that was handed over


class Runners:
    def __init__(self, parts: Parts) -> None:
        self._room, self._around, self._ring = parts.room, parts.around, parts.ring
        self._begun, self._limits, self._orphans = parts.begun, parts.limits, parts.orphans
        self._outbox, self._poll, self._births = parts.outbox, parts.poll, parts.births
        self._current, self._by_id = parts.current, parts.by_id
        self._root = os.getpid()
        self.by_pid: Dict[int, Runner] = {}
        self.by_fd: Dict[int, Runner] = {}
        self._busy: Dict[Key, List[Runner]] = {}
        self._idle: Dict[Key, List[Runner]] = {}
        self._lately: Dict[Key, float] = {}  # µs a call took
        self._touched: Dict[int, Runner] = {}  # those with something to send, by process
        self.back: List[Attempt] = []  # taken back, to be handed over anew

    # ---- handing over -------------------------------------------------------------------------

    def take(self, attempt: Attempt) -> bool:
        """False when it has to wait."""
        key = _key(attempt)
        runner = self._free(key, attempt) or self._with_room_behind(key)
        if runner is None:
            if not self._room.fits(attempt.needs):
                return False
            try:
                runner = self._start(key, attempt)
            except Exception as error:
                self._outbox.put(attempt.not_started(error))
                return True
        try:
            item = item_of(attempt.order)
        except OSError as error:
            self._not_needed(runner)
            self._outbox.put(
                attempt.failed("host_failed", None, f"its arguments are gone: {error}")
            )
            return True
        self._hand_over(runner, attempt, item)
        return True

    def _not_needed(self, runner: Runner) -> None:
        if not runner.calls:
            runner.idle_since = time.monotonic()
            self._idle.setdefault(runner.key, []).append(runner)

    def _free(self, key: Key, attempt: Attempt) -> Optional[Runner]:
        idle = self._idle.get(key)
        if not idle or not self._room.fits(attempt.needs):
            return None
        return idle.pop()

    def _with_room_behind(self, key: Key) -> Optional[Runner]:
        """Only when no other could begin at once."""
        busy = self._busy.get(key)
        if not busy or self._room.fits(busy[0].needs):
            return None
        runner = min(busy, key=_waiting)
        lately = self._lately.get(key)
        if lately is None or runner.printed > (FULL, 0) or runner.printed[1] > FULL:
            return None
        most = min(int(AHEAD_US / max(lately, 1.0)), MOST_AHEAD)
        return runner if len(runner.calls) <= most else None

    def _hand_over(self, runner: Runner, attempt: Attempt, item: bytes) -> None:
        now_us = time.monotonic_ns() // 1000
        attempt.pid, attempt.slot, attempt.started_us = runner.pid, runner.slot, now_us
        if not runner.calls:
            runner.needs = attempt.needs
            self._room.take(attempt.needs)
            self._busy.setdefault(runner.key, []).append(runner)
            self._now_does(runner, attempt, now_us)
        runner.calls.append(attempt)
        self._by_id[attempt.id] = attempt
        self._touched[runner.pid] = runner
        permit = runner.link.call(attempt.order, attempt.terms["function"], item)
        place = _BEGUN + runner.slot.number * (MOST_AHEAD + 8) + permit % (MOST_AHEAD + 8)
        self._begun.note(place, attempt.id)

    def _now_does(self, runner: Runner, attempt: Attempt, since_us: int) -> None:
        attempt.started_us = since_us
        self._current[runner.pid] = attempt
        self._limits.begin(attempt)

    def _start(self, key: Key, attempt: Attempt) -> Runner:
        function = attempt.terms["function"]
        self._end_oldest_idle()
        slot = self._ring.take()
        gpus = self._around.take_gpus(attempt.needs)
        env = self._around.environment(attempt.order, attempt.terms, attempt.needs, gpus)
        env["TAILRACE_RESULT"] = slot.result_path  # by this a later worker finds strays
        try:
            attempt.enter(attempt.terms.get("folder") or "/")
            link = RunnerLink(function, env, slot, self._root)
        except BaseException:
            self._around.give_back_gpus(gpus, attempt.needs)
            self._ring.give_back(slot)
            raise
        runner = Runner(key, link, slot, gpus)
        self._births.own += 1
        self._orphans.spared.add(runner.pid)
        self.by_pid[runner.pid] = self.by_fd[link.fd] = runner
        self._poll.register(link.fd, select.POLLIN)
        return runner

    def flush(self) -> None:
        """All that was handed over since the last time, each runner's in one write."""
        touched, self._touched = self._touched, {}
        for runner in touched.values():
            if not runner.link.closed:
                self._flush(runner)

    def _flush(self, runner: Runner) -> None:
        blocked = not runner.link.flush()
        if blocked != runner.blocked:
            runner.blocked = blocked
            self._poll.modify(runner.link.fd, select.POLLIN | (select.POLLOUT if blocked else 0))

    # ---- answers ------------------------------------------------------------------------------

    def hear(self, fd: int) -> None:
        runner = self.by_fd[fd]
        if runner.blocked:
            self._flush(runner)
        self._hear(runner)
        if runner.link.ended:
            self._hang_up(runner)

    def _hear(self, runner: Runner, at_once: int = _SOME) -> None:
        for answer in runner.link.read(at_once):
            if answer.kind == ANSWERED:
                self._answered(runner, answer)
            elif answer.kind == HELLO:
                runner.ready = True
                self._count_from(runner, answer)
            else:
                runner.refusal = bytes(answer.body).decode("utf-8", "replace")
        if runner.calls:
            self._now_does(
                runner, runner.calls[0], max(runner.ended_us, runner.calls[0].started_us)
            )
        elif runner.pid in self._current:
            self._rest(runner)

    def _count_from(self, runner: Runner, answer: Answer) -> None:
        """Starting the interpreter is no part of the first call's time."""
        runner.ended_us, runner.printed = answer.ended_us, answer.printed

    def _answered(self, runner: Runner, answer: Answer) -> None:
        attempt = runner.calls.popleft()
        before, runner.printed, runner.ended_us = runner.printed, answer.printed, answer.ended_us
        run_us = answer.ended_us - answer.begun_us
        lately = self._lately.get(runner.key, run_us)
        self._lately[runner.key] = lately + (run_us - lately) / 8
        said = b""
        if answer.printed != before:
            said = b"," + encode(attempt.printed(before, answer.printed)).encode()[1:-1]
        told = b'{"attempt":%d,"run_us":%d,"cpu_us":%d,"memory":%d,%b%b}'
        numbers = (attempt.id, run_us, answer.cpu_us, answer.memory)
        del self._by_id[attempt.id]
        self._outbox.put_line(told % (*numbers, answer.body, said))

    def _rest(self, runner: Runner) -> None:
        """Nothing to do: its room is free, what was printed is told."""
        del self._current[runner.pid]
        self._leave_busy(runner)
        runner.slot.clear(1, 1)
        runner.printed = (0, 0)
        runner.idle_since = time.monotonic()
        self._idle.setdefault(runner.key, []).append(runner)
        if runner.gpus:
            self._end(runner)

    def _leave_busy(self, runner: Runner) -> None:
        self._room.give_back(runner.needs)
        self._busy[runner.key].remove(runner)
        if not self._busy[runner.key]:
            del self._busy[runner.key]

    # ---- taking back --------------------------------------------------------------------------

    def watch(self) -> None:
        """Calls behind one that lasts are taken back; runners long idle are ended."""
        now_us = time.monotonic_ns() // 1000
        for busy in list(self._busy.values()):
            for runner in busy:
                if len(runner.calls) > 1 and now_us - _since(runner) >= STUCK_US:
                    self.back += self._take_back(runner)
        for idle in list(self._idle.values()):
            for runner in list(idle):
                if time.monotonic() - runner.idle_since > IDLE_S:
                    self._end(runner)

    def due(self) -> Optional[float]:
        stuck = [
            _since(runner) + STUCK_US
            for busy in self._busy.values()
            for runner in busy
            if len(runner.calls) > 1
        ]
        times = [min(stuck) / 1e6] if stuck else []
        times += [runner.idle_since + IDLE_S for idle in self._idle.values() for runner in idle]
        return min(times, default=None)

    def _take_back(self, runner: Runner) -> List[Attempt]:
        """All that has not begun: their permits are ours again."""
        back = self._unbegun(runner)
        if back and not runner.calls:
            self._rest(runner)
        return back

    def _unbegun(self, runner: Runner) -> List[Attempt]:
        count = min(runner.link.take_back_permits(), len(runner.calls))
        back = [runner.calls.pop() for _ in range(count)]
        back.reverse()
        for attempt in back:
            del self._by_id[attempt.id]
        return back

    def recall(self, attempt: Attempt) -> bool:
        """True when it had not begun, and will not."""
        runner = self.by_pid.get(attempt.pid)
        if runner is None or attempt not in runner.calls:
            return False
        back = self._take_back(runner)
        self.back += [each for each in back if each is not attempt]
        return attempt in back

    # ---- the end of a runner ------------------------------------------------------------------

    def died(self, pid: int, status: int, usage: Any, asked_to_end: bool) -> int:
        """What it had answered counts; the call it had begun is its victim, or its murderer. Its
        CPU time in microseconds."""
        runner = self.by_pid[pid]
        back = self._last_words(runner)
        self._forget(runner)
        if runner.calls:
            attempt = runner.calls.popleft()
            attempt.note_end(status, usage, time.monotonic_ns() // 1000, asked_to_end)
            self._end_call(attempt, attempt.cut_short(runner.printed))
        elif not runner.ready:
            self._never_began(runner, back)
            back = []
        self.back += back
        runner.slot.close()
        tree.send_group(pid, signal.SIGKILL)
        self._orphans.reaped(pid)
        self._orphans.due = 0.0
        return int((usage.ru_utime + usage.ru_stime) * 1_000_000)

    def _last_words(self, runner: Runner) -> List[Attempt]:
        """Its answers, as far as they were sent; then the calls it had not begun."""
        if not runner.link.closed:
            self._hear(runner, _ALL)
        return self._unbegun(runner) if runner.calls else []

    def _end_call(self, attempt: Attempt, result: Json) -> None:
        self._by_id.pop(attempt.id, None)
        self._outbox.put(result)

    def _forget(self, runner: Runner) -> None:
        if runner.pid in self._current:
            del self._current[runner.pid]
            self._leave_busy(runner)
        self._idle[runner.key] = [r for r in self._idle.get(runner.key, []) if r is not runner]
        if not self._idle[runner.key]:
            del self._idle[runner.key]
        self._around.give_back_gpus(runner.gpus, runner.needs)
        del self.by_pid[runner.pid]
        self._hang_up(runner)
        runner.link.close()

    def _hang_up(self, runner: Runner) -> None:
        if self.by_fd.pop(runner.link.fd, None) is not None:
            self._poll.unregister(runner.link.fd)

    def _never_began(self, runner: Runner, calls: Iterable[Attempt]) -> None:
        """It is the host that lacks something, not the calls."""
        for attempt in calls:
            try:
                spawn.read_note(runner.slot, runner.link.interpreter)
                text = runner.refusal or f"{runner.link.interpreter} ended before it could begin"
            except spawn.CannotStart as error:
                text = error.text
            said = attempt.last_words()
            text = text if runner.refusal or not said else f"{text}: {said}"
            self._outbox.put(attempt.failed("host_failed", None, text))

    def _end(self, runner: Runner) -> None:
        """It leaves when its channel ends; until it is reaped it is nobody's."""
        self._idle[runner.key].remove(runner)
        self._hang_up(runner)
        runner.link.close()

    def _end_oldest_idle(self) -> None:
        """So many stay warm as the host runs at once, and no fewer than two."""
        idle = [runner for each in self._idle.values() for runner in each]
        if len(idle) >= max(2, self._room.capacity.get("cores", 0) // 1000):
            self._end(min(idle, key=lambda runner: runner.idle_since))


def is_call(attempt: Attempt) -> bool:
    return attempt.order.get("item") is not None


def _waiting(runner: Runner) -> int:
    return len(runner.calls)


def _since(runner: Runner) -> int:
    return runner.calls[0].started_us


def _key(attempt: Attempt) -> Key:
    function = attempt.terms["function"]
    needs = tuple(sorted(attempt.needs.items()))
    shared = function["runners"] or attempt.bag
    return (shared, function["interpreter"], attempt.terms.get("folder"), needs)
