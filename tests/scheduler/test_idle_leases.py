"""A machine with a price is given back, idle, at the end of the unit that is paid; and no more are
leased than there is work for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries, Strategy
from tailrace.pools.terms import Billing, Pool
from tailrace.scheduler.decisions import Acquire, Assign, Release, Renew
from tailrace.scheduler.events import Change, LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.scheduler.state import State
from tailrace.scheduler.units import watch

from .stage import SECOND, Stage

HOUR = 3600 * SECOND
CLOUD = Pool("cloud", max=3, billing=Billing(1_000_000, "USD", HOUR), lease_us=10 * HOUR)
SPOT = Pool("spot", max=2, billing=Billing(1, "USD", HOUR), lease_us=10 * HOUR, reliable=False)
IDLE = "idle at the end of a paid hour"


def of(stage: Stage, kind: type[Any]) -> list[Any]:
    return [one for one in stage.all if isinstance(one, kind)]


def leased(stage: Stage) -> list[tuple[int, str]]:
    return [(one.lease, one.pool) for one in of(stage, Acquire)]


def given_back(stage: Stage) -> list[tuple[int, str]]:
    return [(one.lease, one.why) for one in of(stage, Release)]


def tail(*pools: Pool, tasks: int = 3, done: int = 1, **terms: Any) -> tuple[Stage, list[Assign]]:
    """Each machine has a task; the first so many have ended theirs, and nothing waits."""
    stage = Stage(*(pools or (CLOUD,)))
    stage.submit(tasks, trial_us=0, **terms)
    sent = []
    for lease, pool in leased(stage):
        stage.host(f"m{lease}", pool=pool, lease=lease)
        sent += stage.offer(f"m{lease}")
    for one in sent[:done]:
        stage.succeed(one, run_s=1800)
        stage.offer(one.host)
    return stage, sent


def test_an_idle_machine_goes_in_the_last_minute_of_the_hour_that_is_paid_and_not_before() -> None:
    stage, _ = tail()
    stage.wait(3539)
    assert given_back(stage) == []
    stage.wait(1)
    assert given_back(stage) == [(1, IDLE)]
    stage.gone(1, "exit 0")
    assert stage.tables.leases[1].why == IDLE
    assert len(leased(stage)) == 3  # it is not leased again
    for _ in range(20):
        stage.wait(3600)
    assert len(given_back(stage)) == 1  # those that work stay
    assert stage.offer("m1") == []


def test_one_that_ends_its_task_in_the_last_minute_goes_as_well() -> None:
    stage, sent = tail()
    stage.wait(3540)
    stage.wait(10)
    stage.succeed(sent[1], run_s=3550)
    stage.wait(35)
    assert given_back(stage) == [(1, IDLE), (2, IDLE)]
    stage.wait(30)  # in the second hour, which is paid
    stage.succeed(sent[2], run_s=3600)
    assert [lease for lease, _ in given_back(stage)] == [1, 2, 3]  # the bag has ended


def test_work_that_comes_back_finds_the_machines_that_are_there_before_more_are_leased() -> None:
    stage, _ = tail(repeatable=True)
    stage.wait(600)
    stage.gone(2, "vanished")  # its task goes to the first, which stands idle in its paid hour
    assert len(leased(stage)) == 3
    assert [one.host for one in of(stage, Assign)][-1] == "m1"
    stage.gone(3, "vanished")
    assert leased(stage)[3:] == [(4, "cloud")]


def test_a_free_machine_may_stand_idle() -> None:
    stage, _ = tail(Pool("home", max=3, lease_us=10 * HOUR))
    stage.wait(9 * 3600)
    assert given_back(stage) == []


def test_no_more_are_leased_than_there_is_work_for() -> None:
    stage = Stage(CLOUD)
    stage.host("mine", pool="home", cores=2)
    stage.submit(3, trial_us=0)
    assert len(leased(stage)) == 1  # there is room for two on a machine of one's own
    stage.silent("mine")
    stage.wait(10)
    assert len(leased(stage)) == 3


def test_a_machine_runs_as_many_as_the_last_of_its_pool() -> None:
    stage = Stage(CLOUD)
    first = stage.submit(1, trial_us=0)
    stage.host("m1", lease=1, cores=4)
    stage.change(first, Change.CANCEL)
    stage.gone(1)
    stage.submit(8, trial_us=0)
    assert len(leased(stage)) == 1 + 2


def test_room_that_another_bag_takes_is_looked_for_again() -> None:
    stage = Stage(CLOUD)
    first = stage.submit(1, trial_us=0, pools=("home",))
    stage.host("mine", pool="home")
    second = stage.submit(1, trial_us=0)
    assert leased(stage) == []
    assert [one.bag for one in stage.offer("mine")] == [first]
    stage.wait(10)
    assert [one.bag for one in of(stage, Acquire)] == [second]


def test_a_machine_that_turns_out_too_small_does_not_keep_others_away() -> None:
    dearer = Billing(2_000_000, "USD", HOUR)
    small, large = CLOUD, Pool("large", max=3, billing=dearer, lease_us=HOUR)
    stage = Stage(large, small)
    stage.submit(1, trial_us=0, needs={"cores": 4000})
    assert leased(stage) == [(1, "cloud")]
    stage.host("m1", pool="cloud", lease=1, cores=1)
    stage.wait(10)
    assert leased(stage)[1:] == [(2, "large")]
    stage.wait(3540)
    assert given_back(stage) == [(1, IDLE)]


def test_what_waits_is_leased_for_once_and_where_it_costs_least() -> None:
    dear = Pool("dear", max=3, billing=Billing(9_000_000, "USD", HOUR), lease_us=10 * HOUR)
    by_second = Billing(500, "USD", SECOND)  # 1.80 USD an hour
    second = Pool("second", max=2, billing=by_second, lease_us=10 * HOUR)
    stage = Stage(dear, second, CLOUD)
    stage.submit(1, trial_us=0)
    assert leased(stage) == [(1, "cloud")]
    stage.submit(6, trial_us=0)  # of three machines one is lent already
    assert [pool for _, pool in leased(stage)[1:]] == ["cloud"] * 2 + ["second"] * 2 + ["dear"] * 2
    stage.gone(2, "vanished")
    assert len(leased(stage)) == 8


def test_a_dearer_machine_is_leased_when_the_cheap_one_does_not_come() -> None:
    dear = Pool("dear", max=1, billing=Billing(9_000_000, "USD", HOUR), lease_us=10 * HOUR)
    free = Pool("free", max=1, lease_us=HOUR)
    stage = Stage(dear, free)
    stage.submit(1, trial_us=0)
    assert leased(stage) == [(1, "free")]
    for lease in (1, 2):
        stage.gone(lease, "exit 1")
    assert leased(stage)[1:] == [(2, "free"), (3, "dear")]  # the free one is not asked for a while


def test_prices_in_different_money_are_not_compared() -> None:
    hours = Pool("hours", max=1, billing=Billing(1, "SU", HOUR), lease_us=HOUR)
    stage = Stage(CLOUD, hours)
    stage.submit(1, trial_us=0)
    assert leased(stage) == [(1, "cloud")]


def test_an_idle_machine_is_no_help_to_a_task_that_failed_there() -> None:
    """It waits for the other host, which is at work; so another machine is worth its price."""
    stage = Stage(CLOUD)
    stage.host("mine", pool="home")
    stage.submit(3, trial_us=0, retries=Retries(task_failed=3))
    stage.offer("mine")
    for lease, pool in leased(stage):
        stage.host(f"m{lease}", pool=pool, lease=lease)
    first, second = stage.offer("m1")[0], stage.offer("m2")[0]
    stage.succeed(second)
    stage.gone(2)
    stage.fail(first)
    assert stage.offer("m1") == []
    assert len(leased(stage)) == 3


def test_the_units_of_a_machine_at_work_are_not_watched() -> None:
    seconds = Pool("cloud", max=1, billing=Billing(1, "USD", SECOND), lease_us=10 * HOUR)
    stage, (one,) = tail(seconds, tasks=1, done=0)
    looks = 0
    while (wakeup := stage.scheduler.next_wakeup()) is not None and wakeup < HOUR and looks < 9:
        stage.wait((wakeup - stage.now) / SECOND)
        looks += 1
    assert looks == 1  # it was taken before it had a task
    stage.wait(3600 - stage.now / SECOND)
    stage.succeed(one, run_s=3590)
    assert stage.phase(1) == "finished"


def test_one_that_something_waits_for_is_kept() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(2, trial_us=0, round_us=2 * HOUR)  # its tasks may be matched after that
    for lease in (1, 2):
        stage.host(f"m{lease}", lease=lease)
        stage.offer(f"m{lease}")
    stage.wait(3590)
    assert given_back(stage) == []
    assert "2 of its machines are idle, and given back before" in stage.explain(f"bag {bag}")
    stage.wait(3610)
    assert len(of(stage, Assign)) == 2


def test_tasks_yet_to_arrive_keep_no_machine_and_lease_one_when_they_come() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(9, arrived=1, trial_us=0)
    assert len(leased(stage)) == 1
    stage.host("m1", lease=1)
    stage.succeed(stage.offer("m1")[0], run_s=10)
    stage.offer("m1")
    stage.wait(60)
    assert [one.host for one in stage.arrive(bag, 2)] == ["m1"]  # it is there, and paid
    stage.succeed(of(stage, Assign)[-1], run_s=10)
    stage.offer("m1")
    stage.wait(3490)
    assert given_back(stage) == [(1, IDLE)]
    stage.gone(1)
    assert len(leased(stage)) == 1
    stage.arrive(bag, 4)
    assert len(leased(stage)) == 3


def test_a_reliable_machine_is_leased_when_replication_wants_it_and_goes_with_that() -> None:
    ntdmr = Strategy("ntdmr", {"n": 0, "t_s": 60.0, "d_s": 90_000.0, "mr": 1.0})
    stage = Stage(CLOUD, SPOT)
    stage.submit(3, trial_us=0, repeatable=True, replication=ntdmr)
    assert leased(stage) == [(1, "spot"), (2, "spot")]
    for lease in (1, 2):
        stage.host(f"m{lease}", pool="spot", lease=lease)
    (slow,) = stage.offer("m2")
    for _ in range(2):
        stage.succeed(stage.offer("m1")[0], run_s=10)
    assert stage.offer("m1") == []  # the tail: one task is left on two machines that may fail
    stage.wait(61)
    assert leased(stage)[2:] == [(3, "cloud")]
    stage.host("d1", pool="cloud", lease=3)
    assert [one.index for one in stage.offer("d1")] == [slow.index]
    stage.wait(3500)
    assert given_back(stage) == [(1, IDLE)]


def test_preempted_tasks_do_not_wait_for_a_pool_that_replication_sends_nothing() -> None:
    ntdmr = Strategy("ntdmr", {"n": 2})
    stage = Stage(CLOUD, Pool("grid", max=0, reliable=False))
    stage.host("g1", pool="grid")
    stage.submit(3, trial_us=0, repeatable=True, replication=ntdmr)
    for _ in range(4):
        (one,) = stage.offer("g1")
        stage.end(one, Outcome.PREEMPTED)
    assert one.index == 0  # wanted on a reliable pool by now, but the tail has not begun
    assert len(stage.offer("g1")) == 1
    assert leased(stage) == []


def test_where_nobody_cheap_can_be_paid_the_reliable_do_it_all() -> None:
    ntdmr = Strategy("ntdmr", {"n": 1})
    dear = Pool("spot", max=2, billing=Billing(9, "SU", HOUR), lease_us=HOUR, reliable=False)
    stage = Stage(CLOUD, dear)
    stage.submit(3, repeatable=True, replication=ntdmr, budget={"SU": 5})
    assert {pool for _, pool in leased(stage)} == {"cloud"}


def test_a_restart_forgets_neither_the_look_nor_what_was_given_back() -> None:
    stage, sent = tail()
    stage.wait(1000)
    stage.restart()
    stage.back("m1", "m2", "m3")
    assert "1 of its machines is idle" in stage.explain("bag 1")
    stage.wait(2540)
    assert given_back(stage) == [(1, IDLE)]
    for _ in range(2):
        stage.restart()
        assert "1 idle machine was given back at the end of a paid unit." in stage.explain("bag 1")
        stage.gone(1)
    stage.back("m2", "m3")
    for one in sent[1:]:
        stage.succeed(one)
    assert stage.phase(1) == "finished"


# money


def test_an_idle_machine_takes_no_money_that_one_at_work_needs() -> None:
    """Leases of an hour: two hours are paid for the machine at work, one for each of the others."""
    hourly = Pool("cloud", max=3, billing=CLOUD.billing, lease_us=HOUR)
    stage, sent = tail(hourly, done=2, budget={"USD": 4_000_000})
    stage.wait(3240)
    assert of(stage, Renew) == [Renew(3, 2 * HOUR)]
    stage.wait(3600)
    for lease in (1, 2):
        stage.gone(lease)
    stage.succeed(sent[2])
    stage.gone(3)
    assert stage.scheduler.state.bags[1].paid == {"USD": 4_000_000}


def test_one_that_gets_work_after_all_is_renewed_before_its_end() -> None:
    hourly = Pool("cloud", max=3, billing=CLOUD.billing, lease_us=HOUR)
    stage, _ = tail(hourly, repeatable=True)
    stage.wait(3240)
    assert [one.lease for one in of(stage, Renew)] == [2, 3]
    stage.gone(2, "vanished")
    stage.wait(270)  # a quarter of the rest is left
    assert [one.lease for one in of(stage, Renew)] == [2, 3, 1]
    assert given_back(stage) == []


def test_a_short_lease_is_renewed_within_the_hour_that_is_paid() -> None:
    short = Pool("cloud", max=3, billing=CLOUD.billing, lease_us=600 * SECOND)
    stage, _ = tail(short)
    for _ in range(354):
        stage.wait(10)
    assert stage.tables.leases[1].state is LeaseState.ENDING
    assert stage.tables.leases[1].ends_us == HOUR
    assert given_back(stage) == [(1, IDLE)]


UNITS = st.sampled_from([1, 1000, SECOND, 7 * SECOND, 60 * SECOND, HOUR])


@given(UNITS, st.integers(0, 3 * HOUR), st.integers(0, 10 * HOUR), st.integers(0, 10**15))
def test_a_lease_is_looked_at_before_each_unit_and_never_stands_still(
    unit: int, minimum: int, lasted: int, since: int
) -> None:
    """Of units below ten seconds, before every so many."""
    billing = Billing(1, "USD", unit, minimum)
    state, looks = State(), []
    state.now = since + lasted
    for _ in range(12):
        watch(state, LeaseRow(1, "cloud", 1, LeaseState.UP, since, since, billing=billing))
        ((at, _, _),) = state.timers.coming()
        list(state.timers.due(at))
        assert at > state.now
        state.now = at
        looks.append(at - since)
    if unit > 10 * SECOND:
        assert all(billing.units(at + 1) == billing.units(at) for at in looks)
    span = unit + 10 * SECOND
    assert all(after - before <= span for before, after in pairwise(looks))
    assert looks[0] <= max(lasted, minimum) + 2 * span


def test_in_the_tail_idle_reliable_hosts_do_not_stand_for_unreliable_ones() -> None:
    """The last of those goes with its task, which is wanted on another of them."""
    home = Pool("home", max=0)
    strategy = Strategy("ntdmr", {"n": 3, "t_s": 600.0})
    stage, sent = tail(SPOT, home, tasks=2, done=0, replication=strategy)
    for name in ("h0", "h1"):
        stage.host(name, pool="home")
        stage.offer(name)
    stage.succeed(sent[0])
    stage.gone(1)
    stage.end(sent[1], Outcome.LOST)
    stage.gone(2)
    stage.wait(120)
    assert [pool for _, pool in leased(stage)] == ["spot"] * 3
