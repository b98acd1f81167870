"""What a bag's policy would do now, without doing it: for each host, and for each task that is out.
And why a bag whose policy sends every host away waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tailrace.bag.policy import BagPolicy, Policy
from tailrace.policy import bagpolicy
from tailrace.policy.ads import Scene
from tailrace.policy.parts import conjuncts
from tailrace.policy.policies import Compiled
from tailrace.scheduler import asking, facts, fleet, policies, tails
from tailrace.scheduler.asking import Job
from tailrace.scheduler.decisions import Unmatched
from tailrace.scheduler.rows import ON_THEIR_WAY
from tailrace.scheduler.rules import Rules, Ruling
from tailrace.scheduler.state import ENDLESS, Bag, Host, State


class Verdict(msgspec.Struct, frozen=True):
    host: str
    pool: str
    matches: bool
    why: str  # it does not
    rank: float
    most: int | None  # attempts that it may hold, of all bags; None: as many as fit
    timeout_us: int | None
    holds: int  # attempts, of all bags


def trial(state: State, number: int) -> list[Verdict]:
    """Of all hosts that are there; those that match first, the highest rank first."""
    bag = state.bags[number]
    jobs = asking.jobs_of(bag)
    with without_lots(bag):
        found = [_verdict(state, bag, host, jobs) for host in state.hosts.values() if host.present]
    return sorted(found, key=lambda one: (not one.matches, -one.rank, one.host))


@contextmanager
def without_lots(bag: Bag) -> Iterator[None]:
    """Who only asks draws none of those that the bag will draw."""
    drawn = bag.drawn
    try:
        yield
    finally:
        bag.drawn = drawn


def ruled(state: State, bag: Bag, host: Host, jobs: list[Job]) -> Ruling:
    """Of the first that may go there, of those that wait; else of the first."""
    found = None
    for job in jobs:
        ruling = policies.ruled(state, bag, host, job or ())
        if ruling.matches:
            return ruling
        found = found or ruling
    assert found is not None
    return found


def _verdict(state: State, bag: Bag, host: Host, jobs: list[Job]) -> Verdict:
    ruling = ruled(state, bag, host, jobs)
    why = ruling.why or _elsewhere(bag, host)
    most = min(ruling.most, len(host.live) + policies.room_of_its_own(state, bag, host))
    return Verdict(host.id, host.pool, ruling.matches and not why, why,
                   policies.rank(state, bag, host), most if most < ENDLESS else None,
                   ruling.timeout_us or bag.terms.timeout_us, len(host.live))  # fmt: skip


def _elsewhere(bag: Bag, host: Host) -> str:
    if fleet.slots(bag, host):
        return ""
    if not fleet.admits_pool(bag, host):
        return f"its pool {host.pool} is not among the bag's"
    return "it is too small for a task of the bag"


def trial_twice(state: State, number: int) -> list[tuple[int, int]]:
    """Tasks that would get one more attempt now, and how many each has."""
    bag, scene = state.bags[number], Scene()
    if bag.rules is None or not bag.rules.replicates or not bag.runs or not tails.in_tail(bag):
        return []
    with without_lots(bag):
        return [
            (index, len(attempts))
            for index, attempts in sorted(bag.live.items())
            if facts.has_room(bag, index)
            and policies.may_repeat_now(state, bag, index, scene) is True
        ]


def tell_unmatched(state: State, bag: Bag) -> None:
    """Once, until some host matches."""
    bag.unmatched_alarm = False
    if not bag.unmatched_us or bag.unmatched_us == ENDLESS:
        return
    if state.now < bag.unmatched_us:
        policies.watch_unmatched(state, bag)
        return
    bag.unmatched_us = 0
    if bag.live or not bag.hungry or not bag.may_begin:
        return
    with without_lots(bag):
        why = _why_unmatched(state, bag)
    if why:
        bag.unmatched_us = ENDLESS
        state.out.append(Unmatched(bag.id, why))
    elif _some_are_coming(state, bag):
        policies.matches_nobody(state, bag)


def _some_are_coming(state: State, bag: Bag) -> bool:
    return any(state.leases[lease].state in ON_THEIR_WAY for lease in bag.leases)


def _why_unmatched(state: State, bag: Bag) -> str:
    """Empty if some host matches, or one may come."""
    hosts, jobs = [host for host in state.hosts.values() if host.present], asking.jobs_of(bag)
    if any(ruled(state, bag, host, jobs).matches and not _elsewhere(bag, host) for host in hosts):
        return ""
    refused, pools = refusals(state, bag, hosts), not_asked(state, bag)
    if not refused and _some_are_coming(state, bag):
        return ""  # as many as its policy asks for, perhaps
    if not refused and (not pools or len(pools) < len(asking.lenders(state, bag))):
        return ""
    found = refused | _elsewhere_all(state, bag, hosts)
    told = "; ".join(f"{count} by {clause}" for clause, count in found.items())
    all_of_them = "the only host is" if len(hosts) == 1 else f"all {len(hosts)} hosts are"
    lines = [f"{all_of_them} sent away: {told}" if hosts else "no host is connected"]
    lines += [f"pool {name} is not asked for machines: {why}" for name, why in pools.items()]
    return "; ".join(lines)


def not_asked(state: State, bag: Bag) -> dict[str, str]:
    """Pools that lend machines, and are not asked for any by the bag's policy: by which clause."""
    if bag.rules is None:
        return {}
    policy, clauses = bag.rules.policy, [(text, rules.policy) for text, rules in _clauses(bag)]
    if policy.concurrency is not None:
        bound = Compiled(concurrency=policy.concurrency)
        clauses.append((f"Concurrency = {policy.concurrency.text}", bound))
    if policy.deadline is not None:
        clauses.append((f"Deadline = {policy.deadline.text}", Compiled(deadline=policy.deadline)))
    pools = asking.lenders(state, bag)
    found = {pool.name: asking.why_not(state, bag, pool, clauses) for pool in pools}
    return {name: why for name, why in found.items() if why}


def _elsewhere_all(state: State, bag: Bag, hosts: list[Host]) -> dict[str, int]:
    """Those that its policy would take, but that it cannot use."""
    found: dict[str, int] = {}
    jobs = asking.jobs_of(bag)
    for host in hosts:
        why = _elsewhere(bag, host)
        if why and ruled(state, bag, host, jobs).matches:
            found[why] = found.get(why, 0) + 1
    return found


def refusals(state: State, bag: Bag, hosts: list[Host]) -> dict[str, int]:
    """Which clause of its policy sends how many of these hosts away, the most frequent first."""
    found: dict[str, int] = {}
    parts, jobs = _clauses(bag), asking.jobs_of(bag)
    with without_lots(bag):
        for host in hosts:
            ruling = ruled(state, bag, host, jobs)
            if not ruling.matches:
                clause = _first_that_fails(state, bag, host, parts, ruling.why, jobs[0])
                found[clause] = found.get(clause, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _clauses(bag: Bag) -> list[tuple[str, Rules]]:
    """The parts of JobRequirements that all have to hold, each as a policy of its own: first those
    that nothing changes. Where one of these fails, another that may yet hold is not the reason."""
    policy = bag.terms.policy
    whole = None if policy is None else bagpolicy.whole(policy).job_requirements
    if policy is None or whole is None:
        return []
    texts = conjuncts(whole)
    found = [(text, Rules(BagPolicy(Policy(job_requirements=text), params=policy.params)))
             for text in texts]  # fmt: skip
    return sorted(found, key=lambda clause: clause[1].changes)


def _first_that_fails(
    state: State, bag: Bag, host: Host, parts: list[tuple[str, Rules]], said: str, job: Job
) -> str:
    looks = policies.as_job(bag.rules, job) if bag.rules is not None and job else None
    for text, rules in parts:
        ruling = policies.ruled_by(state, bag, host, rules, looks)
        if not ruling.matches:
            unknown = "" if ruling.why.endswith("is false") else f" ({ruling.why})"
            return f"{text}{unknown}"
    return said
