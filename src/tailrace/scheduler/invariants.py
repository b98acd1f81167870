"""What must hold after every event. Tests switch it on; it costs as much as there is state."""

from __future__ import annotations

from tailrace.scheduler.rows import BagPhase
from tailrace.scheduler.state import Attempt, Bag, Host, State


class Broken(AssertionError):
    """The scheduler's state contradicts itself."""


def check(state: State) -> None:
    for bag in state.bags.values():
        _check_bag(bag)
    for host in state.hosts.values():
        _check_host(state, host)
    for number, attempt in state.attempts.items():
        _hold(attempt in state.bags[attempt.bag].live[attempt.index], f"attempt {number} unlisted")
    lively = sum(len(host.live) for host in state.hosts.values())
    _hold(lively == len(state.attempts), f"{lively} attempts on hosts, {len(state.attempts)} live")


def _check_bag(bag: Bag) -> None:
    undone = [index for index in bag.live if index not in bag.done]
    waiting = [index for index in bag.troubles if index not in bag.live]
    known = bag.done.count + len(undone) + len(waiting)
    _hold(
        known == bag.cursor, f"bag {bag.id}: cursor {bag.cursor}, but {known} tasks accounted for"
    )
    for index in bag.requeue:
        _hold(index in bag.troubles, f"bag {bag.id}: task {index} waits for no reason")
        _hold(index not in bag.done, f"bag {bag.id}: task {index} waits, but is done")
    for index in waiting:
        _hold(index in bag.requeue, f"bag {bag.id}: task {index} is forgotten")
    for index, attempts in bag.live.items():
        _check_live(bag, index, attempts)
    if bag.failed.size:
        _hold(bag.failed.count <= bag.done.count, f"bag {bag.id}: more failed than done")
    if bag.phase is BagPhase.FINISHED:
        _hold(bag.done.count == bag.terms.count, f"bag {bag.id}: finished, but not done")


def _check_live(bag: Bag, index: int, attempts: list[Attempt]) -> None:
    wanted = [a for a in attempts if a.dropping is None]
    if index in bag.done:
        _hold(not wanted, f"bag {bag.id}: task {index} is done, yet an attempt is wanted")
    if not bag.terms.repeatable:
        _hold(len(attempts) <= 1, f"bag {bag.id}: two attempts of task {index} at once")


def _check_host(state: State, host: Host) -> None:
    used: dict[str, int] = {}
    for attempt in host.live.values():
        for name, amount in attempt.needs.items():
            used[name] = used.get(name, 0) + amount
    there = {name: amount for name, amount in host.used.items() if amount}
    _hold(used == there, f"host {host.id}: {there} booked as used, {used} is")
    _hold((host.offer is not None) == (host.id in state.offers), f"host {host.id}: offer adrift")


def _hold(true: bool, text: str) -> None:
    if not true:
        raise Broken(text)
