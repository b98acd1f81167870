"""How everything stood at one moment, from the scheduler's own memory: plain values to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tailrace.quantities import MICRO
from tailrace.scheduler import money
from tailrace.scheduler.money import cost_until
from tailrace.scheduler.rows import STANDING, LeaseRow
from tailrace.scheduler.state import Bag, Host, State
from tailrace.scheduler.timers import Alarm, Key

ALARMS = {
    Alarm.TIMEOUT: "the time-out of the attempt at {}",
    Alarm.TRIAL: "the trial of bag {} has run long enough",
    Alarm.READMIT: "host {} may be probed",
    Alarm.LEASE: "lease {} comes to its end",
    Alarm.REPLICATE: "replication looks at bag {} again",
    Alarm.ROUND: "a round of bag {} begins",
    Alarm.ACQUIRE: "pool {} may be asked again",
    Alarm.UNIT: "lease {} is about to enter another paid unit",
    Alarm.DOUBT: "a host held back may try a task of bag {}",
}


class BagThen(msgspec.Struct, frozen=True):
    bag: int
    name: str
    phase: str
    why: str
    tasks: int
    done: int
    failed: int
    left: int
    live: int  # attempts that are out
    waiting: int  # tasks that wait for another attempt
    unsent: int  # never sent


class AttemptThen(msgspec.Struct, frozen=True):
    attempt: int
    bag: int
    task: int
    sent_us: int
    done: float | None = None  # as its task told


class HostThen(msgspec.Struct, frozen=True):
    host: str
    pool: str
    state: str
    why: str  # it is excluded, or was
    holds: list[AttemptThen]
    booked: int
    excluded_until_us: int | None


class LeaseThen(msgspec.Struct, frozen=True):
    lease: int
    pool: str
    bag: int
    state: str
    host: str
    wanted_us: int
    up_us: int | None
    ends_us: int
    spent: float
    currency: str


class MoneyThen(msgspec.Struct, frozen=True):
    currency: str
    spent: float
    committed: float
    budget: float | None


class AlarmThen(msgspec.Struct, frozen=True):
    at_us: int
    what: str


class Then(msgspec.Struct, frozen=True):
    bag: BagThen
    others: list[BagThen]  # that had not ended
    hosts: list[HostThen]
    leases: list[LeaseThen]
    money: list[MoneyThen]
    alarm: AlarmThen | None


def snapshot(state: State, leases: Mapping[int, LeaseRow], number: int, at_us: int) -> Then:
    """Of the `leases` those of the bag, and of the state those that it has in mind."""
    bag = state.bags[number]
    own = {lease: row for lease, row in leases.items() if row.bag == number}
    known = sorted((own | state.leases).items())
    return Then(
        bag=_bag(bag),
        others=[_bag(other) for other in state.open.values() if other is not bag],
        hosts=[_host(host) for host in state.hosts.values()],
        leases=list(_leases((row for _, row in known), at_us)),
        money=list(_money(state, bag, at_us)),
        alarm=_alarm(state),
    )


def _bag(bag: Bag) -> BagThen:
    count, done = bag.terms.count, bag.done.count
    live = sum(len(attempts) for attempts in bag.live.values())
    return BagThen(bag.id, bag.terms.name, bag.phase, bag.why, count, done, bag.failed.count,
                   count - done, live, len(bag.requeue.waiting), bag.fresh.left)  # fmt: skip


def _host(host: Host) -> HostThen:
    holds = [
        AttemptThen(a.attempt, a.bag, a.index, a.sent_us, a.reached.done if a.reached else None)
        for a in host.live.values()
    ]
    until = host.excluded_until_us if host.excluded else None
    return HostThen(host.id, host.pool, _state(host), host.why, holds, host.booked, until)


def _state(host: Host) -> str:
    if not host.present:
        return "not connected"
    if host.excluded:
        return "excluded"
    if host.retired:
        return "its lease is over"
    if host.probing:
        return "probed"
    return "at work" if host.live else "idle"


def _leases(rows: Iterable[LeaseRow], at_us: int) -> Iterator[LeaseThen]:
    for row in rows:
        cost = cost_until(row, at_us if row.gone_us is None else row.gone_us)
        yield LeaseThen(row.lease, row.pool, row.bag, row.state, row.host, row.wanted_us, row.up_us,
                        row.ends_us, cost / MICRO, row.billing.currency)  # fmt: skip


def _money(state: State, bag: Bag, at_us: int) -> Iterator[MoneyThen]:
    """At that moment, not at the event before it: a unit may have been entered since."""
    rows = [state.leases[lease] for lease in bag.leases]
    paid = [row.billing.currency for row in rows if row.billing.price]
    for currency in dict.fromkeys([*bag.paid, *paid, *bag.terms.budget]):
        spent = money.spent(state, bag, currency, at_us)
        bound = money.committed(state, bag, currency, at_us)
        budget = bag.terms.budget.get(currency)
        if spent or bound or budget is not None:
            yield MoneyThen(currency, spent / MICRO, bound / MICRO, _units(budget))


def _units(micros: int | None) -> float | None:
    return None if micros is None else micros / MICRO


def _alarm(state: State) -> AlarmThen | None:
    """The first that still meant something: most are set and never needed."""
    for at_us, alarm, key in state.timers.coming():
        if _holds(state, alarm, key):
            return AlarmThen(at_us, ALARMS[alarm].format(_named(state, alarm, key)))
    return None


def _named(state: State, alarm: Alarm, key: Key) -> Key:
    """An attempt by its task and host: its number says nothing to anybody."""
    if alarm is not Alarm.TIMEOUT:
        return key
    attempt = state.attempts[int(key)]
    return f"task {attempt.bag}/{attempt.index} on {attempt.host}"


def _holds(state: State, alarm: Alarm, key: Key) -> bool:
    if alarm is Alarm.TIMEOUT:
        return key in state.attempts
    if alarm in (Alarm.LEASE, Alarm.UNIT):
        lease = state.leases.get(int(key))
        return lease is not None and lease.state in STANDING
    if alarm is Alarm.ACQUIRE:
        return any(_asks(bag, str(key)) for bag in state.open.values())
    if alarm is Alarm.READMIT:
        host = state.hosts.get(str(key))
        return bool(state.open) and host is not None and host.excluded
    bag = state.open.get(int(key))
    return bag is not None and (alarm is not Alarm.TRIAL or any(bag.trials.values()))


def _asks(bag: Bag, pool: str) -> bool:
    return bag.runs and (not bag.terms.pools or pool in bag.terms.pools)
