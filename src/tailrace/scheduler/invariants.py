"""What must hold after every event. Tests switch it on; it costs as much as there is state."""

from __future__ import annotations

from tailrace.scheduler import fleet, money
from tailrace.scheduler.attempt import Attempt
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.fresh import Grouped
from tailrace.scheduler.kin import kin_of
from tailrace.scheduler.lines import Lines
from tailrace.scheduler.rows import BagPhase
from tailrace.scheduler.state import ENDED, Bag, Host, State, cores_of


class Broken(AssertionError):
    """The scheduler's state contradicts itself."""


def check(state: State) -> None:
    for bag in state.bags.values():
        _check_tasks(bag)
        _check_indexes(state, bag)
        _check_doubts(bag)
        _check_money(state, bag)
    for host in state.hosts.values():
        _check_host(state, host)
    for number, attempt in state.attempts.items():
        _hold(attempt in state.bags[attempt.bag].live[attempt.index], f"attempt {number} unlisted")
        _check_progress(state, attempt)
    lively = sum(len(host.live) for host in state.hosts.values())
    _hold(lively == len(state.attempts), f"{lively} attempts on hosts, {len(state.attempts)} live")
    _check_leases(state)
    _check_held(state)
    for decision in state.out:
        if isinstance(decision, Assign):
            _check_sent(state.bags[decision.bag], decision.index)


def _check_sent(bag: Bag, index: int) -> None:
    """Only what was just sent: two may be out that a strategy or policy wanted which is gone."""
    fresh = [a for a in bag.live.get(index, ()) if a.dropping is None and not a.expired]
    _hold(
        len(fresh) <= 1 or bag.replication is not None or bag.rules is not None,
        f"bag {bag.id}: task {index} was sent twice",
    )


def _check_progress(state: State, attempt: Attempt) -> None:
    number, reached = attempt.attempt, attempt.reached
    tells = number in state.bags[attempt.bag].telling
    _hold(tells == (reached is not None), f"attempt {number}: telling adrift")
    if reached is not None:
        _hold(0 <= reached.done <= 1, f"attempt {number} is {reached.done} done")
        _hold(reached.at_us <= state.now, f"attempt {number} tells of times to come")


def _check_tasks(bag: Bag) -> None:
    undone = [index for index in bag.live if index not in bag.done]
    waiting = [index for index in bag.troubles if index not in bag.live]
    telling = [attempt.index for attempt in bag.telling.values() if attempt.index not in bag.live]
    _hold(not telling, f"bag {bag.id}: tasks {telling} tell, but are not out")
    known = bag.done.count + len(undone) + len(waiting)
    sent = bag.fresh.sent
    _hold(known == sent, f"bag {bag.id}: {sent} sent, but {known} accounted for")
    for index in bag.requeue.waiting:
        _hold(index in bag.troubles, f"bag {bag.id}: task {index} waits for no reason")
        _hold(index not in bag.done, f"bag {bag.id}: task {index} waits, but is done")
    for index in waiting:
        waits = bag.replication is not None and bag.replication.waits(index)
        _hold(waits or index in bag.requeue.waiting, f"bag {bag.id}: task {index} is forgotten")
    _check_groups(bag)
    for index, attempts in bag.live.items():
        _check_live(bag, index, attempts)
    out = sum(not one.expired for attempts in bag.live.values() for one in attempts)
    _hold(out == bag.out, f"bag {bag.id}: {bag.out} attempts counted, {out} are out")
    most = bag.terms.most_running
    under_way = sum(any(not one.expired for one in bag.live[index]) for index in undone)
    _hold(most is None or under_way <= most, f"bag {bag.id}: {under_way} tasks of {most} at most")
    _hold(bag.failed.count <= bag.done.count, f"bag {bag.id}: more failed than done")
    finished = bag.phase is BagPhase.FINISHED
    all_done = bag.done.count == bag.terms.count
    _hold(all_done or not finished, f"bag {bag.id}: finished, but not done")
    _hold(finished or not all_done or bag.phase in ENDED, f"bag {bag.id}: done, but not finished")


def _check_groups(bag: Bag) -> None:
    """Of those never sent, as many are left in each group as would be counted anew."""
    if isinstance(bag.fresh, Grouped) and bag.columns is not None:
        groups, left = bag.columns.groups, [0] * len(bag.fresh.left_in)
        for index in range(bag.terms.count):
            left[groups[index]] += not bag.is_known(index)
        _hold(left == bag.fresh.left_in, f"bag {bag.id}: {bag.fresh.left_in} left, {left} are")


def _check_live(bag: Bag, index: int, attempts: tuple[Attempt, ...]) -> None:
    wanted = [a for a in attempts if a.dropping is None]
    if index in bag.done and not bag.keeps_losers:
        _hold(not wanted, f"bag {bag.id}: task {index} is done, yet an attempt is wanted")
    if not bag.repeats(index):
        _hold(len(attempts) <= 1, f"bag {bag.id}: two attempts of task {index} at once")
    trouble = bag.troubles.get(index)
    if trouble is not None:
        expired = [a.attempt for a in attempts if a.expired]
        _hold(sorted(trouble.expired) == sorted(expired), f"task {index}: {expired} not booked")


def _check_indexes(state: State, bag: Bag) -> None:
    """What is kept up to date equals what would be counted anew."""
    _hold((bag.id in state.open) == (bag.phase not in ENDED), f"bag {bag.id}: open adrift")
    _hold(bag.queued or not bag.hungry, f"bag {bag.id}: hungry, but not queued")
    for pool, numbers in state.hungry.items():
        due = bag.queued and (not bag.terms.pools or pool in bag.terms.pools)
        _hold((bag.id in numbers) is due, f"bag {bag.id}: queue of pool {pool} adrift")
        _hold(
            not due or _stands(state.lines[pool], bag) == 1,
            f"bag {bag.id}: line of pool {pool} adrift",
        )
    stands = bag.id in state.wanting
    adrift = bag.wanting is not stands or (stands and bag.id not in state.open)
    _hold(not adrift, f"bag {bag.id}: wanting adrift")
    if bag.id in state.open:
        strategy = bag.replication
        _hold(stands or strategy is None or strategy.idle(), f"bag {bag.id}: wants unasked")
        counts = [fleet.slots(bag, host) for host in state.able.values()]
        _hold(bag.slots == sum(counts), f"bag {bag.id}: {bag.slots} slots kept, {sum(counts)} are")
        _hold(not bag.hungry or _is_among_its_kin(state, bag), f"bag {bag.id}: kin adrift")
        hosts = sum(count > 0 for count in counts)
        _hold(bag.hosts == hosts, f"bag {bag.id}: {bag.hosts} hosts kept, {hosts} are")


def _is_among_its_kin(state: State, bag: Bag) -> bool:
    """Unless that is due to be looked at."""
    if bag.rules is None or state.resized:
        return True
    kin = bag.rules.kin
    lines = [one for one in state.lines.values() if bag.id in one.standing]
    places = [one for one in lines if kin is None or one.place(bag) == kin]
    return kin == kin_of(state, bag) and len(places) == len(lines)


def _stands(lines: Lines, bag: Bag) -> int:
    """How often it stands in line."""
    entries = [one for owners in lines.by_rank.values() for line in owners.values() for one in line]
    entry = lines.standing.get(bag.id)
    return sum(1 for one in entries if one[1:] == (bag.id, entry)) + (bag.id in lines.judged)


def _check_doubts(bag: Bag) -> None:
    for host, doubt in bag.doubts.items():
        _hold(bool(doubt.tasks), f"bag {bag.id}: host {host} is in doubt for nothing")
        for index in doubt.tasks:
            trouble = bag.troubles.get(index)
            open_ = trouble is not None and host in trouble.failed_on()
            _hold(open_, f"bag {bag.id}: the failure of task {index} on {host} is settled")
            asked = index in bag.live or index in bag.requeue.waiting
            asked = asked or (bag.replication is not None and bag.replication.waits(index))
            _hold(asked, f"task {index}: nobody asked")


def _check_money(state: State, bag: Bag) -> None:
    owed = sum(one.most for attempts in bag.live.values() for one in attempts)
    _hold(owed == sum(bag.owed.values()), f"bag {bag.id}: {bag.owed} owed, {owed} is")
    for currency, budget in bag.terms.budget.items():
        bound = money.spent(state, bag, currency) + money.committed(state, bag, currency)
        _hold(bound <= budget, f"bag {bag.id}: {bound} {currency} bound, the budget is {budget}")


def _check_host(state: State, host: Host) -> None:
    plain = dict.fromkeys(host.plain, 0)
    for attempt in host.live.values():
        if attempt.needs is None:
            plain[attempt.bag] = plain.get(attempt.bag, 0) + 1
    _hold(plain == host.plain, f"host {host.id}: {host.plain} counted, {plain} are")
    grown = [number for number, attempt in host.live.items() if attempt.needs is not None]
    _hold(grown == list(host.grown), f"host {host.id}: grown adrift")
    _hold((host.offer is not None) == (host.id in state.offers), f"host {host.id}: offer adrift")
    here = [pool for pool, offers in state.offers_in.items() if host.id in offers]
    _hold(here == [host.pool] * (host.id in state.offers), f"host {host.id}: offers in {here}")
    able = host.present and not host.excluded and not host.retired
    _hold(able == host.able == (host.id in state.able), f"host {host.id}: able adrift")
    _hold(host.excluded == (host.id in state.excluded), f"host {host.id}: excluded adrift")
    _hold(host.present or host.offer is None, f"host {host.id}: absent, but offers")


def _check_held(state: State) -> None:
    """Cores that bags and owners hold are those of what runs."""
    found = dict.fromkeys(state.bags, 0)
    for host in state.hosts.values():
        for number, busy in host.busy.items():
            _hold(0 < busy <= host.plain.get(number, 0), f"host {host.id}: {host.busy} busy")
            found[number] += busy * state.bags[number].cores
        for attempt in host.grown.values():
            found[attempt.bag] += cores_of(attempt.needs or {})
    by_owner = dict.fromkeys(state.accounts, 0)
    for number, held in found.items():
        bag = state.bags[number]
        _hold(bag.held == held, f"bag {number}: {bag.held} cores held, {held} are")
        by_owner[bag.account.owner] = by_owner.get(bag.account.owner, 0) + held
    kept = {owner: account.held for owner, account in state.accounts.items()}
    _hold(kept == by_owner, f"{kept} cores held by owners, {by_owner} are")


def _check_leases(state: State) -> None:
    lent: dict[str, int] = {}
    for row in state.leases.values():
        if row.state is not LeaseState.GONE:
            lent[row.pool] = lent.get(row.pool, 0) + 1
            _hold(row.lease in state.bags[row.bag].leases, f"lease {row.lease}: of no bag")
    there = {pool: count for pool, count in state.lent.items() if count}
    _hold(lent == there, f"{there} leases counted, {lent} are")
    owned = sum(len(bag.leases) for bag in state.bags.values())
    _hold(owned == sum(lent.values()), f"{owned} leases owned, {lent} are")


def _hold(true: bool, text: str) -> None:
    if not true:
        raise Broken(text)
