"""What bags may claim of machines on a real server: which hosts, how many attempts of a task, and
which bag comes first. Tasks wait for files where it matters that they are out together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.real.grid import HOLD, Grid, Sent, most_at_once
from tests.real.served import serving, wait_for


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grid]:
    folder = tmp_path_factory.mktemp("grid")
    with serving(folder) as server:
        yield Grid(server)
        assert server.end() == 0
    assert "Traceback" not in (folder / "log").read_text()


FIRST_IS_SHORT = f"test {{n}} = 1 || {HOLD}"  # a first task is tried alone
ONE_AT_A_TIME = "tasks_per_host = 1\n"  # or else short tasks come in bundles


def bag(pool: str, command: str, tasks: int, more: str = "") -> str:
    text = f"command = '{command}; : {{n}}'\npools = '{pool}'\n{more}"
    return f"{text}\n[parameters]\nn = {{ from = 1, to = {tasks} }}\n"


def join(grid: Grid, stack: ExitStack, pool: str, count: int, *words: str) -> list[str]:
    """So many more machines: the names of all that have called then."""
    before = len(grid.hosts(pool))
    for number in range(before, before + count):
        stack.enter_context(grid.joined(pool, f"{pool}-{number}", *words))
    wait_for(lambda: len(grid.hosts(pool)) == before + count)
    return [one["host"] for one in grid.hosts(pool)]


def in_order(grid: Grid, *bags: int) -> list[tuple[Sent, int]]:
    """What was sent of all of them, with its bag."""
    both = [(sent, bag) for bag in bags for sent in grid.sent(bag)]
    return sorted(both, key=lambda one: one[0].sent_us)


def release(grid: Grid, file: str) -> None:
    (grid.place() / file).touch()


def test_tasks_run_where_the_name_of_the_host_is_like_the_word(grid: Grid) -> None:
    """Two wait for the one machine, and the other stands idle, since another bag gets it."""
    with ExitStack() as stack:
        one, other = join(grid, stack, "names", 2)
        like = one[:-1] + "*"
        held = HOLD.format(file="one")
        here = grid.submit(bag("names", held, 3, f"hosts = '{like}'"))
        there = grid.submit(bag("names", "true", 3, f"hosts = '!{like}'"))
        grid.ends(there)
        assert len(grid.sent(here)) == 1
        release(grid, "one")
        grid.ends(here)
    assert [sent.host for sent in grid.sent(here)] == [one] * 3
    assert [sent.host for sent in grid.sent(there)] == [other] * 3


def test_a_task_has_as_many_attempts_at_once_as_max_attempts_says(grid: Grid) -> None:
    """Two, though a third machine stands idle, which another bag gets; three when its owner says
    so. The first that succeeds ends the others."""
    with ExitStack() as stack:
        join(grid, stack, "copies", 3)
        words = "repeatable = true\nmax_attempts = 2"
        copied = grid.submit(bag("copies", HOLD.format(file="copy"), 1, words))
        wait_for(lambda: len(grid.sent(copied)) >= 2)
        grid.ends(grid.submit(bag("copies", "true", 4)))
        assert len(grid.sent(copied)) == 2
        told = grid.ask("policy", "set", str(copied), "max_attempts=3")
        assert told.code == 0, told.err
        wait_for(lambda: len(grid.sent(copied)) == 3)
        release(grid, "copy")
        grid.ends(copied)
    sent = grid.sent(copied)
    assert len({one.host for one in sent}) == 3 and sum(one.accepted for one in sent) == 1


def test_the_highest_rank_on_each_host_is_served_there(grid: Grid) -> None:
    """One bag ranks above the other on the machine of its owner, and below it elsewhere; both have
    tasks left."""
    with ExitStack() as stack:
        held = FIRST_IS_SHORT.format(file="rank", n="{n}")
        rank = "[policy]\nRank = 'Host.Owner == BOT.Owner ? 2 : 0'"
        choosy = grid.submit(bag("sides", held, 4, ONE_AT_A_TIME + rank))
        plain = grid.submit(bag("sides", held, 4, ONE_AT_A_TIME + "priority = 1"))
        (own,) = join(grid, stack, "sides", 1, "--owner", "ada")
        wait_for(lambda: len(in_order(grid, choosy, plain)) == 2)
        both = join(grid, stack, "sides", 1, "--owner", "bob")
        wait_for(lambda: len(in_order(grid, choosy, plain)) > 2)
        sent = [(one.host, bag) for one, bag in in_order(grid, choosy, plain)[:3]]
        release(grid, "rank")
        grid.ends(choosy)
        grid.ends(plain)
    (elsewhere,) = {*both} - {own}
    assert sent == [(own, choosy)] * 2 + [(elsewhere, plain)]


def test_the_concurrency_of_the_best_bag_bounds_all_others(grid: Grid) -> None:
    """Two of four cores stand idle as long as it has tasks left, though another says four. They are
    there: one that comes before it, and says nothing, runs on them meanwhile."""
    with ExitStack() as stack:
        says = "priority = 1\n[policy]\nConcurrency = 2"
        best = grid.submit(bag("four", FIRST_IS_SHORT.format(file="best", n="{n}"), 4, says))
        join(grid, stack, "four", 1, "--cores", "4")
        wait_for(lambda: len(grid.sent(best)) == 3)
        other = grid.submit(bag("four", HOLD.format(file="other"), 4, "[policy]\nConcurrency = 4"))
        grid.ends(grid.submit(bag("four", "true", 4, "priority = 2")))
        release(grid, "best")
        grid.ends(best)
        wait_for(lambda: len(grid.sent(other)) == 4)
        release(grid, "other")
        grid.ends(other)
    assert [bag for _, bag in in_order(grid, best, other)] == [best] * 4 + [other] * 4
    assert (most_at_once(grid.sent(best)), most_at_once(grid.sent(other))) == (2, 4)


def test_bags_of_one_owner_share_machines_by_their_weights(grid: Grid) -> None:
    """Three of four, from when both have begun and while both have tasks left, which all take as
    long."""
    with ExitStack() as stack:
        light = grid.submit(bag("scales", "sleep 0.2", 16, ONE_AT_A_TIME))
        heavy = grid.submit(bag("scales", "sleep 0.2", 36, ONE_AT_A_TIME + "weight = 3"))
        join(grid, stack, "scales", 4)
        grid.ends(heavy)
        grid.ends(light)
    order = [bag == heavy for _, bag in in_order(grid, light, heavy)]
    both = order[8 : max(k for k in range(52) if 36 > sum(order[:k]) > k - 16)]
    assert len(both) >= 24 and sum(both) / len(both) >= 0.63, order


def test_a_bag_that_comes_later_catches_up_with_what_another_has_used(grid: Grid) -> None:
    """One machine. The first bag has had it for seconds: all the moments that the second needs are
    fewer, and it gets them first."""
    with ExitStack() as stack:
        held = "test {n} != 1 || " + HOLD.format(file="used")
        earlier = grid.submit(bag("turns", held, 4, ONE_AT_A_TIME))
        join(grid, stack, "turns", 1)
        wait_for(lambda: grid.sent(earlier))
        later = grid.submit(bag("turns", "true", 3, ONE_AT_A_TIME))
        (first,) = grid.sent(earlier)
        wait_for(lambda: time.time() > first.sent_us / 1e6 + 4)
        release(grid, "used")
        grid.ends(later)
        grid.ends(earlier)
    order = [bag for _, bag in in_order(grid, earlier, later)]
    assert order == [earlier] + [later] * 3 + [earlier] * 3
