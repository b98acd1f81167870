"""The worker's side of the work call, without any I/O, clock or randomness.

Inputs (a reply, a failed call, an ended process, passing time) go in with the time in microseconds;
what has to be done comes out as a list of effects. The client carries them out on a real machine,
the fault tests in a simulated one; both drive this very class.

**Why no attempt is executed twice.** An attempt is known here from its first `start` until it is
dropped unstarted (then it never ran) or its result is acknowledged. As long as it is known, another
`start` is ignored. After the acknowledgement nothing needs to be remembered: it left the server
after the commit of the result, every later call is made after it arrived, and only the reply to the
newest call is obeyed. So any reply obeyed later was written by a server that knows the attempt has
ended, and such a server never sends it again. Across sessions: results not yet acknowledged are
known from the spool, and everything else of the old session is closed by the server before it
answers the first call of the new one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Collection, Dict, Iterable, List, Mapping, Optional, Tuple

from .effects import Abandon, Call, Effects, Exit, Forget, Json, Kill, Spool, Start
from .life import Life, first
from .line import BACKOFF_LIMIT, SECOND, Line
from .refusal import TEXTS, Refusal
from .results import about_bytes, unstarted, without_content
from .room import ONE_CORE, Room
from .tidings import Tidings

PROTOCOL = 2
GATHER = SECOND // 4  # how long results are gathered while plenty is queued
# After a reply that leaves work here, the next waiting call is made a little later: a short task
# ends first, and its result needs no call to be hung up for it.
PARK = 30_000
RESULTS_BYTES = 4 << 20  # of results in one call
PLENTY = 4096  # of results in one call
MOST_TERMS = 32  # bags of which is kept what their tasks share
CALLS_AHEAD = 16  # times as many calls are started ahead as commands
AHEAD = 20_000  # of work, started ahead where the executor can wait
LEAVE_WITHIN = 3 * SECOND  # to report, once all tasks have ended
FAREWELL_BACKOFF = SECOND // 2
NOW_AND_THEN = 300 * SECOND  # a server that is to be brought up to date is called
EXIT_OK = 0
EXIT_REFUSED = 2
EXIT_OUTDATED = 3  # a newer worker goes on in its place
NEWS = ("start", "drop", "ack", "stop")
AS_IT_IS = ("succeeded", "cancelled")  # reported so, also of one that was told to end
UNREADABLE = (400, 413)  # the server cannot read the call, or not all of it


class Running:
    """A started attempt."""

    __slots__ = ("ended_as", "grace_s", "needs")

    def __init__(self, needs: Mapping[str, int], grace_s: float) -> None:
        self.needs = needs
        self.grace_s = grace_s
        self.ended_as: Optional[str] = None  # set when it was told to end


class Agent:
    def __init__(
        self,
        identity: Mapping[str, Any],
        capacity: Mapping[str, int],
        session: int,
        spooled: Iterable[Json],
        now: int,
        *,
        wait_s: float = 25.0,
        idle_after_s: Optional[float] = None,
        ends_at: Optional[int] = None,
        lease_ends_at: Optional[int] = None,
        standby: int = 0,
    ) -> None:
        """`identity` holds host, key, pool, lease, kind, about, speed, owner, cpu, benchmark and,
        where its owner says something, says. Up to `standby` short
        attempts are started ahead of the capacity: only for an executor that itself waits until
        they fit. `ends_at` is when its machine ends, whoever wants it longer."""
        self.identity = dict(identity)
        self.session = session
        self.room = Room(capacity)
        self.queued: "OrderedDict[int, Tuple[Json, Json]]" = OrderedDict()
        self.running: Dict[int, Running] = {}
        self.kept: Dict[int, Json] = {result["attempt"]: result for result in spooled}
        self.gone: Optional[Exit] = None
        self._line = Line(f"{identity.get('host')}/{session}", now)
        self._tidings = Tidings()
        self._refusal = Refusal()
        self._terms: Dict[str, Json] = {}
        self._wait_s = self._contact_s = wait_s
        self._life = Life(now, idle_after_s, ends_at, lease_ends_at)
        self._standby = standby
        self._lately_us = SECOND  # how long attempts ran, the newest counting most
        self._waiting: "OrderedDict[int, None]" = OrderedDict()  # started beyond the capacity
        self._fresh_since: Optional[int] = now if self.kept else None  # results in no call yet
        self._park_at = now
        self._refill_below = 0
        self._at_most: Optional[int] = None  # results in one call, after one was refused
        self._leaving: Optional[str] = None
        self._leave_by: Optional[int] = None

    # ---- inputs -------------------------------------------------------------------------------

    def wake(self, now: int) -> Effects:
        """Time has passed; also the first input of all."""
        return self._settle([], now)

    def replied(self, seq: int, reply: Json, now: int) -> Effects:
        """Only the reply to the newest call is obeyed, once."""
        if self.gone or seq != self._line.in_hand:
            return []
        effects: Effects = []
        carried = self._line.carried
        self._line.hang_up()
        self._tidings.heard()
        self._refusal.heard()
        if self._at_most is not None and carried:
            self._at_most = None if self._at_most >= PLENTY else 2 * self._at_most
        renewed = self._hear(reply, now)
        self._forget(reply.get("ack") or (), effects)
        self._judge_answer(carried, renewed or any(reply.get(name) for name in NEWS), now)
        for attempt in reply.get("drop") or ():
            self._drop(attempt, effects)
        for order in reply.get("start") or ():
            self._take(order)
        self._forget_terms()
        self._refill_below = (len(self.queued) + len(self._waiting)) // 2
        self._park_at = now + PARK if self.queued or self.running else now
        if reply.get("stop"):
            self._leave(str(reply["stop"]), now, effects)
        if self._leaving is not None:
            self._hand_back(effects, now)
            self._exit_when_done(effects)
        return self._settle(effects, now)

    def call_failed(
        self,
        seq: int,
        status: Optional[int],
        retry_after_s: Optional[float],
        now: int,
        why: str = "",
        newer: Optional[bool] = None,
    ) -> Effects:
        """No reply (`status` None) or an HTTP error. `newer`: whether the server, which speaks
        another protocol, is newer; None: not known, or of no use here."""
        if self.gone or seq != self._line.in_hand:
            return []
        effects: Effects = []
        if status in UNREADABLE:
            self._tidings.refused()
            self._send_less(self._line.carried, f"{status} {why}".strip(), effects)
        self._fail_call(retry_after_s, now)
        if status in TEXTS:
            self._refusal.note(status, now, newer, why)
        elif self._leaving is not None and not self.running and not self.kept:
            self._exit(EXIT_OK, self._leaving, effects)  # nobody there to say farewell to
        return self._settle(effects, now)

    def ended(self, attempt: int, result: Json, now: int) -> Effects:
        return self.ended_many([(attempt, result)], now)

    def ended_many(self, results: Iterable[Tuple[int, Json]], now: int) -> Effects:
        """Processes have ended. One that was told to end is reported as that, unless it had
        succeeded before it heard of it: then its work is whole. One that never began is handed
        back, `cancelled`, whatever it was told."""
        if self.gone:
            return []
        effects: Effects = []
        for attempt, result in results:
            run = self.running.pop(attempt, None)
            if run is None:
                continue
            self._leave_room(attempt, run)
            self._tidings.forget(attempt)
            self._refusal.task_ended(now)
            self._lately_us += (int(result.get("run_us") or 0) - self._lately_us) // 4
            if run.ended_as is not None and result["outcome"] not in AS_IT_IS:
                result = dict(result, outcome=run.ended_as, limit=None)
            self._keep(result, effects, now)
        if self._leave_by is not None and not self.running:
            self._leave_by = min(self._leave_by, now + LEAVE_WITHIN)
        return self._settle(effects, now)

    def progressed(self, reports: Iterable[Json], now: int) -> Effects:
        """Tasks tell how far they are."""
        if self.gone:
            return []
        running = [report for report in reports if report["attempt"] in self.running]
        self._tidings.take(running, now)
        return self._settle([], now)

    def measured(self, speed: float) -> None:
        """Told with the next call, whenever that is made."""
        self.identity["benchmark"] = speed

    def stopping(self, why: str, now: int) -> Effects:
        """SIGTERM, or the end of life: end what runs as preempted, report, exit."""
        effects: Effects = []
        if not self.gone:
            self._leave(why, now, effects)
        return self._settle(effects, now)

    def next_wakeup(self) -> Optional[int]:
        """When `wake` has to be called if nothing else happens before."""
        if self.gone:
            return None
        line = self._line
        times = [self._call_due(), self._leave_by, self._time_to_leave()]
        if not self.running:
            times.append(self._refusal.until)
        if line.in_hand is not None:
            times.append(line.answer_by)
        return min((time for time in times if time is not None), default=None)

    @property
    def held(self) -> List[int]:
        """All attempts it has."""
        return [*self.queued, *self.running, *self.kept]

    # ---- what a reply says --------------------------------------------------------------------

    def _hear(self, reply: Json, now: int) -> bool:
        """Has the end of its lease moved?"""
        self._terms.update(reply.get("bags") or {})
        contact_s = reply.get("contact_s")
        if contact_s:
            self._contact_s = float(contact_s)
        ends_s = reply.get("ends_s")
        return ends_s is not None and self._life.lease_ends(now + int(ends_s * SECOND), now)

    def _forget(self, acked: Iterable[int], effects: Effects) -> None:
        known = tuple(attempt for attempt in acked if self.kept.pop(attempt, None) is not None)
        if known:
            effects.append(Forget(known))

    def _judge_answer(self, carried: Iterable[int], news: bool, now: int) -> None:
        """A result sent but not acknowledged is sent again, not in a hurry: a server that answers
        without acknowledging is not well. Nor is one that says at once that there is nothing: to it
        this session may be an old one, whose calls it does not keep."""
        unheard = any(attempt in self.kept for attempt in carried)
        if unheard or (not news and self._line.too_soon(now)):
            self._fail_call(None, now)
        else:
            self._line.well(now)

    def _send_less(self, carried: Collection[int], why: str, effects: Effects) -> None:
        """Half as many results in the next call, down to the one that cannot be read: that one goes
        without what the task made, so that its task ends."""
        if len(carried) > 1:
            self._at_most = len(carried) // 2
        for attempt in carried if len(carried) == 1 else ():
            text = f"the server refused the result: {why}"
            self.kept[attempt] = without_content(self.kept[attempt], text)
            effects.append(Spool(self.kept[attempt]))

    def _drop(self, attempt: int, effects: Effects) -> None:
        if self.queued.pop(attempt, None) is None and attempt in self.running:
            self._end(attempt, "cancelled", effects)

    def _end(self, attempt: int, outcome: str, effects: Effects) -> None:
        run = self.running[attempt]
        if run.ended_as is None:
            run.ended_as = outcome
            effects.append(Kill(attempt, run.grace_s, outcome))

    def _forget_terms(self) -> None:
        """The oldest, which are those of bags that have ended, or nearly."""
        while len(self._terms) > MOST_TERMS:
            del self._terms[next(iter(self._terms))]

    def _take(self, order: Json) -> None:
        attempt = order["attempt"]
        if attempt in self.queued or attempt in self.running or attempt in self.kept:
            return
        self.queued[attempt] = (order, self._terms.get(str(order["bag"]), {}))

    # ---- starting and ending attempts ---------------------------------------------------------

    def _fill(self, effects: Effects, now: int) -> None:
        """Start the queued in order as they fit; the first that does not fit waits, and with it
        those behind, so that a large one is not passed for ever."""
        while self.queued and self._refusal.why is None:
            attempt = next(iter(self.queued))
            order, terms = self.queued[attempt]
            needs = order.get("needs") or terms.get("needs") or ONE_CORE
            if not self.room.could_ever_fit(needs):
                del self.queued[attempt]
                text = f"this host has {self.room.capacity}, the task needs {needs}"
                self._keep(unstarted(attempt, "host_failed", text), effects, now)
                continue
            if not self._admit(attempt, needs, terms):
                return
            del self.queued[attempt]
            self.running[attempt] = Running(needs, float(terms.get("grace_s") or 0))
            effects.append(Start(attempt, order, terms))

    def _admit(self, attempt: int, needs: Mapping[str, int], terms: Json) -> bool:
        if not self._waiting and self.room.fits(needs):
            self.room.take(needs)
            return True
        standby = self._standby * CALLS_AHEAD if "function" in terms else self._standby
        if len(self._waiting) < self._ahead(standby):
            self._waiting[attempt] = None
            return True
        return False

    def _ahead(self, standby: int) -> int:
        """Enough short attempts that no room stays empty while the executor hears of the next."""
        wanted = AHEAD * len(self.running) // max(self._lately_us, 1)
        return min(standby, wanted)

    def _leave_room(self, attempt: int, run: Running) -> None:
        if attempt in self._waiting:
            del self._waiting[attempt]
        else:
            self.room.give_back(run.needs)
        while self._waiting:
            first = next(iter(self._waiting))
            if not self.room.fits(self.running[first].needs):
                return
            self.room.take(self.running[first].needs)
            del self._waiting[first]

    def _keep(self, result: Json, effects: Effects, now: int) -> None:
        self.kept[result["attempt"]] = result
        effects.append(Spool(result))
        if self._fresh_since is None:
            self._fresh_since = now

    # ---- leaving ------------------------------------------------------------------------------

    def _leave(self, why: str, now: int, effects: Effects) -> None:
        if self._leaving is not None:
            return
        self._leaving = why
        self._hand_back(effects, now)
        for attempt in list(self.running):
            self._end(attempt, "preempted", effects)
        self._leave_by = now + self._grace() + LEAVE_WITHIN
        if self._life.ends_at is not None:
            self._leave_by = min(self._leave_by, max(self._life.ends_at, now))
        self._line.not_before = min(self._line.not_before, now)
        if self._line.in_hand is not None and not self._line.carried:
            effects.append(Abandon(self._line.in_hand))  # it offers room that is no more
            self._line.hang_up()

    def _hand_back(self, effects: Effects, now: int) -> None:
        """What is queued goes back at once, so that others can have it: cancelled unasked."""
        for attempt in list(self.queued):
            del self.queued[attempt]
            text = f"not started: {self._leaving}"
            self._keep(unstarted(attempt, "cancelled", text), effects, now)

    def _exit_when_done(self, effects: Effects) -> None:
        if self._leaving is not None and not self.running and not self.kept:
            self._exit(EXIT_OK, self._leaving, effects)

    def _exit(self, code: int, why: str, effects: Effects) -> None:
        if self._line.in_hand is not None:
            effects.append(Abandon(self._line.in_hand))
        self.gone = Exit(code, why)
        effects.append(self.gone)

    @property
    def was_taken(self) -> bool:
        """The server has answered it, and not refused it."""
        return self._refusal.was_taken

    @property
    def busy(self) -> bool:
        """Has it anything, were it only a result that is not acknowledged?"""
        return bool(self.queued or self.running or self.kept)

    def _grace(self) -> int:
        return int(max((run.grace_s for run in self.running.values()), default=0.0) * SECOND)

    def _time_to_leave(self) -> Optional[int]:
        if self._leaving is not None:
            return None
        return self._life.next_end(self._grace() + LEAVE_WITHIN)

    # ---- calling ------------------------------------------------------------------------------

    def _settle(self, effects: Effects, now: int) -> Effects:
        """What follows from the state and the time; the end of every input."""
        if self.gone:
            return effects
        self._life.note(self.busy, now)
        if self._ends(effects, now):
            return effects
        self._fill(effects, now)
        if self._line.in_hand is not None and now >= self._line.answer_by:
            effects.append(Abandon(self._line.in_hand))
            self._fail_call(None, now)
        due = self._call_due()
        if due is not None and now >= due:
            self._call(effects, now)
        return effects

    def _ends(self, effects: Effects, now: int) -> bool:
        if self._leaving is None:
            why = self._life.over(self._grace() + LEAVE_WITHIN, now)
            if why:
                self._leave(why, now, effects)
        left = f"; {len(self.kept)} results stay in the spool" if self.kept else ""
        if self._leave_by is not None and now >= self._leave_by:
            self._exit(EXIT_OK, f"{self._leaving}{left}", effects)
        elif self._refusal.is_final(bool(self.running), bool(self.kept), now):
            code = EXIT_OUTDATED if self._refusal.by_newer else EXIT_REFUSED
            self._exit(code, f"{self._refusal.why}{left}", effects)
        return self.gone is not None

    def _fail_call(self, retry_after_s: Optional[float], now: int) -> None:
        limit = BACKOFF_LIMIT if self._leaving is None else FAREWELL_BACKOFF
        if self._refusal.by_older and self._leaving is None:
            limit = NOW_AND_THEN
        self._line.failed(now, retry_after_s, limit)
        self._tidings.unheard()
        if self.kept:
            self._fresh_since = now if self._fresh_since is None else self._fresh_since

    def _call_due(self) -> Optional[int]:
        line = self._line
        news = None if self._fresh_since is None else self._news_due(self._fresh_since)
        if line.in_hand is not None:
            due = news if self._leaving is not None else first(news, self._tidings.due())
            return None if due is None else max(due, line.may_be_pushed_aside_at(due))
        if self._leaving is not None and self.running and news is None:
            return None  # the farewell comes when they have ended
        return max(line.not_before, self._park_at if news is None else news)

    def _news_due(self, since: int) -> int:
        """At once when work runs low, otherwise a quarter of a second's results together."""
        left = len(self.queued) + len(self._waiting)
        runs = len(self.running) - len(self._waiting)
        low = left < runs or left <= self._refill_below
        return since if low or not left else since + GATHER

    def _call(self, effects: Effects, now: int) -> None:
        line = self._line
        if line.in_hand is not None:
            effects.append(Abandon(line.in_hand))
            line.hang_up()
        results, rest = self._results_to_send()
        wait_s = min(self._wait_s, self._contact_s)
        if self._leaving is not None or not self.was_taken:  # who began this worker waits to hear
            wait_s = 0.0
        seq = line.make(frozenset(result["attempt"] for result in results), wait_s, now)
        # What did not fit goes with the next call, made as soon as this one is answered.
        self._fresh_since = now - GATHER if rest else None
        progress = self._tidings.carry(now)
        body = self._body(seq, results, rest, progress, wait_s)
        if self._life.machine_ends_at is not None:
            body["ends_s"] = max(self._life.machine_ends_at - now, 0) / SECOND
        effects.append(Call(seq, body))

    def _results_to_send(self) -> Tuple[List[Json], List[int]]:
        results: List[Json] = []
        room = RESULTS_BYTES
        for result in self.kept.values():
            room -= about_bytes(result)
            if results and (room < 0 or len(results) == self._at_most):
                break
            results.append(result)
        return results, list(self.kept)[len(results) :]

    def _body(
        self, seq: int, results: List[Json], rest: List[int], progress: List[Json], wait_s: float
    ) -> Json:
        capacity = self.room.capacity
        if self._leaving is not None:
            capacity = dict.fromkeys(capacity, 0)
        body = dict(self.identity)
        body.update(
            protocol=PROTOCOL,
            session=self.session,
            seq=seq,
            capacity=capacity,
            known=[int(bag) for bag in self._terms],
            held=[*self.queued, *self.running, *rest],
            results=results,
            progress=progress,
            wait_s=wait_s,
        )
        if self._leaving is not None and not body["held"]:
            body["leaves"] = True
        return body
