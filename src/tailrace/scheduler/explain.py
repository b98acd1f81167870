"""Why things are as they are, in sentences: of a bag, a task or a host."""

from __future__ import annotations

from tailrace.bag import strategies
from tailrace.bag.needs import describe, describe_one, lacking, less
from tailrace.errors import BadInput
from tailrace.knowledge.inquiry import said
from tailrace.quantities import show_money
from tailrace.scheduler import (
    asking,
    brakes,
    doubts,
    fleet,
    lifetimes,
    money,
    others,
    policies,
    progress,
    verdicts,
)
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import BagPhase
from tailrace.scheduler.state import Bag, Host, State, Trouble

MOST_HOSTS = 20
FULL = "full"
REMEDY = {
    BagPhase.PAUSED: "`tailrace resume` lets it go on",
    BagPhase.BRAKED: "mend what is wrong, then `tailrace resume`",
    BagPhase.STOPPED: "run it anew with a larger budget, or `tailrace resume` it at a lower price",
    BagPhase.CANCELLED: "`tailrace resume {bag}` takes it up again",
}


def explain(state: State, subject: str, now: int) -> list[str]:
    """Subjects: `bag 3`, `task 3/17`, `host NAME`."""
    kind, _, name = subject.partition(" ")
    if kind == "host":
        return explain_host(state, _host(state, name), now)
    if kind == "bag":
        return explain_bag(state, _bag(state, name), now)
    if kind != "task":
        raise BadInput(f"{subject!r} is no subject", remedy="ask for bag 3, task 3/17 or host NAME")
    number, _, index = name.partition("/")
    bag = _bag(state, number)
    if not index.isdigit() or int(index) >= bag.terms.count:
        raise BadInput(f"bag {bag.id} has no task {index}: they are 0 to {bag.terms.count - 1}")
    return explain_task(state, bag, int(index), now)


def _bag(state: State, number: str) -> Bag:
    if not number.isdigit() or int(number) not in state.bags:
        raise BadInput(f"there is no bag {number}", remedy="`tailrace status` lists the bags")
    return state.bags[int(number)]


def _host(state: State, name: str) -> Host:
    if name not in state.hosts:
        raise BadInput(f"there is no host {name}", remedy="`tailrace hosts` lists the hosts")
    return state.hosts[name]


def explain_bag(state: State, bag: Bag, now: int) -> list[str]:
    lines = [f"The bag is {bag.phase}" + (f": {bag.why}." if bag.why else ".")]
    if bag.phase in REMEDY:
        lines.append(f"Nothing more of it is sent; {REMEDY[bag.phase].format(bag=bag.id)}.")
    live = sum(len(attempts) for attempts in bag.live.values())
    lines.append(
        f"{bag.done.count} of {bag.terms.count} tasks have a result ({bag.failed.count} failed), "
        f"{live} attempts are out, {len(bag.requeue.waiting)} tasks wait for another attempt, "
        f"{bag.terms.count - bag.fresh.sent} were never sent."
    )
    if bag.added:
        lines.append(_added(bag))
    if bag.replication is not None and bag.runs:
        lines.append(_replicating(bag))
    if bag.hungry:
        lines += _why_hungry(state, bag, now)
    if bag.like_count > 1:
        lines.append(f"The last {bag.like_count} failures were alike: {bag.like_sign}.")
    lines += [_spending(state, bag, currency) for currency in bag.terms.budget]
    if bag.short and bag.runs:
        lines.append("That pays for no other result before one that is out has come.")
    return lines + _idle_leases(state, bag)


def _added(bag: Bag) -> str:
    """In which order they come beside the others."""
    first = bag.terms.count - sum(bag.added)
    how = "in the order of the bag among themselves"
    if bag.terms.order_seed is not None:
        how = "shuffled among themselves"
    return f"Tasks from {first} on were added later: they are sent after the others, {how}."


def _replicating(bag: Bag) -> str:
    several = sum(len(attempts) > 1 for attempts in bag.live.values())
    if bag.plan is not None:
        return f"Its tail goes by plan {bag.plan.number}: {said(bag.plan)}; {_tasks(several)} now."
    return f"Replication by {strategies.describe(bag.terms.replication)}: {_tasks(several)} now."


def _tasks(several: int) -> str:
    many = "1 task has" if several == 1 else f"{several} tasks have"
    return f"{many} more than one attempt out"


def _spending(state: State, bag: Bag, currency: str) -> str:
    spent = show_money(currency, money.spent(state, bag, currency))
    bound = show_money(currency, money.committed(state, bag, currency))
    budget = show_money(currency, bag.terms.budget[currency])
    return f"Of its budget of {budget}, {spent} is spent and {bound} more is bound in leases."


def _idle_leases(state: State, bag: Bag) -> list[str]:
    rows = [state.leases[lease] for lease in bag.leases]
    paid = [row for row in rows if row.billing.by_lease and row.state is LeaseState.UP]
    idle = sum(not fleet.busy(state, row) for row in paid)
    lines = []
    if idle and bag.runs:
        are = "1 of its machines is" if idle == 1 else f"{idle} of its machines are"
        lines.append(f"{are} idle, and given back before another unit is paid unless work comes.")
    if (back := bag.given_back) > 0:
        were = "1 idle machine was" if back == 1 else f"{back} idle machines were"
        lines.append(f"{were} given back at the end of a paid unit.")
    return lines


def _why_hungry(state: State, bag: Bag, now: int) -> list[str]:
    with verdicts.without_lots(bag):
        return _why_it_waits(state, bag, now)


def _why_it_waits(state: State, bag: Bag, now: int) -> list[str]:
    if not bag.may_begin:
        return [f"{_under_way(bag)}."]
    present = [host for host in state.hosts.values() if host.present]
    refused = verdicts.refusals(state, bag, present) if bag.rules is not None else {}
    if refused:
        lines = _refused(refused, present) + _by_host(state, bag, present, now)
        return lines + _not_asked(state, bag, now)
    if not present:
        waits = ["Its tasks wait for a host: none is connected.", *_not_asked(state, bag, now)]
        return waits + _awaited(state, bag, now)
    needs = f"Its tasks need {describe(bag.terms.needs)} each; {bag.slots} fit at once."
    lines = _by_host(state, bag, present, now)
    return [needs, *lines] if bag.hosts else [needs, *lines, *_awaited(state, bag, now)]


def _refused(refused: dict[str, int], hosts: list[Host]) -> list[str]:
    count = sum(refused.values())
    lines = [f"Its policy sends {count} of {len(hosts)} hosts away:"]
    return lines + [f"  {many} by {clause}" for clause, many in refused.items()]


def _not_asked(state: State, bag: Bag, now: int) -> list[str]:
    """Pools that could lend machines, if it were not for its policy."""
    pools = verdicts.not_asked(state, bag)
    lines = [f"Pool {name} is not asked for machines: {why}." for name, why in pools.items()]
    for name, (_, until_us) in bag.shunned.items():
        if until_us > now:
            wait = (until_us - now) / 1e6
            lines.append(f"Pool {name} is asked again in {wait:.0f} s: what came was sent away.")
    return lines


def _by_host(state: State, bag: Bag, hosts: list[Host], now: int) -> list[str]:
    reasons = [(host, _why_not(state, bag, host, now)) for host in hosts]
    if len(hosts) > 1 and all(why.startswith(FULL) for _, why in reasons):
        return [f"All {len(hosts)} hosts are full."]
    more = len(hosts) - MOST_HOSTS
    rest = [f"And {more} hosts more."] if more > 0 else []
    return [f"{host.id}: {why}." for host, why in reasons[:MOST_HOSTS]] + rest


def _under_way(bag: Bag) -> str:
    are = "1 of its tasks is" if bag.out == 1 else f"{bag.out} of its tasks are"
    return f"{are} under way, and max_running says no more"


def _awaited(state: State, bag: Bag, now: int) -> list[str]:
    """Machines that are on their way, or not asked for yet."""
    lines = []
    if bag.leases:
        several = len(bag.leases) > 1
        are = "are not gone; their workers" if several else "is not gone; its worker"
        lines.append(f"{len(bag.leases)} of its leases {are} may yet call.")
        rows = [state.leases[lease] for lease in bag.leases]
        stuck = [row for row in rows if row.state is LeaseState.WANTED and row.why]
        lines += [f"Lease {row.lease} of pool {row.pool} does not start: {row.why}."
                  for row in stuck[:MOST_HOSTS]]  # fmt: skip
    for pool, after in state.asked_after_us.items():
        if after > now and (not bag.terms.pools or pool in bag.terms.pools):
            wait = (after - now) / 1e6
            told = f"Pool {pool} is asked again in {wait:.1f} s: its workers died at start"
            lines.append(f"{told}{_last_words(state, pool)}.")
    return lines


def _last_words(state: State, pool: str) -> str:
    """Why the lease went that was lost last."""
    rows = [state.leases[lease] for lease in reversed(state.gone)]
    return next((f" ({row.why})" for row in rows if row.pool == pool and row.why), "")


def _why_not(state: State, bag: Bag, host: Host, now: int) -> str:
    if host.payer not in (None, bag.id):
        return f"what it does is paid by bag {host.payer}"
    if not fleet.admits_pool(bag, host):
        return f"its pool {host.pool} is not among the bag's ({', '.join(bag.terms.pools)})"
    if host.excluded:
        return f"excluded for {_left(host, now)} s more"
    if host.retired:
        return "its lease is over"
    short = lacking(bag.terms.needs, host.capacity)
    if short:
        return short
    ruled = verdicts.ruled(state, bag, host, asking.jobs_of(bag))
    if not ruled.matches:
        return ruled.why
    if len(host.live) >= ruled.most:
        return f"holds {_attempts(len(host.live))}, and Concurrency says no more"
    if policies.room_of_its_own(state, bag, host) <= 0:
        return f"holds {_attempts(len(host.live))}, and tasks_per_host says no more"
    if bag.trials.get(host.kind) is not None:
        return f"the first task on hosts of kind {host.kind} is on trial"
    if host.probing and host.probe in host.live:
        return "it was excluded, and is being probed with one task"
    if doubts.held_back(state, bag, host):
        return _in_doubt(bag, host)
    if not lifetimes.fits(state, bag, host):
        return lifetimes.why_not(state, bag, host)
    if host.live:
        return _no_room(state, bag, host) or f"holds {_attempts(len(host.live))}"
    if host.offer is None:
        return "may take work with its next call"
    return "has room, but those that wait may not go there"


def _free(state: State, host: Host) -> dict[str, int]:
    has = host.capacity if host.offer is None else host.offer
    left = less(has, fleet.used(state, host))
    return {name: max(amount, 0) for name, amount in left.items()}


def _no_room(state: State, bag: Bag, host: Host) -> str:
    """For a task of the bag beside all that the host holds; empty when there is some."""
    short = lacking(bag.terms.needs, _free(state, host))
    return _full(state, host) or (short and f"{short} beside {_attempts(len(host.live))}")


def _full(state: State, host: Host) -> str:
    """Every task needs some of a core."""
    if not host.live or _free(state, host).get("cores", 0):
        return ""
    return f"{FULL}: it holds {_attempts(len(host.live))}, {describe_one('cores', 0)} free"


def _in_doubt(bag: Bag, host: Host) -> str:
    count = len(bag.doubts[host.id].tasks)
    return f"{count} tasks failed on it; no more until another host shows whose fault that was"


def _left(host: Host, now: int) -> str:
    return f"{max(host.excluded_until_us - now, 0) / 1e6:.0f}"


def _attempts(count: int) -> str:
    return f"{count} attempt" if count == 1 else f"{count} attempts"


def explain_task(state: State, bag: Bag, index: int, now: int) -> list[str]:
    lines = [_out(state, bag, attempt, now) for attempt in bag.live.get(index, ())]
    trouble = bag.troubles.get(index)
    if index in bag.done:
        failed = bag.failed.size and index in bag.failed
        lines.append("The task has failed for good." if failed else "The task has its result.")
    elif index in bag.requeue.waiting:
        why = trouble.why if trouble else ""
        lines.append(f"The task waits for another attempt{_where(state, bag, index)}: {why}.")
        lines += _why_hungry(state, bag, now) if bag.runs else []
    elif bag.is_last(index) and index not in bag.live and bag.fresh.arrived <= index:
        left = bag.terms.count - 1 - bag.done.count
        lines.append(f"The task is sent when all others have their result: {left} have none yet.")
    elif index not in bag.live:
        lines.append(f"The task was never sent; {_unsent(bag.unsent)}.")
        lines += _why_hungry(state, bag, now) if bag.runs else []
    if index not in bag.done and index not in bag.live and not bag.runs:
        lines.append(f"The bag is {bag.phase}{f': {bag.why}' if bag.why else ''}.")
    return lines + (_history(trouble) if trouble else [])


def _unsent(count: int) -> str:
    return "1 task of the bag waits" if count == 1 else f"{count} tasks of the bag wait"


def _where(state: State, bag: Bag, index: int) -> str:
    group = bag.requeue.waiting[index]
    words = f", away from {', '.join(group.avoid)}" if group.avoid else ""
    if group.reliable and others.has_reliable_pool(state, bag):
        words += ", on a host of a reliable pool"
    return words


def _history(trouble: Trouble) -> list[str]:
    counts = ", ".join(f"{times} {name}" for name, times in trouble.counts.items())
    lines = [f"It was sent {trouble.sent} times" + (f" ({counts})." if counts else ".")]
    if trouble.unsettled:
        hosts = ", ".join(trouble.failed_on())
        lines.append(f"It failed on {hosts}; another host will show whose fault that was.")
    if trouble.needs:
        lines.append(f"It now asks for {describe(trouble.needs)}.")
    return lines


def _out(state: State, bag: Bag, attempt: Attempt, now: int) -> str:
    since = (now - attempt.sent_us) / 1e6
    doing = f"being ended ({attempt.dropping})" if attempt.dropping else "out"
    late = ", past its time-out" if attempt.expired else ""
    line = f"An attempt is {doing} on {attempt.host} since {since:.1f} s{late}"
    line += progress.describe(attempt, now)
    if state.hosts[attempt.host].present:
        return f"{line}."
    wait = (
        "" if bag.repeats(attempt.index) else ", and no second one is sent while it may still run"
    )
    return f"{line}; the host is not connected{wait}."


def _why(host: Host) -> str:
    return f"{host.why}: {host.told}" if host.told else host.why


def explain_host(state: State, host: Host, now: int) -> list[str]:
    there = "connected" if host.present else "not connected"
    lines = [
        f"Host {host.id} of pool {host.pool} is {there}; it offers {describe(host.capacity)}.",
        f"It holds {_attempts(len(host.live))}; {_booked(host.booked)} booked on it.",
    ]
    if host.ends_us is not None:
        lines.append(f"Its machine ends in {max(host.ends_us - now, 0) / 1e6:.0f} s.")
    if host.excluded:
        left, times = _left(host, now), host.exclusions
        lines.append(f"It is excluded for {left} s more (time {times}), then probed: {_why(host)}.")
    elif host.retired:
        lines.append("Its lease is over: it gets no more work, and is told to end.")
    elif host.probing:
        lines.append(f"It was excluded ({_why(host)}) and is being probed with one task at a time.")
    elif full := _full(state, host):
        lines.append(f"It is {full}.")
    elif host.offer is not None:
        lines.append(f"It waits for work: {_idle(state, host)}.")
    return lines


def _booked(count: int) -> str:
    return "1 failure is" if count == 1 else f"{count} failures are"


def _idle(state: State, host: Host) -> str:
    bags = [bag for bag in state.open.values() if bag.hungry]
    if not bags:
        return "no bag has a task to send"
    reasons = [f"bag {bag.id}: {_why_not_here(state, bag, host)}" for bag in bags[:MOST_HOSTS]]
    return "; ".join(reasons)


def _why_not_here(state: State, bag: Bag, host: Host) -> str:
    if host.payer not in (None, bag.id):
        return f"not paid by it, but by bag {host.payer}"
    if not fleet.admits_pool(bag, host):
        return f"not in pool {host.pool}"
    if not bag.may_begin:
        return _under_way(bag)
    if bag.trials.get(host.kind, brakes.UNTRIED) not in (None, brakes.UNTRIED):
        return f"its trial task on hosts of kind {host.kind} is out"
    if doubts.held_back(state, bag, host):
        return _in_doubt(bag, host)
    if not lifetimes.fits(state, bag, host):
        return lifetimes.why_not(state, bag, host)
    if short := lacking(bag.terms.needs, host.capacity):
        return short
    return _no_room(state, bag, host) or "its waiting tasks avoid this host"
