"""Policies of bags on a real server with real machines: how many run at once, by when, where, and
which tasks are sent twice. Tasks wait for files, so that nothing hangs on how fast it all is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.cli.conftest import ask
from tests.real.grid import HOLD, Grid, Sent, most_at_once
from tests.real.served import serving, wait_for

POOLS = """
[pools.patient]
cores = 1
min_timeout = "10m"

[pools.spot]
cores = 1
reliable = false
up = "7s"
notice = "5s"

[pools.own]
cores = 1
"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grid]:
    """Its pools start machines when a bag that names them has work; others come by themselves."""
    folder = tmp_path_factory.mktemp("grid")
    (folder / "pools.toml").write_text(POOLS)
    with serving(folder, "--local") as server:
        yield Grid(server)
        assert server.end() == 0
    assert "Traceback" not in (folder / "log").read_text()


class Unmatched(NamedTuple):
    grid: Grid
    bag: int
    seen: Path  # what its owner sees, who watches it


@pytest.fixture(scope="module", autouse=True)
def unmatched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unmatched]:
    """A server of its own, and a bag that has to wait a minute: the other tests run meanwhile."""
    folder = tmp_path_factory.mktemp("unmatched")
    with serving(folder) as server, ExitStack() as stack:
        own = Grid(server)
        for name, pool, cores in (("0", "lab", "1"), ("1", "lab", "1"), ("2", "large", "8")):
            stack.enter_context(own.joined(pool, name, "--cores", cores))
        wait_for(lambda: len(own.hosts("lab")) == 2 and own.hosts("large"))
        bag = own.submit("command = 'echo {n}'\npools = '!large'\n[parameters]\nn = [1]\n"
                         "[policy]\nJobRequirements = 'Host.NumCpus >= 8'\n")  # fmt: skip
        yield Unmatched(own, bag, stack.enter_context(own.watched(bag)))


def held(file: str) -> str:
    return HOLD.format(file=file)


def test_no_more_run_than_max_running_says_though_others_are_idle(grid: Grid) -> None:
    """Two of a bag run, and wait; machines stand idle, since another bag gets them."""
    with ExitStack() as stack:
        for number in range(4):
            stack.enter_context(grid.joined("four", f"four-{number}"))
        wait_for(lambda: len(grid.hosts("four")) == 4)
        few = grid.submit(f"command = '{held('few')}; : {{n}}'\npools = 'four'\nmax_running = 2\n"
                          "[parameters]\nn = { from = 1, to = 8 }\n")  # fmt: skip
        wait_for(lambda: len(grid.sent(few)) == 2)
        more = grid.submit("command = 'echo {n}'\npools = 'four'\n[parameters]\nn = [1, 2, 3, 4]\n")
        grid.ends(more)
        assert len(grid.sent(few)) == 2
        told = grid.ask("explain", "--bag", str(few), "5").out
        assert "max_running says no more" in told, told
        (grid.place() / "few").touch()
        grid.ends(few)
    assert most_at_once(grid.sent(few)) == 2


def test_a_host_holds_no_more_than_its_concurrency(grid: Grid) -> None:
    """Half of its cores, in whole ones: one of two, two of four. All three are out at once."""
    with (
        grid.joined("halves", "small", "--cores", "2"),
        grid.joined("halves", "large", "--cores", "4"),
    ):
        wait_for(lambda: len(grid.hosts("halves")) == 2)
        bag = grid.submit(f"command = '{held('half')}; : {{n}}'\npools = 'halves'\n"
                          "[parameters]\nn = { from = 1, to = 9 }\n"
                          "[policy]\nConcurrency = 'Host.NumCpus / 2'\n")  # fmt: skip
        wait_for(lambda: len(grid.sent(bag)) == 3)
        (grid.place() / "half").touch()
        grid.ends(bag)
    sent = grid.sent(bag)
    by_host = {
        host: [one for one in sent if one.host == host] for host in {*(s.host for s in sent)}
    }
    assert sorted(most_at_once(one) for one in by_host.values()) == [1, 2]


ONCE_STUCK = "if mkdir {mark} 2> /dev/null; then exec sleep 600; fi; echo {n}"


def test_what_is_out_for_too_long_is_sent_again_and_the_first_success_wins(grid: Grid) -> None:
    """The first attempt would run for ten minutes; the second, on the other machine, ends it."""
    with grid.joined("late", "late-0"), grid.joined("late", "late-1"):
        wait_for(lambda: len(grid.hosts("late")) == 2)
        stuck = ONCE_STUCK.format(mark="late", n="{n}")
        bag = grid.submit(f"command = '{stuck}'\npools = 'late'\nrepeatable = true\n"
                          "[parameters]\nn = [7]\n"
                          "[policy]\nDeadline = '2 * Host.NumCpus'\n")  # fmt: skip
        grid.ends(bag)
        first, second = grid.sent(bag)
        told = grid.ask("policy", "test", str(bag), "--json").json["hosts"]
    assert (first.timeout_us, second.timeout_us) == (2_000_000, 2_000_000)
    assert (first.accepted, second.accepted, second.outcome) == (0, 1, "succeeded")
    assert first.host != second.host and "expired" in second.why
    assert {one["timeout_us"] for one in told if one["pool"] == "late"} == {2_000_000}
    page = Path(ask(grid.folder, "report", str(bag)).out.strip()).read_text()
    assert "Wasted work: 1 attempt whose result was not used ran" in page


def test_a_pool_raises_the_time_out_of_a_bag(grid: Grid) -> None:
    """The task takes longer than its bag gives it."""
    bag = grid.submit("command = 'sleep 2; echo {n}'\npools = 'patient'\nrepeatable = true\n"
                      "[parameters]\nn = [1]\n[policy]\nDeadline = '1'\n")  # fmt: skip
    grid.ends(bag)
    (sent,) = grid.sent(bag)
    assert (sent.pool, sent.timeout_us, sent.outcome) == ("patient", 600_000_000, "succeeded")


def test_two_owners_get_about_half_each_however_many_bags_they_have(grid: Grid) -> None:
    """One has eight bags, the other one, of as many tasks, which all take as long; each machine has
    one at a time. It is looked at as long as both have some left."""
    eight = [grid.submit(_naps(3, f"ann-{k}"), "ann") for k in range(8)]
    one = grid.submit(_naps(24, "bob"), "bob")
    with grid.joined("shared", "shared-0"), grid.joined("shared", "shared-1"):
        grid.ends(one, "bob")
        for bag in eight:
            grid.ends(bag, "ann")
    whose = [(sent.sent_us, bag in eight) for bag in [*eight, one] for sent in grid.sent(bag)]
    order = [anns for _, anns in sorted(whose)]
    assert (order.count(True), order.count(False)) == (24, 24)
    last = next(k for k in range(48) if 24 in (order[:k].count(True), order[:k].count(False)))
    both = order[:last]
    assert len(both) >= 36 and 0.35 <= sum(both) / len(both) <= 0.65, order


def _naps(count: int, name: str) -> str:
    text = (
        f"name = '{name}'\ncommand = 'sleep 0.2; : {{n}}'\npools = 'shared'\ntasks_per_host = 1\n"
    )
    return f"{text}[parameters]\nn = {{ from = 1, to = {count} }}\n"


def _began(sent: Sent) -> int:
    return sent.sent_us


SAYS = """
HostRequirements = BOT.Owner != "eve"
HostRank = BOT.Name == "dear" ? 1
    : 0
"""


def test_the_owner_of_a_machine_says_whose_tasks_it_takes_and_which_first(grid: Grid) -> None:
    def bag(name: str, user: str, priority: int = 0) -> int:
        text = f"name = '{name}'\ncommand = 'echo {{n}}'\npools = 'owned'\npriority = {priority}\n"
        return grid.submit(f"{text}[parameters]\nn = [1, 2, 3]\n", user)

    eves, other, dear = bag("eves", "eve", 200), bag("other", "ada", 100), bag("dear", "ada")
    with grid.joined("owned", "says", conf=SAYS):
        grid.ends(other)
        grid.ends(dear)
        assert max(map(_began, grid.sent(dear))) < min(map(_began, grid.sent(other)))
        assert not grid.sent(eves)
        assert "HostRequirements is false" in grid.ask("explain", str(eves), user="eve").out
        with grid.joined("owned", "silent"):
            grid.ends(eves, "eve")


IN_THE_TAIL = 'JobRequirements = \'Tail ? Host.Pool == "sure" : Host.Pool == "many"\'\n'


def test_the_tail_begins_when_as_few_wait_as_the_bag_says(grid: Grid) -> None:
    """Of twelve the last three are sent elsewhere, for then fewer than four waited; also from
    the midst of what a large machine would take at once."""
    with grid.joined("crowd", "", "--cores", "8"), grid.joined("sure"):
        wait_for(lambda: grid.hosts("crowd") and grid.hosts("sure"))
        bag = grid.submit("command = 'echo {n}'\n[parameters]\nn = { from = 1, to = 12 }\n"
                          f"[policy]\n{IN_THE_TAIL.replace('many', 'crowd')}GridPolicy = false\n"
                          "tail_below = 4\n")  # fmt: skip
        grid.ends(bag)
    assert [one.pool for one in grid.sent(bag)] == ["crowd"] * 9 + ["sure"] * 3


@pytest.mark.parametrize(("stays", "again"), [("false", "many"), ("true", "sure")])
def test_a_tail_stays_if_the_bag_says_so(grid: Grid, stays: str, again: str) -> None:
    """All are sent, so the tail has begun; then one fails, and waits to be sent again."""
    wait = f"if mkdir tail-{stays}-{{n}}; then {held(f'tail-{stays}')}; exit {{n}}; fi 2> /dev/null"
    with grid.joined("many", "many-0"), grid.joined("many", "many-1"), grid.joined("sure"):
        wait_for(lambda: len(grid.hosts("many")) == 2 and grid.hosts("sure"))
        bag = grid.submit(f"command = '{wait}'\nrepeatable = true\n[parameters]\nn = [0, 1]\n"
                          f"[policy]\n{IN_THE_TAIL}GridPolicy = false\n"
                          f"tail_below = 1\ntail_stays = {stays}\n")  # fmt: skip
        wait_for(lambda: len(grid.sent(bag)) == 2)
        (grid.place() / f"tail-{stays}").touch()
        grid.ends(bag)
    sent = grid.sent(bag)
    assert [(one.task, one.pool) for one in sent] == [(0, "many"), (1, "many"), (1, again)]


def test_a_task_is_never_twice_in_one_pool(grid: Grid) -> None:
    """A machine of the same pool stands idle long after a second attempt may be made: it is made
    when one of the other pool comes."""
    stuck = ONCE_STUCK.format(mark="east", n="{n}")
    with grid.joined("east", "east-0"), grid.joined("east", "east-1"):
        wait_for(lambda: len(grid.hosts("east")) == 2)
        bag = grid.submit(f"command = '{stuck}'\nrepeatable = true\npools = ['east', 'west']\n"
                          "[parameters]\nn = [7]\n[policy]\n"
                          "JobRequirements = '!member(Host.Pool, Job.ReplicaPools)'\n"
                          "ReplicationRequirements = 'NumberOfReplicas < 2 && "
                          "Job.OldestReplicaAge > 1'\n")  # fmt: skip
        wait_for(lambda: grid.sent(bag))
        (first,) = grid.sent(bag)
        wait_for(lambda: time.time() > first.sent_us / 1e6 + 3)
        told = grid.ask("policy", "test", str(bag)).out
        assert "task 0 would get one more attempt, beside 1 attempt" in told
        assert len(grid.sent(bag)) == 1
        with grid.joined("west"):
            grid.ends(bag)
    first, second = grid.sent(bag)
    assert (first.pool, first.accepted) == ("east", 0)
    assert (second.pool, second.accepted) == ("west", 1)
    assert "another beside 1: ReplicationRequirements" in second.why


def test_what_fails_again_and_again_goes_to_the_fail_over_pool(grid: Grid) -> None:
    """And nothing else does."""
    with (
        grid.joined("grid", "grid-0"),
        grid.joined("grid", "grid-1"),
        grid.joined("trusted"),
    ):
        wait_for(lambda: len(grid.hosts("grid")) == 2 and grid.hosts("trusted"))
        bag = grid.submit('command = \'test {n} != 3 || test "$WHERE" = trusted\'\n'
                          "retries = 3\npools = ['grid', 'trusted']\n"
                          "[parameters]\nn = { from = 1, to = 6 }\n"
                          "[policy]\nJobRequirements = 'Job.Failures < 2 ? "
                          'Host.Pool != "trusted" : Host.Pool == "trusted"\'\n')  # fmt: skip
        grid.ends(bag)
    sent = grid.sent(bag)
    assert Counter((one.pool, one.task == 2) for one in sent) == {
        ("grid", False): 5, ("grid", True): 2, ("trusted", True): 1
    }  # fmt: skip


def test_a_task_preempted_three_times_is_kept_for_a_reliable_pool_and_says_so(grid: Grid) -> None:
    """The reliable machine is busy until then; those of the other pool are taken away. One more of
    them that comes, and has nothing to do, does not get it."""
    blocks = grid.submit(f"command = '{held('free')}'\npools = 'own'\n")
    wait_for(lambda: grid.sent(blocks))
    bag = grid.submit(f"command = '{held('free')}; echo {{n}}'\nrepeatable = true\n"
                      "pools = ['spot', 'own']\n[parameters]\nn = [7]\n")  # fmt: skip

    why = "taken away 3 times, wanted on a reliable pool from now on"
    with grid.watched(bag) as seen:
        wait_for(lambda: f"task 0: {why}\n" in seen.read_text())
    assert grid.feed(bag, "taken_away") == [{"tasks": [0], "why": why}]
    assert (
        "3 times now: wanted on a reliable pool" in grid.ask("explain", "0", "--bag", str(bag)).out
    )
    before = grid.sent(bag)
    assert {one.pool for one in before} == {"spot"}
    assert [one.outcome for one in before].count("preempted") == 3
    known = len(grid.hosts("spot"))
    with grid.joined("spot"):
        wait_for(lambda: len(grid.hosts("spot")) > known)
        (grid.place() / "free").touch()
        grid.ends(bag)
    (last,) = grid.sent(bag)[len(before) :]
    assert last.pool == "own" and "wanted on a reliable pool" in last.why
    work = {one["pool"]: one["work"] for one in ask(grid.folder, "pools", "--json").json}
    assert work["spot"]["failures"]["preempted"] == 3 and work["spot"]["finished"] == 0
    assert work["own"]["finished"] == 2
    assert grid.ask("report", str(bag), "--output", "page.html").code == 0
    assert f"task 0: {why}" in (grid.place() / "page.html").read_text()


NO_HOST = 'all 3 hosts are sent away: 2 by Host.NumCpus >= 8; 1 by !(Host.Pool =?= "large")'


def test_a_bag_that_no_host_matches_says_which_clause_sends_how_many_away(
    unmatched: Unmatched,
) -> None:
    """By itself, after a minute: in its feed, and to who watches it."""
    own, bag, seen = unmatched
    wait_for(lambda: f"no task is sent: {NO_HOST}\n" in seen.read_text(), 150)
    assert own.feed(bag, "unmatched") == [{"why": NO_HOST}]
    assert not own.sent(bag)
