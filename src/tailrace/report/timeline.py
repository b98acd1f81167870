"""When each attempt kept a slot busy: attempts as columns, laid out on hosts and slots.

A worker reports how long an attempt ran, not when it began, and holds a bundle of attempts of
which only some run. So the beginning is reconstructed: a host works through its attempts in the
order sent, each in the slot that is free first, and ends them before they are reported.
"""

from __future__ import annotations

from functools import cached_property
from heapq import heapreplace
from typing import TYPE_CHECKING, Any

from tailrace.bag.outcome import Outcome
from tailrace.report.spans import Span, union

if TYPE_CHECKING:
    from tailrace.report.record import AttemptRecord, HostRecord, Record

#: Results may be reported this much after their end, because a call carries several.
REPORTED_WITHIN_US = 2_000_000
ENDLESS_SLOTS = 100_000
OUTCOMES = tuple(Outcome)
#: In the outcome column: still running, or waiting at its host.
LIVE = len(OUTCOMES)


class Timeline:
    """Columns over a record's attempts (NumPy arrays, one entry per attempt, in order sent)."""

    def __init__(self, record: Record) -> None:
        import numpy as np

        self.record = record
        self.attempts = sorted(record.attempts, key=lambda a: (a.sent_us, a.attempt))
        self.begin_us = _begin(record, self.attempts)
        self.end_us = _end(record, self.attempts, self.begin_us)
        code: dict[Outcome | None, int] = {outcome: i for i, outcome in enumerate(OUTCOMES)}
        code[None] = LIVE
        self.outcome = np.array([code[a.outcome] for a in self.attempts], dtype=np.int8)
        self.index = np.array([a.index for a in self.attempts], dtype=np.int64)
        self.sent = np.array([a.sent_us for a in self.attempts], dtype=np.int64)
        self.ended = np.array(
            [-1 if a.ended_us is None else max(a.ended_us, a.sent_us) for a in self.attempts],
            dtype=np.int64,
        )
        self.run = np.array(
            [-1 if a.run_us is None else a.run_us for a in self.attempts], dtype=np.int64
        )
        self.accepted = np.array([a.accepted for a in self.attempts], dtype=bool)

    @property
    def span_us(self) -> int:
        return self.end_us - self.begin_us

    @cached_property
    def hosts(self) -> list[str]:
        """Hosts by id: those of the record first, then those only attempts speak of."""
        names = dict.fromkeys(host.host for host in self.record.hosts)
        names.update(dict.fromkeys(attempt.host for attempt in self.attempts))
        return list(names)

    @cached_property
    def _placed(self) -> tuple[Any, Any, Any, Any]:
        import numpy as np

        shelves = _shelves(self)
        number = {name: i for i, name in enumerate(self.hosts)}
        rows = [shelves[a.host].place(a, self.end_us) for a in self.attempts]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        host = np.array([number[a.host] for a in self.attempts], dtype=np.int64)
        return host, table[:, 0], table[:, 1], table[:, 2]

    @property
    def host(self) -> Any:
        return self._placed[0]

    @property
    def slot(self) -> Any:
        return self._placed[1]

    @property
    def busy_from(self) -> Any:
        return self._placed[2]

    @property
    def busy_until(self) -> Any:
        return self._placed[3]

    @cached_property
    def busy_us(self) -> Any:
        return self.busy_until - self.busy_from

    @cached_property
    def slots(self) -> list[int]:
        """Slots of each host: what it offers, or what it was seen to use when that is more."""
        import numpy as np

        used = np.zeros(len(self.hosts), dtype=np.int64)
        np.maximum.at(used, self.host, self.slot + 1)
        declared = _declared(self.record)
        return [max(int(n), declared.get(h, 0)) for h, n in zip(self.hosts, used, strict=True)]

    @cached_property
    def presence(self) -> list[list[Span]]:
        """When each host was there, within the time the bag took."""
        seen = {host.host: host for host in self.record.hosts}
        work = _work(self)
        return [
            union(_there(seen.get(name), work[i]), self.begin_us, self.end_us)
            for i, name in enumerate(self.hosts)
        ]

    @cached_property
    def ends_of_tasks(self) -> Any:
        """When each task that is done was done, sorted; a failed one with its last attempt."""
        import numpy as np

        ended = self.ended >= 0
        accepted = self.accepted & ended
        good = self.ended[accepted]
        open_tasks = np.union1d(self.index[~ended], self.index[accepted])
        rest = ended & ~np.isin(self.index, open_tasks)
        tasks, place = np.unique(self.index[rest], return_inverse=True)
        last = np.zeros(len(tasks), dtype=np.int64)
        np.maximum.at(last, place, self.ended[rest])
        # A task between two attempts looks like a failed one, but it ended more lately.
        bad = np.sort(last)[: max(0, self.record.done - len(good))]
        return np.sort(np.concatenate([good, bad]))


class _Shelf:
    """The slots of one host while attempts are laid on them."""

    def __init__(self, slots: int) -> None:
        self._fixed = slots > 0
        self._free = [(0, slot) for slot in range(max(slots, 1))]

    def place(self, attempt: AttemptRecord, now_us: int) -> tuple[int, int, int]:
        """Slot, beginning and end of the attempt's busy time."""
        sent = attempt.sent_us
        ended = max(sent, now_us if attempt.ended_us is None else attempt.ended_us)
        free, slot = self._free[0]
        if attempt.run_us is None or attempt.ended_us is None:
            start, stop = self._unmeasured(attempt, free, ended)
        else:
            start, stop = _measured(sent, free, ended, min(attempt.run_us, ended - sent))
        if free > start + (stop - start) // 20 + 1000:
            slot = len(self._free)
            self._free.append((stop, slot))
        else:
            heapreplace(self._free, (stop, slot))
        return slot, start, stop

    def _unmeasured(self, attempt: AttemptRecord, free: int, ended: int) -> tuple[int, int]:
        if attempt.outcome is Outcome.CANCELLED:
            return ended, ended  # forgotten before it ran
        start = max(attempt.sent_us, free) if self._fixed else attempt.sent_us
        return min(start, ended), ended


def _measured(sent: int, free: int, ended: int, run: int) -> tuple[int, int]:
    start = max(sent, free)
    if start + run > ended or ended - start - run > REPORTED_WITHIN_US:
        start = ended - run
    return start, start + run


def _declared(record: Record) -> dict[str, int]:
    """Slots hosts say they have. Tasks without needs fit without end, which says nothing."""
    return {h.host: h.slots if h.slots < ENDLESS_SLOTS else 0 for h in record.hosts}


def _shelves(timeline: Timeline) -> dict[str, _Shelf]:
    slots = _declared(timeline.record)
    return {name: _Shelf(slots.get(name, 0)) for name in timeline.hosts}


def _work(timeline: Timeline) -> list[list[Span]]:
    """When each host was busy, attempt by attempt."""
    work: list[list[Span]] = [[] for _ in timeline.hosts]
    columns = (timeline.host, timeline.busy_from, timeline.busy_until)
    for host, start, stop in zip(*(column.tolist() for column in columns), strict=True):
        work[host].append((start, stop))
    return work


def _there(host: HostRecord | None, work: list[Span]) -> list[Span]:
    """As its leases say, with an interruption between them; else all the time it was known."""
    if host is not None and host.up:
        return [*host.up, *work]
    known = [(host.first_seen_us, host.last_seen_us)] if host else []
    spans = [*known, *work]
    return [(min(a for a, _ in spans), max(b for _, b in spans))] if spans else []


def _begin(record: Record, attempts: list[AttemptRecord]) -> int:
    start = record.submitted_us if record.started_us is None else record.started_us
    return min(start, attempts[0].sent_us) if attempts else start


def _end(record: Record, attempts: list[AttemptRecord], begin: int) -> int:
    end = record.now_us if record.ended_us is None else record.ended_us
    last = max((a.ended_us or a.sent_us for a in attempts), default=begin)
    return max(end, last, begin)


def busy_between(start: Any, stop: Any, edges: Any) -> Any:
    """Total time that intervals [start, stop] cover of each bin between sorted edges."""
    import numpy as np

    origin = edges[0]  # sums of moments since 1970 would lose the microseconds
    since = edges - origin
    return np.diff(_before(start - origin, since) - _before(stop - origin, since))


def _before(moments: Any, edges: Any) -> Any:
    """Sum of the time since each moment, at each edge, counting only moments past."""
    import numpy as np

    ordered = np.sort(np.asarray(moments, dtype=np.float64))
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    past = np.searchsorted(ordered, edges, side="right")
    return past * edges - sums[past]
