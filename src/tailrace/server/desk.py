"""The server's desk: between the workers' calls and the scheduler, a state machine without I/O.

A cycle has three steps, and a crash may come between any two of them:

    work(now)      every waiting call and event goes through the scheduler; what it decided is
                   gathered in a batch
    (the world commits the batch)
    release(now)   only now are there replies, driver calls and files to publish

If the commit fails, the world throws desk and scheduler away and restores new ones from the tables;
there is no other path of recovery.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Pool
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.decisions import AnyDecision, Replan
from tailrace.scheduler.events import (
    AnyEvent,
    Ended,
    HostSeen,
    HostSilent,
    Measured,
    Offer,
    OfferWithdrawn,
    Progress,
    Restarted,
    Stopping,
    Tick,
)
from tailrace.scheduler.journal import Page
from tailrace.scheduler.leases import STANDING
from tailrace.server import clock, unheld
from tailrace.server.batch import Batch, MoreTasks, New
from tailrace.server.believing import believable
from tailrace.server.calls import MOST_WAIT_US, SECOND_US, Call, Parked, Ticket
from tailrace.server.ledger import DriverCall, Ledger
from tailrace.server.lives import apart
from tailrace.server.moving import Moving
from tailrace.server.orders import Content, Orders
from tailrace.server.protocol import (
    NULL,
    PROTOCOL,
    WorkProgress,
    WorkReply,
    WorkRequest,
    WorkResult,
)
from tailrace.server.session import Session, refusal
from tailrace.server.tables.store import Store
from tailrace.server.unmade import Unmade

SCAN_US = SECOND_US  # how often silence is looked for
Known = tuple[int, int, str]  # bag, index and host of an attempt
REMIND_US = 2 * SECOND_US  # a worker that still holds what it was told to drop is told again


class Released(msgspec.Struct):
    """What may leave now that it is committed."""

    replies: list[tuple[Ticket, WorkReply]]
    driver: list[DriverCall]
    publish: list[int]
    discard: list[int] = []  # attempts whose outputs, if any, nobody waits for
    questions: list[Replan] = []


class Desk:
    def __init__(
        self,
        store: Store,
        content: Content,
        pools: tuple[Pool, ...],
        now: int,
        *,
        seed: int = 0,
        check: bool = False,
        journal: bool = True,
    ) -> None:
        self.scheduler = Scheduler(check=check)
        self._store = store
        self._content = content
        self._pools = {pool.name: pool for pool in pools}
        self._orders = Orders(content, self._pools)
        self._waiting: list[Call] = []
        self._events: list[tuple[AnyEvent, New | None]] = []
        self._parked = Parked()
        self._answered: list[Call] = []
        self._unmade = Unmade()
        self._sessions: dict[str, Session] = {}
        self._scan_us = now + SCAN_US
        self._restore(store, now)
        self._ledger = Ledger(journal, self._sessions, Moving(store.moving()))
        self._patience_us = max((pool.silent_after_us for pool in pools), default=MOST_WAIT_US)
        grace = self._patience_us if self._sessions and pools else 0  # a fresh store waits for none
        self._grace_until_us = now + grace
        self._events.append((Restarted(seed, pools, grace, clock.offset_us()), None))

    def _restore(self, store: Store, now: int) -> None:
        rows = store.restored()
        if not store.first_life:
            rows = apart(rows, now)
        self._opening: Page | None = Page(rows, now)
        self.scheduler.restore(rows, now)
        for host, (number, seq, about, first, key) in store.sessions().items():
            self._sessions[host] = Session(host, number, seq, about, first, now, key)

    # what comes in

    def call(
        self, ticket: Ticket, request: WorkRequest, now: int, *, trusted: bool = False
    ) -> None:
        self._waiting.append(Call(ticket, request, now, trusted=trusted))

    def refusal(self, request: WorkRequest) -> str:
        """Why this call is not one of the host it names; '': it is."""
        return refusal(self._sessions.get(request.host), request)

    def admits(self, host: str, key: str) -> bool:
        """Does this key show that the caller is this host?"""
        session = self._sessions.get(host)
        return session is not None and session.admits(key)

    def hang_up(self, ticket: Ticket) -> None:
        """The caller has gone: a parked call is no offer any more."""
        self._waiting = [call for call in self._waiting if call.ticket != ticket]
        host = self._parked.host_of(ticket)
        if host is not None:
            self._parked.take(host)
            self._events.append((OfferWithdrawn(host), None))

    def tell(self, event: AnyEvent, new: New | None = None) -> None:
        """Anything else that happens: a bag handed in or changed, a lease that is gone."""
        self._events.append((event, new))

    def published(self, attempt: int) -> None:
        self._ledger.published(attempt)

    def excuse(self, now: int) -> None:
        """Some may have called in vain: none is silent before all could have called again."""
        self._grace_until_us = max(self._grace_until_us, now + self._patience_us)

    def not_published(self, attempt: int) -> None:
        self._ledger.stuck(attempt)

    # the cycle

    def busy(self) -> bool:
        waits = self._waiting or self._events or self._unmade
        return bool(waits or self._ledger.unwritten)

    def next_wakeup(self) -> int:
        soon = min(self._scan_us, self._parked.next_end())
        alarm = self.scheduler.next_wakeup()
        return soon if alarm is None else min(alarm, soon)

    def work(self, now: int) -> Batch:
        """Everything that waits goes through the scheduler, in the order it came."""
        ledger = self._ledger
        ledger.begin(now, self.scheduler.state, self._opening)
        self._opening = None
        for result, ended in self._unmade.take(self.scheduler.state):
            ledger.reported(result)
            self._handle(ended, now)
        events, self._events = self._events, []
        for event, new in events:
            if new is not None:
                if isinstance(new, MoreTasks) and not new.fits(self.scheduler.state):
                    continue  # these were numbered in vain
                ledger.new_bag(new)
            self._handle(event, now)
        calls, self._waiting = self._waiting, []
        for call in calls:
            self._take(call, now)
        alarm = self.scheduler.next_wakeup()
        if alarm is not None and alarm <= now:
            self._handle(Tick(), now)
        self._look_for_silence(now)
        self._wake_parked(now)
        for call in self._answered:
            self._fill(call)
        return ledger.batch()

    def last_words(self, now: int) -> Batch:
        """What it has only in mind, at an orderly end: whoever waits is not heard any more."""
        self._ledger.begin(now, self.scheduler.state, self._opening)
        self._opening = None
        self._handle(Stopping(), now)
        return self._ledger.batch()

    def release(self, now: int) -> Released:
        ledger = self._ledger
        replies = [(call.ticket, self._reply(call, now)) for call in self._answered]
        self._answered = []
        publish, discard = ledger.take_publications()
        calls, asked = ledger.take_driver_calls(), ledger.take_questions()
        return Released(replies, calls, publish, discard, asked)

    def abandoned(self) -> list[Ticket]:
        """All calls in hand, when the desk itself is thrown away."""
        calls = [*self._waiting, *self._answered]
        return [*(call.ticket for call in calls), *self._parked.tickets()]

    # inside the cycle

    def _handle(self, event: AnyEvent, now: int) -> list[AnyDecision]:
        decisions = self.scheduler.handle(event, now)
        self._ledger.enter(event, decisions)
        return decisions

    def _take(self, call: Call, now: int) -> None:
        request = call.request
        session = self._sessions.get(request.host)
        call.refused = refusal(session, request)
        if call.refused:  # of two that came at once as one new host, it was the second
            self._answer(call)
            return
        if session is not None and (request.session, request.seq) <= (session.number, session.seq):
            call.old = True
            self._take_results(call, now)
            self._answer(call)
            return
        fresh = session is None or request.session > session.number
        self._meet(session, request, now)
        call.held = dict.fromkeys(request.held)
        if fresh:
            self._close_old_attempts(call, now)
        self._take_results(call, now)
        if request.progress:
            self._take_progress(request, now)
        self._end_dropped(call, now)
        self._supersede(request.host)
        if request.leaves and not request.held:
            self._see_off(call, now)
        elif self._stop(request) is None and request.protocol == PROTOCOL:
            self._handle(Offer(request.host, request.capacity), now)
        self._sessions[request.host].held = call.held
        self._park_or_answer(call, now)

    def _meet(self, session: Session | None, request: WorkRequest, now: int) -> None:
        """Tell the scheduler of a host that is new, back, or changed."""
        if session is None:
            session = Session(request.host, request.session, request.seq, b"{}", now, now)
            self._sessions[request.host] = session
        seen = HostSeen(request.host, request.pool, request.kind, request.capacity, request.lease,
                        request.speed, session.end_of(request, now), owner=request.owner,
                        cpu=request.cpu, says=request.says,
                        benchmark=request.benchmark)  # fmt: skip
        told = session.facts == seen and not session.gone and session.number == request.session
        if session.number != request.session:
            session.sent.clear()
        session.number, session.seq, session.seen_us = request.session, request.seq, now
        session.gone = False
        if session.learn(request.key) or not told:
            session.facts = seen
            session.about = msgspec.json.encode(request.about)
            self._handle(seen, now)

    def _close_old_attempts(self, call: Call, now: int) -> None:
        self._end(unheld.lost(call, self.scheduler.state), now)

    def _end_dropped(self, call: Call, now: int) -> None:
        self._end(unheld.dropped(call, self.scheduler.state), now)

    def _see_off(self, call: Call, now: int) -> None:
        """Its worker ends: nobody waits until it is silent."""
        session = self._sessions[call.request.host]
        self._end(unheld.left(call, self.scheduler.state, session.held), now)
        session.gone = True
        self._handle(HostSilent(session.host), now)

    def _end(self, over: list[Ended], now: int) -> None:
        for ended in over:
            self._handle(ended, now)

    def _take_results(self, call: Call, now: int) -> None:
        """Rule 3: every result is acknowledged, whatever becomes of it."""
        for result in call.request.results:
            call.ack.append(result.attempt)
            if result.pickled and not call.trusted:
                result = self._vetted(result, call.request.pool)
            known = self._known(result.attempt)
            if known is None or known[2] != call.request.host:
                continue
            result = believable(self.scheduler.state, known[0], result, now)
            result = self._content.fitted(known[0], result)
            if result.outcome is Outcome.SUCCEEDED:
                result = self._arrived(known[0], known[1], result)
            self._ledger.reported(result, again=self._had_succeeded(result))
            self._handle(_ended(known, result), now)

    def _had_succeeded(self, result: WorkResult) -> bool:
        """Its report came before: then this is late, and so it is seldom looked up."""
        late = result.attempt not in self.scheduler.state.attempts
        return late and self._store.has_succeeded(result.attempt)

    def _vetted(self, result: WorkResult, pool: str) -> WorkResult:
        """Who unpickles runs whatever its maker put in: only some are believed. That is our rule,
        and no fault of the host."""
        terms = self._pools.get(pool)
        if terms is not None and terms.trusted:
            return result
        why = f"refused: a pickled result of the pool {pool}, which is not trusted"
        return replace(result, outcome=Outcome.LOST, pickled="", value=NULL, error=why)

    def _arrived(self, bag: int, index: int, result: WorkResult) -> WorkResult:
        """Outputs that travel were put here before the result that names them, or it is none. Of a
        task that has its result they may be gone again."""
        why = self._content.lacking(bag, index, result)
        if not why or self._store.has_result(bag, index):
            return result
        return replace(
            result, outcome=Outcome.HOST_FAILED, outputs=[], pickled="", value=NULL, error=why
        )

    def _known(self, number: int) -> Known | None:
        """Bag, index and host of an attempt sent at some time."""
        live = self.scheduler.state.attempts.get(number)
        if live is not None:
            return live.bag, live.index, live.host
        found = self._store.attempt(number)
        return found if found and found[0] in self.scheduler.state.bags else None

    def _take_progress(self, request: WorkRequest, now: int) -> None:
        """Only what is new, of what is out there: the journal is spared the rest."""
        live = self.scheduler.state.hosts[request.host].live
        for told in request.progress:
            attempt = live.get(told.attempt)
            if attempt is not None and _is_new(attempt, told):
                progress = Progress(told.attempt, request.host, told.done, told.ran_us,
                                    told.ago_us, told.cpu_us, told.text)  # fmt: skip
                self._handle(progress, now)

    def _supersede(self, host: str) -> None:
        """A newer call of the same worker: the parked one is of no use, but deserves its end."""
        before = self._parked.take(host)
        if before is not None:
            before.old = True
            self._answer(before)

    def _answer(self, call: Call) -> None:
        if not call.answer:
            call.answer = True
            self._answered.append(call)

    def _park_or_answer(self, call: Call, now: int) -> None:
        if call.ack or call.request.leaves or self._has_news(call, now):
            self._answer(call)
            self._withdraw(call)
        else:
            told = self._sessions[call.request.host].told
            dues = [told[attempt] + REMIND_US for attempt in call.held if attempt in told]
            call.until_us = min([call.until_us, *dues])
            self._parked.park(call)

    def _withdraw(self, call: Call) -> None:
        """An answered call is no open offer. The scheduler closes those it matched itself."""
        if call.request.host in self.scheduler.state.offers:
            self._handle(OfferWithdrawn(call.request.host), self._ledger.now)

    def _has_news(self, call: Call, now: int) -> bool:
        """Something to start, drop or stop. A worker needs its time to end what it was told to
        drop: it is not told again with every call."""
        live = self.scheduler.state.hosts[call.request.host].live
        if self._stop(call.request) is not None:
            return True
        early = self._ledger.is_early
        if any(number not in call.held and not early(one) for number, one in live.items()):
            return True
        if self._is_renewed(call.request):
            return True
        told = self._sessions[call.request.host].told
        return any(now >= told.get(number, 0) + REMIND_US for number in self._to_drop(call))

    def _is_renewed(self, request: WorkRequest) -> bool:
        told = self._sessions[request.host].ends_us
        lease = self.scheduler.state.leases.get(request.lease or 0)
        return told is not None and lease is not None and lease.ends_us != told

    def _to_drop(self, call: Call) -> list[int]:
        live = self.scheduler.state.hosts[call.request.host].live
        return [
            number
            for number in call.held
            if number not in live or live[number].dropping is not None
        ]

    def _wake_parked(self, now: int) -> None:
        """Rule 7: a waiting call is answered at once when there is news, or when its time is up."""
        for host in self._parked.due(now):
            self._wake(host, now)
        for host in self._ledger.touched():
            call = self._parked.get(host)
            if call is not None and self._has_news(call, now):
                self._wake(host, now)

    def _wake(self, host: str, now: int) -> None:
        call = self._parked.take(host)
        assert call is not None
        self._sessions[host].seen_us = now
        self._answer(call)
        self._withdraw(call)

    def _look_for_silence(self, now: int) -> None:
        """Rule 5: after a start nothing is silent before every worker could have called."""
        if now < self._scan_us:
            return
        self._scan_us = now + SCAN_US
        for session in self._sessions.values():
            if session.host in self._parked or session.gone or now < self._grace_until_us:
                continue
            pool = self._pools.get(session.facts.pool if session.facts else "")
            after = pool.silent_after_us if pool else MOST_WAIT_US
            if now - session.seen_us > after:
                session.gone = True
                self._handle(HostSilent(session.host), now)

    # replies

    def _fill(self, call: Call) -> None:
        """What this call will be told to start, while it can still be committed with it."""
        if call.old or call.refused:
            return
        host, held = call.request.host, call.held
        live = self.scheduler.state.hosts[host].live
        new = [one for one in live.values() if one.attempt not in held and not one.dropping]
        call.start = [one for one in new if not self._ledger.is_early(one)]
        if call.start:
            self._ledger.answered(host, call.request.seq)

    def _reply(self, call: Call, now: int) -> WorkReply:
        request = call.request
        if call.refused:
            return WorkReply(request.seq, stop=call.refused)
        if call.old:
            return WorkReply(request.seq, ack=call.ack, stop=self._superseded(request))
        start = self._orders.all(call.start, self.scheduler.state, self._unmade)
        drop = self._to_drop(call)
        self._sessions[request.host].told = dict.fromkeys(drop, now)
        shared = self._orders.shared(start, request.known, self._sessions[request.host].shared)
        contact = self._contact_s(request.pool)
        stop = self._stop(request)
        ends_s = self._lease_left_s(request, now)
        blobs = self._orders.small(start, self._sessions[request.host].sent)
        return WorkReply(
            request.seq, start, shared, drop, [], call.ack, contact, stop, ends_s, blobs
        )

    def writable(self, reply: WorkReply) -> WorkReply:
        """The reply without what cannot be written down."""
        return replace(reply, start=self._unmade.without(reply.start))

    def _superseded(self, request: WorkRequest) -> str | None:
        """Only one worker runs in a folder: this one is a leftover, or its folder was put back."""
        newest = self._sessions[request.host].number
        if request.session >= newest:
            return None
        return f"session {newest} of host {request.host} has taken its place"

    def _lease_left_s(self, request: WorkRequest, now: int) -> float | None:
        lease = self.scheduler.state.leases.get(request.lease or 0)
        if lease is None:
            return None
        self._sessions[request.host].ends_us = lease.ends_us
        return max(lease.ends_us - now, 0) / SECOND_US

    def _contact_s(self, pool: str) -> float:
        terms = self._pools.get(pool)
        return min(20.0, (terms.silent_after_us if terms else MOST_WAIT_US) / SECOND_US / 3)

    def _stop(self, request: WorkRequest) -> str | None:
        """A worker whose lease we ended, or do not know, is not wanted any more."""
        if request.lease is None:
            return None
        lease = self.scheduler.state.leases.get(request.lease)
        if lease is None:
            return f"lease {request.lease} is over"
        return None if lease.state in STANDING else f"lease {request.lease} is over: {lease.why}"


def _ended(known: Known, result: WorkResult) -> Ended:
    bag, index, host = known
    text = "" if result.outcome is Outcome.SUCCEEDED else result.text()
    measured = Measured(result.run_us, result.exit, result.limit or "", text, result.of_bag)
    return Ended(result.attempt, bag, index, host, result.outcome, measured)


def _is_new(attempt: Attempt, told: WorkProgress) -> bool:
    if told.done is None:
        return told.text != attempt.unreadable
    return attempt.reached is None or told.ran_us > attempt.reached.ran_us
