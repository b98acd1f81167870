"""Owners share machines by what they hold and have had, bags of one owner by their weights."""

from __future__ import annotations

from collections import Counter

import pytest

from tailrace.pools.terms import Pool
from tailrace.scheduler.decisions import Assign

from .stage import Stage

HOME = Pool("home", max=0)
NAMES = tuple(f"h{number:02}" for number in range(20))


def ready() -> Stage:
    stage = Stage(HOME)
    stage.hosts(*NAMES)
    return stage


def submit(stage: Stage, owner: str, count: int = 1000, *, weight: float = 1.0) -> int:
    return stage.submit(count, owner=owner, weight=weight, trial_us=0)


def held(stage: Stage) -> Counter[str]:
    state = stage.scheduler.state
    return Counter(state.bags[one.bag].terms.owner for one in state.attempts.values())


def fill(stage: Stage) -> list[Assign]:
    return [sent for name in NAMES for sent in stage.offer(name)]


def work(stage: Stage, owner: str, seconds: int) -> None:
    """He has used one machine for so long."""
    submit(stage, owner, 1)
    (sent,) = stage.offer(NAMES[0])
    stage.wait(seconds)
    stage.succeed(sent, run_s=seconds)


@pytest.mark.parametrize("earlier_s", [0, 100, 1800])
def test_two_owners_get_half_of_the_machines_each_before_any_task_has_ended(earlier_s: int) -> None:
    stage = ready()
    work(stage, "bob", earlier_s)
    submit(stage, "ann")
    submit(stage, "bob")
    fill(stage)
    assert held(stage) == {"ann": 10, "bob": 10}


def test_who_comes_later_gets_the_next_machines_that_become_free() -> None:
    stage = ready()
    submit(stage, "ann")
    out = fill(stage)
    stage.wait(60)
    submit(stage, "bob")
    for turn, sent in enumerate(out):
        stage.wait(1)
        stage.succeed(sent)
        stage.offer(sent.host)
        assert held(stage)["bob"] == min(turn + 1, 10)


def test_short_tasks_do_not_take_the_place_of_long_ones_nor_the_other_way_round() -> None:
    stage = ready()
    short = submit(stage, "ann", 100_000)
    submit(stage, "bob")
    out = fill(stage)
    for _ in range(300):
        stage.wait(2)
        ended = {one.host: one for one in out if one.bag == short}
        out = [one for one in out if one.bag != short]
        for one in ended.values():
            stage.succeed(one, run_s=2)
        out += [sent for host in ended for sent in stage.offer(host)]
        assert held(stage) == {"ann": 10, "bob": 10}


def test_who_used_much_more_than_others_holds_less_until_they_have_caught_up() -> None:
    """An hour of a core that was used weighs as much as one that is held."""
    stage = ready()
    work(stage, "bob", 6 * 3600)
    submit(stage, "ann")
    submit(stage, "bob")
    fill(stage)
    assert held(stage) == {"ann": 13, "bob": 7}


def test_fifty_bags_of_one_owner_hold_no_more_than_one_of_another() -> None:
    stage = ready()
    for _ in range(50):
        submit(stage, "ann", 10)
    submit(stage, "bob")
    fill(stage)
    assert held(stage) == {"ann": 10, "bob": 10}


def test_bags_of_one_owner_hold_machines_by_their_weights() -> None:
    stage = ready()
    bags = [submit(stage, "ann", weight=weight) for weight in (1.0, 3.0)]
    count = Counter(sent.bag for sent in fill(stage))
    assert [count[bag] for bag in bags] == [5, 15]


def test_a_bag_that_gives_a_machine_back_comes_before_those_that_hold_as_much() -> None:
    """Whose it was, was not asked for a while: its place in line is an old one."""
    stage = ready()
    bags = [submit(stage, "ann") for _ in range(4)]
    out = fill(stage)
    assert Counter(sent.bag for sent in out) == dict.fromkeys(bags, 5)
    for sent in out[-7:]:
        stage.wait(600)
        stage.succeed(sent)
        (again,) = stage.offer(sent.host)
        assert again.bag == sent.bag


def test_what_is_sent_ahead_holds_no_machine() -> None:
    """Tasks of a hundredth of a second come in bundles; one of them runs at a time."""
    stage = ready()
    submit(stage, "ann", 1_000_000)
    (first,) = stage.offer(NAMES[0])
    stage.now += 10_000
    stage.succeed(first, run_s=0.01)
    (bundle := stage.offer(NAMES[0])).sort(key=lambda one: one.attempt)
    assert len(bundle) > 50
    before = stage.scheduler.state.accounts["ann"].used
    for one in bundle:
        stage.now += 10_000
        stage.succeed(one, run_s=0.01)
    used_ms = stage.scheduler.state.accounts["ann"].used - before
    assert used_ms == pytest.approx(10 * len(bundle), rel=0.01)
    submit(stage, "bob")
    for name in NAMES:
        stage.offer(name)
    machines = Counter(
        stage.tables.bags[next(iter(host.live.values())).bag].terms.owner
        for host in stage.scheduler.state.hosts.values()
    )
    assert machines == {"ann": 10, "bob": 10}


def test_what_is_held_counts_after_a_restart() -> None:
    stage = ready()
    submit(stage, "ann")
    sent = [one for name in NAMES[:10] for one in stage.offer(name)]
    stage.wait(3600)
    stage.restart()
    stage.back(*NAMES)
    accounts = stage.scheduler.state.accounts
    ann, scale = accounts["ann"], stage.scheduler.state.scale
    assert scale.used(ann, stage.now) == 10 * 3_600_000
    submit(stage, "bob")
    assert [one.bag for name in NAMES[10:] for one in stage.offer(name)] == [2] * 10
    for one in sent:
        stage.succeed(one, run_s=3600)
    assert accounts["ann"].used == 10 * 3_600_000
