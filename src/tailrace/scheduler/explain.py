"""Why things are as they are, in sentences: of a bag, a task or a host."""

from __future__ import annotations

from tailrace.bag.needs import describe, lacking
from tailrace.scheduler.bundling import fleet_slots
from tailrace.scheduler.state import Attempt, Bag, Host, State


def explain(state: State, subject: str, now: int) -> list[str]:
    """Subjects: `bag 3`, `task 3/17`, `host NAME`."""
    kind, _, name = subject.partition(" ")
    if kind == "host":
        return explain_host(state, state.hosts[name], now)
    if kind == "bag":
        return explain_bag(state, state.bags[int(name)], now)
    bag, _, index = name.partition("/")
    return explain_task(state, state.bags[int(bag)], int(index), now)


def explain_bag(state: State, bag: Bag, now: int) -> list[str]:
    lines = [f"The bag is {bag.phase}" + (f": {bag.why}." if bag.why else ".")]
    live = sum(len(attempts) for attempts in bag.live.values())
    lines.append(
        f"{bag.done.count} of {bag.terms.count} tasks have a result ({bag.failed.count} failed), "
        f"{live} attempts are out, {len(bag.requeue)} tasks wait for another attempt, "
        f"{bag.terms.count - bag.cursor} were never sent."
    )
    if bag.hungry:
        lines += _why_hungry(state, bag, now)
    if bag.like_count > 1:
        lines.append(f"The last {bag.like_count} failures were alike: {bag.like_sign}.")
    return lines


def _why_hungry(state: State, bag: Bag, now: int) -> list[str]:
    present = [host for host in state.hosts.values() if host.present]
    if not present:
        return ["Its tasks wait for a host: none is connected."]
    reasons = [f"{host.id}: {_why_not(bag, host, now)}" for host in present]
    lines = [
        f"Its tasks need {describe(bag.terms.needs)} each; {fleet_slots(state, bag)} fit at once."
    ]
    return lines + reasons


def _why_not(bag: Bag, host: Host, now: int) -> str:
    if bag.terms.pools and host.pool not in bag.terms.pools:
        return f"its pool {host.pool} is not among the bag's ({', '.join(bag.terms.pools)})"
    if host.excluded_until_us > now:
        return f"excluded for {(host.excluded_until_us - now) / 1e6:.0f} s more"
    short = lacking(bag.terms.needs, host.capacity)
    if short:
        return short
    if bag.trials.get(host.kind) is not None:
        return f"the first task on hosts of kind {host.kind} is on trial"
    if host.live:
        return f"holds {len(host.live)} attempts"
    return "may take work with its next call"


def explain_task(state: State, bag: Bag, index: int, now: int) -> list[str]:
    lines = [_out(attempt, now) for attempt in bag.live.get(index, ())]
    trouble = bag.troubles.get(index)
    if index in bag.done:
        failed = bag.failed.size and index in bag.failed
        lines.append("The task has failed for good." if failed else "The task has its result.")
    elif index in bag.requeue:
        avoid = bag.requeue.avoided_by(index)
        away = f", away from {', '.join(avoid)}" if avoid else ""
        lines.append(f"The task waits for another attempt{away}: {trouble.why if trouble else ''}.")
    elif index not in bag.live:
        lines.append(
            f"The task was never sent: the bag is {bag.phase} and has {bag.unsent} unsent tasks."
        )
    if trouble is not None:
        counts = ", ".join(f"{times} {name}" for name, times in trouble.counts.items())
        lines.append(f"It was sent {trouble.sent} times" + (f" ({counts})." if counts else "."))
        if trouble.needs:
            lines.append(f"It now asks for {describe(trouble.needs)}.")
    return lines


def _out(attempt: Attempt, now: int) -> str:
    since = (now - attempt.sent_us) / 1e6
    state = f"being ended ({attempt.dropping})" if attempt.dropping else "out"
    late = ", past its time-out" if attempt.expired else ""
    return f"Attempt {attempt.attempt} is {state} on {attempt.host} since {since:.1f} s{late}."


def explain_host(state: State, host: Host, now: int) -> list[str]:
    there = "connected" if host.present else "not connected"
    lines = [
        f"Host {host.id} of pool {host.pool} is {there}; it offers {describe(host.capacity)}.",
        f"It holds {len(host.live)} attempts; {host.succeeded} succeeded since the server began, "
        f"{host.booked} failures are booked on it.",
    ]
    if host.excluded_until_us > now:
        left = (host.excluded_until_us - now) / 1e6
        lines.append(f"It is excluded for {left:.0f} s more (time {host.exclusions}), then probed.")
    elif host.probing:
        lines.append("It was excluded and is being probed with one task.")
    return lines
