"""What the policies of bags and of machines say, asked when it is needed.

All tasks of a bag that were never sent look the same to its policy: it is evaluated once for a bag
and a host; where it looks at parameters, once for each group of tasks that have the same (see
`fresh`). Those that wait for another attempt are kept in groups of the same looks (see `requeue`).
What depends on nothing that changes is evaluated once and kept.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from tailrace.policy.ads import Scene
from tailrace.policy.attributes import Plain
from tailrace.policy.expression import Expression, No
from tailrace.scheduler import facts, looking, restless
from tailrace.scheduler.fresh import Grouped
from tailrace.scheduler.requeue import Group
from tailrace.scheduler.rules import BAG, JOB, HostRules, Keys, Rules, Ruling, as_rank
from tailrace.scheduler.state import ENDLESS, Bag, Host, State
from tailrace.scheduler.timers import Alarm

SECOND_US = 1_000_000
A_MINUTE_US = 60 * SECOND_US  # a bag that no host matches says so then
MOST_KEPT = 10_000  # rulings of a bag: hosts come and go
MOST_TIMEOUT_US = 1 << 53


def equip(bag: Bag) -> None:
    policy = bag.terms.policy
    bag.rules = None if policy is None else Rules(policy)
    bag.regroup(by_looks=bag.rules is not None and bag.rules.by_group)


def changed(state: State, bag: Bag) -> None:
    """Its owner has set another one: what waits is looked at anew."""
    equip(bag)
    bag.refused, bag.unmatched_us = False, 0
    bag.shunned.clear()
    bag.requeue.regroup(lambda index, group: group._replace(job=looks(state, bag, index)))
    state.fleet_due[bag.id] = None
    state.supply = True


def host_changed(state: State, host: Host) -> None:
    if (host.rules is None) is not (host.says is None) or (
        host.rules is not None and host.rules.says != host.says
    ):
        host.rules = None if host.says is None else HostRules(host.says)
    for bag in state.open.values():
        if bag.rules is not None:
            bag.rules.forget(host.id)


def ruling(state: State, bag: Bag, host: Host) -> Ruling:
    """Of a task that was never sent. A host that is sent away may be looked at again later."""
    rules = bag.rules
    if rules is None:
        found = _ruled(state, bag, host, None)
    else:
        found = rules.ruled = _new(state, bag, host, rules)
    if not found.matches:
        refused(state, bag, host)
    elif bag.fresh.left or rules is None or not _some_wait_otherwise(bag, rules):
        bag.unmatched_us = 0
    return found


def _new(state: State, bag: Bag, host: Host, rules: Rules) -> Ruling:
    """Of the first group that may go there, where there are groups."""
    fresh = bag.fresh
    if not isinstance(fresh, Grouped):
        return _kept(state, bag, host, rules, None)
    groups = [group for _, group in fresh.near()] or list(range(len(fresh.left_in)))
    found = Ruling(False, "no task is left")
    for group in groups:
        found = _kept(state, bag, host, rules, group)
        if found.matches:
            break
    return found


def take_new(state: State, bag: Bag, host: Host, fresh: Grouped) -> Iterator[int]:
    """Of those never sent, one after the other that may go there, in the order of the bag. Each
    group is asked about once."""
    rules = bag.rules
    assert rules is not None
    near = fresh.near()
    ruled: dict[int, Ruling] = {}
    while near:
        place, group = heapq.heappop(near)
        if not fresh.left_in[group]:
            continue
        if group not in ruled:
            ruled[group] = _kept(state, bag, host, rules, group)
        if not ruled[group].matches:
            continue
        first = fresh.head(group)
        if first == place:
            rules.ruled = ruled[group]
            yield fresh.take_of(group)
            first = place + 1
        heapq.heappush(near, (first, group))


def _kept(state: State, bag: Bag, host: Host, rules: Rules, group: int | None) -> Ruling:
    if rules.changes or host.rules is not None:
        return _ruled(state, bag, host, _never_sent(bag, group))
    found = rules.kept.get((host.id, group))
    if found is None:
        if len(rules.kept) >= MOST_KEPT:
            rules.kept.clear()
        found = _ruled(state, bag, host, _never_sent(bag, group))
        rules.kept[host.id, group] = found
    return found


def _never_sent(bag: Bag, group: int | None) -> facts.Values | None:
    """None: as all of the bag."""
    if group is None or bag.rules is None:
        return None
    return facts.of_new_task(bag, bag.rules.job_keys, group)


def new_looks(bag: Bag) -> dict[tuple[Plain, ...], int]:
    """Of a bag whose policy looks at parameters: in how many ways those look that were never sent,
    and how many look so."""
    fresh, rules = bag.fresh, bag.rules
    if rules is None or not isinstance(fresh, Grouped):
        return {}
    return {
        tuple(facts.of_new_task(bag, rules.job_keys, group).values()): fresh.left_in[group]
        for group in fresh.groups()
    }


def refused(state: State, bag: Bag, host: Host) -> None:
    said = [one for one in (bag.rules, host.rules) if one is not None]
    if any(one.changes for one in said):
        seen = 0
        for one in said:
            seen |= one.sees
        looking.sent_away(state, bag, seen)
    matches_nobody(state, bag)


def bounded(state: State, bag: Bag) -> None:
    """By its Concurrency, on a host with room for more: another moment may allow it."""
    rules = bag.rules
    if rules is not None and rules.bound_changes:
        looking.sent_away(state, bag, rules.bound_sees)


def matches_nobody(state: State, bag: Bag) -> None:
    """As far as is known, and nothing of it is out: should that last, its owner is told why."""
    if not bag.unmatched_us and not bag.live:
        bag.unmatched_us = state.now + A_MINUTE_US
        watch_unmatched(state, bag)


def watch_unmatched(state: State, bag: Bag) -> None:
    """By one alarm, however often hosts match meanwhile."""
    if not bag.unmatched_alarm:
        bag.unmatched_alarm = True
        state.timers.set(bag.unmatched_us, Alarm.UNMATCHED, bag.id)


def looks_otherwise(bag: Bag) -> bool:
    """Are there tasks of which the policy may think otherwise, because they wait for another
    attempt, or since each has a lot of its own?"""
    return bag.rules is not None and (bag.rules.draws or _some_wait_otherwise(bag, bag.rules))


def _some_wait_otherwise(bag: Bag, rules: Rules) -> bool:
    return bool(rules.job_keys) and bool(bag.requeue.waiting)


def asked_for_each(bag: Bag, host: Host) -> bool:
    """May it think otherwise of the next, when one was sent?"""
    if bag.rules is not None and bag.rules.restless:
        return True
    return host.rules is not None and host.rules.restless


def would(state: State, bag: Bag, host: Host, job: tuple[Plain, ...] = ()) -> bool:
    """May one go there that was never sent, or one that looks so? Asked without consequences."""
    if bag.rules is None and host.rules is None:
        return True
    return ruled(state, bag, host, job).matches


def holds_more(state: State, bag: Bag, host: Host, job: tuple[Plain, ...] = ()) -> int:
    """So many of those may go there beside what it holds, as far as policies say so."""
    if bag.rules is None and host.rules is None:
        return ENDLESS
    found = ruled(state, bag, host, job)
    return max(_room(state, bag, host, found), 0) if found.matches else 0


def _room(state: State, bag: Bag, host: Host, found: Ruling) -> int:
    """For so many more, as far as policies say so."""
    return min(found.most - len(host.live), room_of_its_own(state, bag, host))


def room_of_its_own(state: State, bag: Bag, host: Host) -> int:
    """For so many more of this bag, whatever others the host holds."""
    most = None if bag.rules is None else bag.rules.of_its_own
    return ENDLESS if most is None else most - facts.running_of(state, bag, host)


def ruled(state: State, bag: Bag, host: Host, job: tuple[Plain, ...] = ()) -> Ruling:
    """Of a task that was never sent, or one that looks so, without consequences."""
    if bag.rules is None:
        return _ruled(state, bag, host, None)
    if not job:
        return _new(state, bag, host, bag.rules)
    return _ruled(state, bag, host, as_job(bag.rules, job))


def as_job(rules: Rules, job: tuple[Plain, ...]) -> facts.Values:
    return dict(zip(rules.job_keys, job, strict=True))


def most_more(state: State, bag: Bag, host: Host, count: int = 1) -> int:
    """How many more attempts the host may hold, of so many, as far as policies say so."""
    found = ruling(state, bag, host)
    if not found.matches and not looks_otherwise(bag):
        return 0
    if found.most - len(host.live) < count:
        bounded(state, bag)
    return min(_room(state, bag, host, found), count)


def bounds(bag: Bag) -> bool:
    """Does it say how many tasks a host may hold? Those of bags behind it count, too."""
    return bag.rules is not None and bag.rules.policy.concurrency is not None


def sends_new(bag: Bag) -> bool:
    """To the host that was ruled on last."""
    return bag.rules is None or bag.rules.ruled is None or bag.rules.ruled.matches


def timeout_us(bag: Bag) -> int | None:
    """Of an attempt on the host that was ruled on last."""
    ruled = None if bag.rules is None else bag.rules.ruled
    found = None if ruled is None else ruled.timeout_us
    return bag.terms.timeout_us if found is None else found


def may_go(state: State, bag: Bag, host: Host, group: Group) -> bool:
    """The same of tasks that wait for another attempt."""
    rules = bag.rules
    if rules is None or not rules.job_keys:
        return sends_new(bag)  # they look as others do
    found = _ruled(state, bag, host, as_job(rules, group.job))
    if not found.matches:
        refused(state, bag, host)
        return False
    bag.unmatched_us = 0
    if found.most <= len(host.live):
        bounded(state, bag)
    may = _room(state, bag, host, found) > 0
    if may:
        rules.ruled = found
    return may


def may_be_wanted(state: State, bag: Bag, host: Host, index: int) -> bool:
    """The same of one that is out, or was, and that a replication strategy wants there. It is asked
    once: what the policy draws by lot is drawn for this attempt."""
    rules = bag.rules
    if rules is None and host.rules is None:
        return True
    job = facts.of_task(state, bag, index, rules.job_keys) if rules is not None else None
    found = _ruled(state, bag, host, job)
    if rules is not None:
        rules.ruled = found
    return found.matches and _room(state, bag, host, found) > 0


def looks(state: State, bag: Bag, index: int) -> tuple[Plain, ...]:
    """Of a task that waits for another attempt: what decides where it may go."""
    rules = bag.rules
    if rules is None or not rules.job_keys:
        return ()
    return tuple(facts.of_task(state, bag, index, rules.job_keys).values())


def _ruled(state: State, bag: Bag, host: Host, job: facts.Values | None) -> Ruling:
    if host.rules is not None:
        why = host_refuses(state, bag, host)
        if why:
            return Ruling(False, why)
    return Ruling(True) if bag.rules is None else ruled_by(state, bag, host, bag.rules, job)


def ruled_by(
    state: State, bag: Bag, host: Host, rules: Rules, job: facts.Values | None = None
) -> Ruling:
    if rules.broken:
        return Ruling(False, rules.broken)
    requires, most, deadline = rules.matching()
    scene = _scene(state, bag, host, rules.keys, job)
    if requires is not None:
        value = requires.found(scene)
        if value is not True:
            return Ruling(False, _why_not(requires, value))
    found = Ruling(True)
    if most is not None:
        value = most.found(scene)
        if isinstance(value, No):
            return Ruling(False, value.reason)
        if value < 1:
            return Ruling(False, f"{most.name} gives {value:g}: it may hold no task")
        found.most = int(value)
    if deadline is not None:
        value = deadline.found(scene)
        if isinstance(value, No):
            return Ruling(False, value.reason)
        found.timeout_us = max(min(round(value * SECOND_US), MOST_TIMEOUT_US), 1)
    return found


def _why_not(expression: Expression, value: object) -> str:
    return value.reason if isinstance(value, No) else f"{expression.name} is false"


def host_refuses(state: State, bag: Bag, host: Host) -> str:
    """Why its owner does not let it have the bag's tasks; empty if he does."""
    rules = host.rules
    if rules is None:
        return ""
    if rules.broken:
        return rules.broken
    requires = rules.policy.host_requirements
    if requires is None:
        return ""
    value = _asked(state, bag, host, requires)
    return "" if value is True else _why_not(requires, value)


def prefers(host: Host) -> bool:
    """Some bags to others."""
    return host.rules is not None and host.rules.policy.host_rank is not None


def prefers_restlessly(host: Host) -> bool:
    return host.rules is not None and restless.looks(host.rules.policy.host_rank)


def host_rank(state: State, bag: Bag, host: Host) -> float:
    rank = None if host.rules is None else host.rules.policy.host_rank
    return 0.0 if rank is None else as_rank(_asked(state, bag, host, rank))


def rank(state: State, bag: Bag, host: Host, seen: facts.Values | None = None) -> float:
    """What gives no number, comes last. `seen`: of the bag, if somebody has looked already."""
    asked = None if bag.rules is None else bag.rules.policy.rank
    return 0.0 if asked is None else as_rank(_asked(state, bag, host, asked, seen))


def _asked(
    state: State, bag: Bag, host: Host, asked: Expression, seen: facts.Values | None = None
) -> bool | int | float | No:
    if asked.value is not None:
        return asked.value
    return asked.found(_scene(state, bag, host, asked.keys, None, seen))


def _scene(
    state: State,
    bag: Bag,
    host: Host,
    keys: Keys,
    job: facts.Values | None,
    seen: facts.Values | None = None,
) -> Scene:
    """Where what is asked for by these keys is shown, of a task that looks so."""
    scene = host.scene
    if scene is None:
        scene = host.scene = Scene()
    of_host, of_bag, of_job, of_pool = keys
    if of_host:
        scene.show(facts.of_host(state, bag, host, of_host), of_host)
    if of_bag:
        scene.show(facts.of_bag(state, bag, of_bag) if seen is None else seen, of_bag)
    if of_job:
        scene.show(facts.of_new_task(bag, of_job) if job is None else job, of_job)
    if of_pool and host.pool in state.pools:
        scene.show(facts.of_pool(state, state.pools[host.pool], of_pool), of_pool)
    return scene


def show_bag(state: State, bag: Bag, scene: Scene, asked: Expression) -> None:
    keys = asked.keys[BAG]
    if keys:
        scene.show(facts.of_bag(state, bag, keys), keys)


def may_repeat_now(state: State, bag: Bag, index: int, scene: Scene) -> bool | No:
    """ReplicationRequirements: may the task have one more attempt?"""
    asked = None if bag.rules is None else bag.rules.policy.replication_requirements
    if asked is None:
        return False
    show_bag(state, bag, scene, asked)
    keys = asked.keys[JOB]
    scene.show(facts.of_task(state, bag, index, keys), keys)
    value = asked.found(scene)
    return value if isinstance(value, No) else value is True
