"""May a pool be asked for machines? The bag's GridPolicy says so; and machines of which it is known
that no task could go to them would be paid in vain."""

from __future__ import annotations

from tailrace.policy.ads import Scene
from tailrace.policy.attributes import Plain
from tailrace.policy.expression import Expression, Fault, No, Value
from tailrace.policy.policies import Compiled
from tailrace.pools.terms import Pool
from tailrace.scheduler import facts, looking, policies, restless
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.rules import POOL
from tailrace.scheduler.state import ENDLESS, Bag, Host, State

NEVER = (Fault.RANGE, Fault.KIND)  # another fault may come of what is not known yet

Job = tuple[Plain, ...] | None  # what a task looks like to the policy; None: it was never sent


def asks(state: State, bag: Bag, pool: Pool) -> bool:
    """For what it has to send, or wants to send once more."""
    rules = bag.rules
    if rules is None:
        return True
    may = would_ask(state, bag, pool)
    if not may:
        policies.matches_nobody(state, bag)
    if not may and rules.changes:
        looking.sent_away(state, bag, rules.sees)
    return may


def asks_again(state: State, bag: Bag, pool: Pool) -> bool:
    """For one more, when it has just asked for one: that may be what the policy looks at."""
    return bag.rules is None or not bag.rules.changes or asks(state, bag, pool)


def would_ask(state: State, bag: Bag, pool: Pool, but: int = 0) -> bool:
    """If so many of the pool's machines were not there."""
    return _grid_policy(state, bag, pool, but) and any(
        could(state, bag, pool, job) for job in jobs_of(bag)
    )


def pools_of(state: State, bag: Bag) -> list[Pool]:
    """In which it may have machines, whatever its policy says of them now."""
    names = bag.terms.pools or tuple(state.pools)
    return [state.pools[name] for name in names if name in state.pools]


def lenders(state: State, bag: Bag) -> list[Pool]:
    """The bag's pools that lend machines."""
    return [pool for pool in pools_of(state, bag) if pool.max > 0]


def why_not(state: State, bag: Bag, pool: Pool, clauses: list[tuple[str, Compiled]]) -> str:
    """Which of the clauses keeps the bag from asking the pool; empty if it may."""
    asked = None if bag.rules is None else bag.rules.policy.grid_policy
    if asked is not None and not _grid_policy(state, bag, pool):
        return f"{asked.name} = {asked.text}"
    jobs = jobs_of(bag)
    if any(could(state, bag, pool, job) for job in jobs):
        return ""
    failing = (text for text, one in clauses if not _could(state, bag, pool, jobs[0], one))
    return next(failing, "its policy")


def useful(state: State, bag: Bag, rows: list[LeaseRow]) -> list[LeaseRow]:
    """Of its leases: without those that are idle, and to whose hosts none of its tasks may go."""
    jobs = jobs_of(bag)
    return [row for row in rows if not _is_useless(state, bag, row, jobs)]


def takes(state: State, bag: Bag, host: Host) -> bool:
    """May any of its tasks go to this host? If not, it may be looked at again later."""
    may = any(policies.would(state, bag, host, job or ()) for job in jobs_of(bag))
    if not may:
        policies.refused(state, bag, host)
    return may


def _is_useless(state: State, bag: Bag, row: LeaseRow, jobs: list[Job]) -> bool:
    """One that has not called yet may turn out well."""
    hosts = state.on_lease.get(row.lease, {}).values()
    if not hosts or any(host.live for host in hosts):
        return False
    return not any(_may_have(state, bag, host, job) for host in hosts for job in jobs)


def _may_have(state: State, bag: Bag, host: Host, job: Job) -> bool:
    """By whatever lot: it stays open, and the next may be in its favour."""
    pool = state.pools.get(host.pool)
    if bag.rules is None or not bag.rules.draws or pool is None:
        return policies.would(state, bag, host, job or ())
    return not policies.host_refuses(state, bag, host) and could(state, bag, pool, job, host)


def jobs_of(bag: Bag) -> list[Job]:
    """In how many ways its tasks look. Before one has been sent again there is one."""
    if bag.rules is None or not bag.rules.job_keys:
        return [None]
    jobs: dict[Job, None] = dict.fromkeys(group.job for group in bag.requeue.groups)
    if bag.replication is not None:
        jobs.update(dict.fromkeys(group.job for group in bag.replication.groups(bag)))
    new = policies.new_looks(bag)
    jobs.update(dict.fromkeys(new))
    if (bag.fresh.left and not new) or not jobs:
        jobs[None] = None
    return list(jobs)


def could_begin(state: State, bag: Bag, pool: Pool) -> int:
    """How many of those never sent could go to a machine of this pool."""
    new = policies.new_looks(bag)
    if new:
        return sum(count for job, count in new.items() if could(state, bag, pool, job))
    return bag.fresh.left if could(state, bag, pool, None) else 0


def share(state: State, bag: Bag, one: Pool, other: Pool) -> bool:
    """Could machines of the other pool do something that those of the first could?"""
    if bag.rules is None or not bag.rules.job_keys:
        return True
    return any(
        could(state, bag, one, job) and could(state, bag, other, job) for job in jobs_of(bag)
    )


def could(state: State, bag: Bag, pool: Pool, job: Job, host: Host | None = None) -> bool:
    """Could a task that looks so go to a machine of this pool? By what is known of one before it
    has called, or of this one; what is not known may be in its favour. Nor is its lot drawn yet."""
    rules = bag.rules
    return rules is None or _could(state, bag, pool, job, rules.policy, host)


def _could(
    state: State, bag: Bag, pool: Pool, job: Job, policy: Compiled, host: Host | None = None
) -> bool:
    requires, most, deadline = policy.job_requirements, policy.concurrency, policy.deadline
    if requires is not None and _found(state, bag, pool, job, requires, host) is False:
        return False
    if most is not None and _most(state, bag, pool, job, most, host) < 1:
        return False
    if deadline is None:
        return True
    value = _found(state, bag, pool, job, deadline, host)
    return not isinstance(value, No) or value.fault not in NEVER


def most(state: State, bag: Bag, pool: Pool) -> int:
    """Tasks that a machine of this pool may hold, as far as that is known. Where those that were
    never sent may not go, others will: whether any does is for `could` to say."""
    if bag.rules is None:
        return ENDLESS
    asked, own = bag.rules.policy.concurrency, bag.rules.of_its_own or ENDLESS
    return own if asked is None else min(_most(state, bag, pool, None, asked) or ENDLESS, own)


def _most(
    state: State, bag: Bag, pool: Pool, job: Job, asked: Expression, host: Host | None = None
) -> int:
    value = _found(state, bag, pool, job, asked, host)
    if isinstance(value, No):
        return 0 if value.fault in NEVER else ENDLESS
    return int(value)


def _found(
    state: State, bag: Bag, pool: Pool, job: Job, asked: Expression, host: Host | None
) -> Value | No:
    if asked.value is not None:
        return asked.value
    assert bag.rules is not None
    scene, (of_host, of_bag, of_job, of_pool) = Scene(), asked.keys
    of_bag = tuple(key for key in of_bag if key != restless.LOTTERY)
    if host is None:
        scene.show(facts.of_machine(state, bag, pool, of_host), of_host)
    else:
        scene.show(facts.of_host(state, bag, host, of_host), of_host)
    scene.show(facts.of_bag(state, bag, of_bag), of_bag)
    looks = facts.of_new_task(bag, of_job) if job is None else policies.as_job(bag.rules, job)
    scene.show({key: looks[key] for key in of_job}, of_job)
    scene.show(facts.of_pool(state, pool, of_pool), of_pool)
    return asked.found(scene)


def _grid_policy(state: State, bag: Bag, pool: Pool, but: int = 0) -> bool:
    asked = None if bag.rules is None else bag.rules.policy.grid_policy
    if asked is None:
        return True
    scene = Scene()
    policies.show_bag(state, bag, scene, asked)
    scene.show(facts.of_pool(state, pool, asked.keys[POOL], but), asked.keys[POOL])
    return asked.found(scene) is True
