"""Records of runs that look like real ones, made by a small list scheduler with faults."""

from __future__ import annotations

import random
from heapq import heapify, heappop, heappush

from tailrace.bag.outcome import Outcome
from tailrace.report.record import AttemptRecord, HostRecord, LeaseRecord, Record

S = 1_000_000
EPOCH_US = 1_767_000_000 * S

ERRORS = (
    (Outcome.TASK_FAILED, 1, "ValueError: alpha must be positive, got -{}"),
    (Outcome.TASK_FAILED, 2, "usage: model.py [-h] --alpha ALPHA: bad value {}"),
    (Outcome.TASK_FAILED, 139, ""),
    (Outcome.OVER_LIMIT, None, "memory 2.1 GiB, limit 2 GiB, after {} s"),
    (Outcome.LOST, None, "the host fell silent"),
    (Outcome.PREEMPTED, None, "the machine was taken away"),
)


def a_run(
    tasks: int = 1200,
    hosts: int = 2,
    slots: int = 4,
    mean_us: int = 2 * S,
    failing: float = 0.02,
    seed: int = 1,
    price_micro: int = 0,
    cut_at: float | None = None,
    name: str = "sweep of alpha and seed",
) -> Record:
    """Tasks of log-normal run time; failures are retried once; ``cut_at`` leaves it half-way."""
    rng = random.Random(seed)
    free = [(EPOCH_US + S * (i % hosts) // 3, i % hosts) for i in range(hosts * slots)]
    heapify(free)
    queue = [(i, 0) for i in reversed(range(tasks))]
    attempts: list[AttemptRecord] = []
    while queue:
        index, tries = queue.pop()
        at, host = heappop(free)
        run = max(1, int(rng.lognormvariate(0, 0.7) * mean_us * (1 + 0.3 * host / hosts)))
        bad = rng.random() < failing or (tries and rng.random() < 0.5)
        outcome, exit_code, text = rng.choice(ERRORS) if bad else (Outcome.SUCCEEDED, 0, "")
        if bad and not tries:
            queue.insert(0, (index, 1))
        sent = at + rng.randrange(200, 4000)
        ended = sent + run + rng.randrange(200, 4000)
        measured = outcome not in (Outcome.LOST, Outcome.PREEMPTED)
        attempts.append(
            AttemptRecord(
                attempt=len(attempts) + 1,
                index=index,
                host=f"h{host}",
                pool="local" if host % 2 == 0 else "spot",
                lease=host + 1,
                sent_us=sent,
                ended_us=ended,
                outcome=outcome,
                exit=exit_code,
                run_us=run if measured else None,
                cpu_us=run * 9 // 10 if measured else None,
                memory=200_000_000 if measured else None,
                accepted=not bad,
                why="again after a failure" if tries else "first",
                error=text.format(rng.randrange(1000)),
            )
        )
        heappush(free, (ended, host))
    return _record(name, tasks, hosts, slots, attempts, price_micro, cut_at)


def _record(name, tasks, hosts, slots, attempts, price_micro, cut_at):  # type: ignore[no-untyped-def]
    end = max((a.ended_us for a in attempts), default=EPOCH_US)
    now = end if cut_at is None else EPOCH_US + int((end - EPOCH_US) * cut_at)
    seen = [_at(a, now) for a in attempts if a.sent_us <= now]
    succeeded = sum(a.accepted for a in seen)
    ended_tasks = {a.index for a in seen if a.ended_us is not None and not a.accepted}
    failed = len(ended_tasks - {a.index for a in seen if a.accepted or a.ended_us is None})
    if cut_at is not None:
        failed = 0
    return Record(
        bag=1,
        name=name,
        state="done" if cut_at is None else "running",
        count=tasks,
        submitted_us=EPOCH_US - 300_000,
        started_us=EPOCH_US,
        ended_us=end if cut_at is None else None,
        now_us=now,
        done=succeeded + failed,
        succeeded=succeeded,
        failed=failed,
        budget={"USD": 5_000_000} if price_micro else {},
        attempts=seen,
        hosts=[_host(i, slots, now) for i in range(hosts)],
        leases=[_lease(i, now, price_micro) for i in range(hosts)],
        command="python model.py --alpha {alpha} --seed {seed}",
        folder="/home/ada/study",
        needs="1 core, 2 GiB memory",
    )


def _at(attempt: AttemptRecord, now: int) -> AttemptRecord:
    if attempt.ended_us is None or attempt.ended_us <= now:
        return attempt
    return AttemptRecord(
        attempt=attempt.attempt,
        index=attempt.index,
        host=attempt.host,
        pool=attempt.pool,
        lease=attempt.lease,
        sent_us=attempt.sent_us,
        why=attempt.why,
    )


def _host(i: int, slots: int, now: int) -> HostRecord:
    return HostRecord(
        host=f"h{i}",
        name=f"node{i:02d}",
        pool="local" if i % 2 == 0 else "spot",
        kind="Linux x86_64",
        cores=slots * 1000,
        memory=16 * 2**30,
        slots=slots,
        first_seen_us=EPOCH_US + S * i // 3,
        last_seen_us=now,
        booked_failures=i % 3,
    )


def _lease(i: int, now: int, price_micro: int) -> LeaseRecord:
    hours = max(1, -(-(now - EPOCH_US) // (3600 * S)))
    return LeaseRecord(
        lease=i + 1,
        pool="local" if i % 2 == 0 else "spot",
        host=f"h{i}",
        state="gone",
        wanted_us=EPOCH_US - 200_000,
        up_us=EPOCH_US + S * i // 3,
        gone_us=now,
        units=hours,
        billed_micro=price_micro * hours,
        currency="USD" if price_micro else "",
        price=f"{price_micro / 1e6:g} USD per hour" if price_micro else "free",
    )
