"""What a plan is made from: attempts of a bag here or at a server, or of a CSV."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import msgspec

from tailrace.bag.outcome import Outcome
from tailrace.cli.bags.choosing import ENDED, choose
from tailrace.cli.planning.attemptsfile import read_attempts
from tailrace.cli.servers.reached import reached
from tailrace.cli.stored import stored
from tailrace.errors import BadInput
from tailrace.knowledge.characterisation import (
    MEASURED,
    Characterisation,
    Online,
    characterise,
)
from tailrace.knowledge.sendings import Fate, Sending, Sendings, gathered
from tailrace.pools.terms import Pool
from tailrace.quantities import SECOND
from tailrace.server.records.observing import Observed as Told
from tailrace.server.records.observing import Seen
from tailrace.server.records.reader import Reader

OF_THE_TASK = (Outcome.TASK_FAILED, Outcome.OVER_LIMIT)
VANISHED = (Outcome.LOST, Outcome.PREEMPTED)
MARGIN_US = 5 * SECOND  # and longer than a pool may be silent: then it is known what has gone


class Observation(msgspec.Struct, frozen=True, eq=False):
    """Attempts of one bag, in seconds since it was handed in; or of a file, since the first."""

    name: str  # as it is told
    sendings: Sendings  # of all pools
    pools: dict[str, Pool] = {}  # with their terms; a file has none
    finished: bool = True
    now_s: float = math.inf  # until when it is known what came of them
    tail_s: float | None = None  # when its tail began
    timeout_s: float | None = None  # most attempts had before that
    tasks: int | None = None
    left: int | None = None  # of them, without a result
    startup_us: dict[str, int] = {}  # of leases that came up, on average, by pool
    ends_losers: bool = True

    @property
    def unreliable(self) -> tuple[str, ...]:
        """By their terms; all of them where none is called unreliable."""
        cheap = (name for name in self.sendings.pools if not self._is_reliable(name))
        return tuple(cheap) or self.sendings.pools

    @property
    def reliable(self) -> tuple[str, ...]:
        return tuple(name for name in self.sendings.pools if name not in self.unreliable)

    @property
    def online(self) -> Online | None:
        """Of one that goes on, what will become of the newest attempts is not known yet."""
        return None if self.finished else Online(self.now_s, self.timeout_s or math.inf)

    def characterise(
        self, pools: tuple[str, ...] | None = None, *, method: str = MEASURED
    ) -> Characterisation:
        """Of pools taken as one; by default all unreliable ones."""
        some = self.sendings.of(*(self.unreliable if pools is None else pools))
        try:
            return characterise(some, self.online, method=method, tail_s=self.tail_s)
        except BadInput as none:
            raise BadInput(f"{self.name}: {none.message}", remedy=none.remedy) from None

    def _is_reliable(self, name: str) -> bool:
        return name in self.pools and self.pools[name].reliable


def observed(
    source: str | None, server: str | None = None, *, young: bool = False
) -> Observation:  # fmt: skip
    """`source`: a file, a folder in which a bag was run, or the number or name of a bag that is
    here, or at that server; the newest where none is named. A `young` one need not have results."""
    path = Path(source or "")
    if source is None or source.isdecimal() or server is not None or not path.exists():
        if path.suffix in (".csv", ".tsv"):
            return of_file(path)  # which says that it is not there
        with reached(server) as there:
            return of_bag(there, source, young=young)
    return of_folder(path, young=young) if path.is_dir() else of_file(path)


def of_file(path: Path) -> Observation:
    return Observation(str(path), read_attempts(path))


def of_folder(folder: Path, bag: str | None = None, *, young: bool = False) -> Observation:
    with stored(folder) as here:
        return of_bag(here, bag, young=young)


def of_bag(there: Reader, text: str | None, *, young: bool = False) -> Observation:
    facts = choose(there, text)
    told = there.observed(facts.bag)
    if not young:
        _refuse_without_success(facts.bag, told)
    now_us = facts.last_us if there.now_us is None else there.now_us
    since_us = facts.submitted_us
    return Observation(
        f"bag {facts.bag} ({facts.name})",
        gathered(_sending(one, told, since_us, now_us) for one in told.attempts),
        {pool.name: pool for pool in told.pools},
        facts.phase in ENDED,
        (now_us - since_us) / SECOND,
        None if told.tail_us is None else (told.tail_us - since_us) / SECOND,
        _timeout_s(told),
        facts.count,
        facts.count - facts.done,
        told.startup_us,
        told.ends_losers,
    )


def _refuse_without_success(bag: int, told: Told) -> None:
    if any(one.outcome is Outcome.SUCCEEDED for one in told.attempts):
        return
    sent = len(told.attempts)
    found = f"none of {sent:,} attempts succeeded" if sent else "nothing was sent yet"
    raise BadInput(
        f"bag {bag}: {found}: how long one takes is not known",
        remedy="Let it run until results are there, name another bag, or one that is alike: --like",
    )


def _sending(one: Seen, told: Told, since_us: int, now_us: int) -> Sending:
    fate, until_us = _fate(one, told, now_us)
    return Sending(
        one.pool,
        (one.sent_us - since_us) / SECOND,
        max(until_us - one.sent_us, 0) / SECOND,
        fate,
        math.nan if one.run_us is None else one.run_us / SECOND,
    )


def _fate(one: Seen, told: Told, now_us: int) -> tuple[Fate, int]:
    """And until when it is known. What went while the run stood still, or with its server, has not
    failed. A task that failed for good did so by itself: its host has given an answer."""
    if one.outcome is None or one.ended_us is None:
        return Fate.OUT, now_us
    if one.outcome is Outcome.SUCCEEDED or (one.failed and one.outcome in OF_THE_TASK):
        return Fate.RETURNED, one.ended_us
    if one.outcome is Outcome.EXPIRED:
        return Fate.EXPIRED, one.ended_us
    if one.outcome is Outcome.CANCELLED:
        return Fate.OUT, one.ended_us
    stood_us = _stood_us(one, told) if one.outcome in VANISHED else None
    return (Fate.FAILED, one.ended_us) if stood_us is None else (Fate.OUT, stood_us)


def _stood_us(one: Seen, told: Told) -> int | None:
    """Since when the run stood still as it went."""
    ended_us = one.ended_us or 0
    silent_us = max((pool.silent_after_us for pool in told.pools), default=0) + MARGIN_US
    for span in told.stood:
        if one.sent_us <= span.to_us and span.from_us <= ended_us <= span.to_us + silent_us:
            return max(span.from_us, one.sent_us)
    return None


def _timeout_s(told: Told) -> float | None:
    """That most of them had, of those from before the tail, if there were any."""
    tail_us = math.inf if told.tail_us is None else told.tail_us
    before = [one.timeout_us for one in told.attempts if one.sent_us < tail_us]
    given = Counter(timeout for timeout in before if timeout is not None)
    return given.most_common(1)[0][0] / SECOND if given else None
