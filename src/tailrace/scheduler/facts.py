"""What policies may look at, as it is now: attributes of hosts, bags, tasks and pools, by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailrace.bag.columns import Columns
from tailrace.bag.outcome import Outcome
from tailrace.knowledge.remaining import time_left
from tailrace.policy.attributes import MOST_REPLICAS, Plain
from tailrace.policy.names import PARAMS
from tailrace.pools.terms import Pool
from tailrace.scheduler import money, records, tails
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.draws import draw
from tailrace.scheduler.rows import HostRow
from tailrace.scheduler.state import Bag, Host, State

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
FAILED = (Outcome.TASK_FAILED, Outcome.OVER_LIMIT, Outcome.HOST_FAILED)

UNKNOWN = ("Host.Name", "Host.Owner", "Host.CpuModel", "Host.Speed")  # until it has called

Values = dict[str, Plain]
Replicas = Sequence[Attempt]


def of_host(state: State, bag: Bag, host: Host, keys: tuple[str, ...]) -> Values:
    return {key: HOST[key](state, bag, host) for key in keys}


def of_machine(state: State, bag: Bag, pool: Pool, keys: tuple[str, ...]) -> Values:
    """What is known of one that the pool would lend, before it has called."""
    capacity = state.capacity_in.get(pool.name) or pool.capacity
    host = Host(HostRow("", pool.name, "", dict(capacity)))
    host.reliable = pool.reliable
    known = of_host(state, bag, host, keys)
    unknown = UNKNOWN if capacity else (*UNKNOWN, "Host.NumCpus")
    if "memory" not in capacity:
        unknown = (*unknown, "Host.Memory")
    return {key: None if key in unknown else value for key, value in known.items()}


def of_bag(state: State, bag: Bag, keys: tuple[str, ...]) -> Values:
    return {key: BAG[key](state, bag) for key in keys}


def of_task(state: State, bag: Bag, index: int, keys: tuple[str, ...]) -> Values:
    out = replicas(bag, index)
    params = {} if bag.columns is None else _params(bag.columns, bag.columns.groups[index])
    return {
        key: JOB[key](state, bag, index, out) if key in JOB else params.get(key) for key in keys
    }


def of_new_task(bag: Bag, keys: tuple[str, ...], group: int | None = None) -> Values:
    """One that was never sent: all of a bag are alike in this, or all of a group of it."""
    found: Values = {key: NEW.get(key) for key in keys}
    if group is not None and bag.columns is not None:
        params = _params(bag.columns, group)
        found.update({key: params[key] for key in keys if key in params})
    return found


def _params(columns: Columns, group: int) -> Values:
    values = zip(columns.names, columns.rows[group], strict=True)
    return {f"{PARAMS}{name}": value for name, value in values}


def of_pool(state: State, pool: Pool, keys: tuple[str, ...], but: int = 0) -> Values:
    """As if so many of its machines were not there."""
    found = {key: POOL[key](state, pool) for key in keys}
    if but and MACHINES in found:
        found[MACHINES] = max(_machines(state, pool) - but, 0)
    return found


def replicas(bag: Bag, index: int) -> list[Attempt]:
    """The attempts of a task from which a result is expected, the oldest first."""
    live = bag.live.get(index, ())
    return [one for one in live if not one.expired and one.dropping is None]


def running(bag: Bag, index: int) -> list[Attempt]:
    """Those, and with them whose time-out has passed, that run on."""
    return [one for one in bag.live.get(index, ()) if one.dropping is None]


def has_room(bag: Bag, index: int) -> bool:
    """May a task that is out have one more, as far as its policy can look at them?"""
    if not replicas(bag, index) or len(running(bag, index)) >= MOST_REPLICAS:
        return False
    return index not in bag.done and bag.repeats(index)


def _cores(host: Host) -> int:
    return max(host.whole.get("cores", 0) // 1000, 1)


def running_of(state: State, bag: Bag, host: Host) -> int:
    grown = sum(one.bag == bag.id for one in host.grown.values()) if host.grown else 0
    return host.plain.get(bag.id, 0) + grown


def _price(pool: Pool | None) -> float | None:
    if pool is None:
        return None
    return float(pool.billing.per_second()) * 3600 / 1e6


def _time_left(state: State, host: Host) -> float | None:
    """Of its machine itself; a lease is renewed for as long as it is wanted."""
    return None if host.ends_us is None else max(host.ends_us - state.now, 0) / SECOND_US


HOST: dict[str, Callable[[State, Bag, Host], Plain]] = {
    "Host.Name": lambda state, bag, host: host.id,
    "Host.Pool": lambda state, bag, host: host.pool,
    "Host.Owner": lambda state, bag, host: host.owner,
    "Host.CpuModel": lambda state, bag, host: host.cpu,
    "Host.NumCpus": lambda state, bag, host: _cores(host),
    "Host.Memory": lambda state, bag, host: host.whole.get("memory", 0),
    "Host.Speed": lambda state, bag, host: host.speed * (host.benchmark or 1.0),
    "Host.Running": lambda state, bag, host: len(host.live),
    "Host.RunningOfBot": running_of,
    "Host.ErrorRate": lambda state, bag, host: records.error_rate(host),
    "Host.MeanTurnaround": lambda state, bag, host: records.mean_turnaround_s(host),
    "Host.RecentGoodSeconds": lambda state, bag, host: records.good_seconds(state, host),
    "Host.JobsToday": lambda state, bag, host: records.sent_today(state, host),
    "Host.Succeeded": lambda state, bag, host: host.succeeded,
    "Host.Failed": lambda state, bag, host: host.booked,
    "Host.Expired": lambda state, bag, host: host.expired,
    "Host.Lost": lambda state, bag, host: host.lost,
    "Host.Preempted": lambda state, bag, host: host.preempted,
    "Host.Reliable": lambda state, bag, host: host.reliable,
    "Host.PricePerHour": lambda state, bag, host: _price(state.pools.get(host.pool)),
    "Host.TimeLeft": lambda state, bag, host: _time_left(state, host),
}


def _currency(bag: Bag) -> str:
    """Of its budget; else that in which it has paid."""
    return next(iter(bag.terms.budget or bag.paid), "")


def _spent(state: State, bag: Bag) -> float:
    return money.spent(state, bag, _currency(bag)) / 1e6


def _budget_left(state: State, bag: Bag) -> float | None:
    currency = _currency(bag)
    if currency not in bag.terms.budget:
        return None
    bound = money.spent(state, bag, currency) + money.committed(state, bag, currency)
    return (bag.terms.budget[currency] - bound) / 1e6


def _remaining(state: State, bag: Bag) -> float | None:
    left = bag.terms.count - bag.done.count
    found = time_left(bag.times, left, bag.slots)
    return None if found is None else found.mean_us / SECOND_US


def _deadline(state: State, bag: Bag) -> int | None:
    within = bag.terms.deadline_us
    return None if within is None else (bag.submitted_us + within) // SECOND_US


def _priority(state: State, bag: Bag) -> float:
    given = bag.terms.policy.plain.priority if bag.terms.policy else None
    return float(given or 0)


def _lottery(state: State, bag: Bag) -> float:
    bag.drawn += 1
    return draw(state.seed, bag.id, "lottery", bag.drawn)


BAG: dict[str, Callable[[State, Bag], Plain]] = {
    "BOT.Name": lambda state, bag: bag.terms.name,
    "BOT.Owner": lambda state, bag: bag.terms.owner,
    "BOT.Jobs": lambda state, bag: bag.terms.count,
    "BOT.JobsLeft": lambda state, bag: bag.terms.count - bag.done.count,
    "BOT.JobsQueued": lambda state, bag: bag.unsent,
    "BOT.JobsRunning": lambda state, bag: bag.out,
    "BOT.JobsDone": lambda state, bag: bag.done.count,
    "BOT.JobsFailed": lambda state, bag: bag.failed.count,
    "BOT.Tail": lambda state, bag: tails.in_tail(bag),
    "BOT.Priority": _priority,
    "BOT.Deadline": _deadline,
    "Queue.BOTsInQueue": lambda state, bag: state.queued,
    "Spent": _spent,
    "BudgetLeft": _budget_left,
    "Elapsed": lambda state, bag: (state.now - bag.submitted_us) / SECOND_US,
    "PredictedRemaining": _remaining,
    "Now": lambda state, bag: state.now // SECOND_US,
    "HourOfDay": lambda state, bag: (state.now + state.offset_us) // HOUR_US % 24,
    "Lottery": _lottery,
}

MACHINES = "Pool.Machines"


def _machines(state: State, pool: Pool) -> int:
    return max(state.lent.get(pool.name, 0), state.able_in.get(pool.name, 0))


POOL: dict[str, Callable[[State, Pool], Plain]] = {
    "Pool.Name": lambda state, pool: pool.name,
    MACHINES: _machines,
    "Pool.Max": lambda state, pool: pool.max or None,
    "Pool.Reliable": lambda state, pool: pool.reliable,
    "Pool.PricePerHour": lambda state, pool: _price(pool),
}


def _age(state: State, attempt: Attempt) -> float:
    return (state.now - attempt.sent_us) / SECOND_US


def _host_of(state: State, attempt: Attempt) -> Host:
    return state.hosts[attempt.host]


def _attempts(state: State, bag: Bag, index: int, out: Replicas) -> int:
    trouble = bag.troubles.get(index)
    return trouble.sent if trouble else len(out)


def _booked(bag: Bag, index: int, *outcomes: Outcome) -> int:
    trouble = bag.troubles.get(index)
    if trouble is None:
        return 0
    unsettled = len(trouble.unsettled) if Outcome.TASK_FAILED in outcomes else 0
    return sum(trouble.counts.get(one, 0) for one in outcomes) + unsettled


def _pools(state: State, bag: Bag, index: int, out: Replicas) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_host_of(state, one).pool for one in out))


def _worst(state: State, bag: Bag, index: int, out: Replicas) -> float | None:
    return max((records.error_rate(_host_of(state, one)) for one in out), default=None)


JOB: dict[str, Callable[[State, Bag, int, Replicas], Plain]] = {
    "Job.NumberOfReplicas": lambda state, bag, index, out: len(out),
    "Job.LastReplicaAge": lambda state, bag, index, out: _age(state, out[-1]) if out else None,
    "Job.OldestReplicaAge": lambda state, bag, index, out: _age(state, out[0]) if out else None,
    "Job.MaxReplicaErrorRate": _worst,
    "Job.ReplicaPools": _pools,
    "Job.Attempts": _attempts,
    "Job.Preemptions": lambda state, bag, index, out: _booked(bag, index, Outcome.PREEMPTED),
    "Job.Failures": lambda state, bag, index, out: _booked(bag, index, *FAILED),
}
NEW: Values = {
    "Job.NumberOfReplicas": 0, "Job.ReplicaPools": (), "Job.Attempts": 0, "Job.Preemptions": 0,
    "Job.Failures": 0,
}  # fmt: skip


def _of_replica(
    number: int, get: Callable[[State, Bag, Attempt], Plain]
) -> Callable[[State, Bag, int, Replicas], Plain]:
    """Of the number-th of them, counted from 1; there may be fewer."""

    def found(state: State, bag: Bag, index: int, out: Replicas) -> Plain:
        return get(state, bag, out[number - 1]) if number <= len(out) else None

    return found


def _through_host(key: str) -> Callable[[State, Bag, Attempt], Plain]:
    fact = HOST[key]
    return lambda state, bag, attempt: fact(state, bag, _host_of(state, attempt))


def _all_replicas() -> None:
    for number in range(1, MOST_REPLICAS + 1):
        before = f"Job.Replica{number}."
        JOB[before + "Age"] = _of_replica(number, lambda state, bag, one: _age(state, one))
        for name in ("Name", "Pool", "Owner", "ErrorRate"):
            JOB[before + name] = _of_replica(number, _through_host(f"Host.{name}"))
        for key in HOST:
            JOB[before + key] = _of_replica(number, _through_host(key))


_all_replicas()
