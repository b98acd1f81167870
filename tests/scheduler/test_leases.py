"""Machines that are wanted, those that are there, and the money they cost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tailrace.bag.outcome import Outcome
from tailrace.pools.terms import Billing, Pool
from tailrace.scheduler.decisions import Acquire, Assign, Release, Renew, StopBag
from tailrace.scheduler.events import Change, LeaseChanged, LeaseState

from .stage import SECOND, Stage, kinds

HOUR = 3600 * SECOND
CLOUD = Pool("cloud", max=2, billing=Billing(1_000_000, "USD", HOUR), lease_us=HOUR)


def of(stage: Stage, kind: type[Any]) -> list[Any]:
    return [one for one in stage.all if isinstance(one, kind)]


def test_a_bag_leases_what_its_pools_lend_and_remembers_it_before_the_driver_is_called() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(10)
    assert kinds(stage.last) == ["Remember", "Remember", "Acquire", "Remember", "Acquire"]
    assert of(stage, Acquire) == [Acquire(1, "cloud", bag, HOUR), Acquire(2, "cloud", bag, HOUR)]
    row = stage.tables.leases[1]
    assert (row.state, row.wanted_us, row.ends_us) == (LeaseState.WANTED, 0, HOUR)


def test_a_bag_leases_no_more_machines_than_it_has_tasks() -> None:
    stage = Stage(Pool("cloud", max=50))
    stage.submit(3)
    assert len(of(stage, Acquire)) == 3


@pytest.mark.parametrize(
    ("said", "needs", "leases"),
    [
        ({}, {"cores": 1000}, 8),  # nobody knows: one task each
        ({"cores": 4000}, {"cores": 1000}, 2),
        ({"cores": 4000}, {"cores": 2000}, 4),
        ({"cores": 4000}, {"cores": 1000, "memory": 10**9}, 2),  # of memory nothing is said
        ({"cores": 4000, "memory": 3 * 10**9}, {"cores": 1000, "memory": 10**9}, 3),
        ({"memory": 10**9}, {"cores": 1000, "memory": 10**9}, 8),  # of cores nothing is said
    ],
)
def test_before_any_machine_has_called_the_terms_say_how_many_tasks_one_runs(
    said: dict[str, int], needs: dict[str, int], leases: int
) -> None:
    stage = Stage(replace(CLOUD, max=50, capacity=said))
    stage.submit(8, needs=needs)
    assert len(of(stage, Acquire)) == leases


def test_what_a_machine_has_counts_for_more_than_what_was_said() -> None:
    stage = Stage(replace(CLOUD, max=50, capacity={"cores": 4000}))
    stage.submit(8, trial_us=0)
    stage.host("m1", lease=1, cores=2)
    stage.offer("m1")
    assert len(of(stage, Acquire)) == 4


def test_a_lease_is_starting_and_then_up_when_its_worker_calls() -> None:
    stage = Stage(CLOUD)
    stage.submit(10)
    stage.tell(LeaseChanged(1, LeaseState.STARTING))
    assert stage.tables.leases[1].state is LeaseState.STARTING
    stage.host("m1", lease=1)
    row = stage.tables.leases[1]
    assert (row.state, row.host, row.up_us) == (LeaseState.UP, "m1", 0)


def test_a_lease_is_renewed_when_a_tenth_is_left_and_no_sooner() -> None:
    stage = Stage(Pool("cloud", max=1, lease_us=HOUR))
    stage.submit(10)
    stage.host("m1", lease=1)
    stage.wait(3239)
    assert of(stage, Renew) == []
    stage.wait(1)
    assert of(stage, Renew) == [Renew(1, 2 * HOUR)]


def test_a_restart_renews_nothing_by_itself() -> None:
    stage = Stage(Pool("cloud", max=1, lease_us=HOUR))
    stage.submit(10)
    stage.host("m1", lease=1)
    for _ in range(5):
        stage.wait(10)
        stage.restart()
    assert of(stage, Renew) == []
    stage.wait(3300)
    assert len(of(stage, Renew)) == 1


def test_all_leases_are_released_when_the_bag_ends() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(2)
    stage.host("m1", lease=1)
    for _ in range(2):
        stage.succeed(stage.offer("m1")[0])
    assert stage.phase(bag) == "finished"
    assert [one.lease for one in of(stage, Release)] == [1, 2]
    assert stage.tables.leases[1].state is LeaseState.ENDING


def test_a_pause_releases_and_what_ran_is_preempted() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(5)
    stage.host("m1", lease=1)
    (one,) = stage.offer("m1")
    stage.change(bag, Change.PAUSE)
    stage.gone(1)
    assert stage.tables.outcomes[one.attempt] is Outcome.PREEMPTED
    stage.change(bag, Change.RESUME)
    assert len(of(stage, Acquire)) == 3  # the other is not yet gone: a pool lends two at once


def test_a_machine_that_vanishes_loses_its_attempts_and_is_replaced() -> None:
    stage = Stage(CLOUD)
    stage.submit(50)
    stage.host("m1", lease=1)
    stage.pass_trial("m1")
    (one,) = stage.offer("m1")
    stage.gone(1, "vanished")
    assert stage.tables.outcomes[one.attempt] is Outcome.LOST
    assert [lease.lease for lease in of(stage, Acquire)] == [1, 2, 3]


def test_a_machine_whose_end_has_come_is_preempted_not_lost() -> None:
    stage = Stage(CLOUD)
    stage.submit(50, budget={"USD": 2_000_000})
    stage.host("m1", lease=1)
    stage.pass_trial("m1")
    (one,) = stage.offer("m1")
    stage.wait(3599)
    stage.gone(1, "its end of life")
    assert stage.tables.outcomes[one.attempt] is Outcome.PREEMPTED


def test_an_unknown_lease_may_be_gone_as_often_as_it_likes() -> None:
    stage = Stage(CLOUD)
    stage.submit(5)
    stage.gone(1)
    before = len(stage.all)
    for lease in (1, 1, 99):
        stage.gone(lease)
    assert len(stage.all) == before


def test_two_bags_share_what_a_pool_lends() -> None:
    stage = Stage(CLOUD)
    first, second = stage.submit(9), stage.submit(9)
    assert [one.bag for one in of(stage, Acquire)] == [first, first]
    stage.change(first, Change.CANCEL)
    stage.gone(1)
    stage.gone(2)
    assert [one.bag for one in of(stage, Acquire)] == [first, first, second, second]


def test_a_pool_that_is_not_there_any_more_is_left() -> None:
    stage = Stage(CLOUD)
    stage.submit(9)
    stage.restart(pools=(Pool("home", max=0),))
    assert [one.lease for one in of(stage, Release)] == [1, 2]
    stage.gone(1)
    stage.wait(7200)


# money


def test_no_lease_is_taken_that_the_budget_does_not_pay() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(50, budget={"USD": 1_500_000})
    assert len(of(stage, Acquire)) == 1
    told = stage.explain(f"bag {bag}")
    assert "Of its budget of 1.50 USD, 1 USD is spent and 0 USD more is bound" in told


def test_a_lease_is_not_renewed_without_money_and_then_the_bag_is_stopped() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(50, budget={"USD": 1_500_000})
    stage.host("m1", lease=1)
    stage.wait(3600)
    assert of(stage, Renew) == []
    assert [one.why for one in of(stage, Release)] == ["its time is over"]
    assert stage.phase(bag) == "running"
    stage.gone(1)
    why = (
        "the budget of 1.50 USD does not pay for another lease: 1 USD for 1h of pool cloud, "
        "with 1 USD spent and 0 USD committed; it takes a budget of 2 USD, or a lower price"
    )
    assert of(stage, StopBag) == [StopBag(bag, why)]
    assert stage.phase(bag) == "stopped"


def test_a_bag_is_not_stopped_while_a_cheaper_pool_can_be_paid() -> None:
    stage = Stage(CLOUD, Pool("home", max=1))
    bag = stage.submit(50, budget={"USD": 0})
    assert [one.pool for one in of(stage, Acquire)] == ["home"]
    assert stage.phase(bag) == "running"


def test_a_bag_is_not_stopped_while_a_machine_of_one_s_own_works_for_it() -> None:
    stage = Stage(CLOUD)
    stage.host("mine")
    bag = stage.submit(50, budget={"USD": 0})
    assert stage.phase(bag) == "running"
    stage.restart(grace_us=60 * SECOND)
    assert stage.phase(bag) == "running"
    stage.back("mine")
    stage.wait(61)
    assert stage.phase(bag) == "running"
    stage.silent("mine")
    assert stage.phase(bag) == "stopped"


def test_a_lease_costs_nothing_past_its_end_however_late_we_hear_of_it() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(50, budget={"USD": 2_000_000})
    stage.now += 40 * HOUR
    stage.restart()
    for lease in (1, 2):
        stage.gone(lease)
    assert stage.scheduler.state.bags[bag].paid == {"USD": 2_000_000}
    assert of(stage, Renew) == []


def test_a_lease_is_paid_at_the_price_it_was_taken_for() -> None:
    stage = Stage(CLOUD)
    bag = stage.submit(50, budget={"USD": 2_000_000})
    dear = Pool("cloud", max=2, billing=Billing(9_000_000, "USD", HOUR), lease_us=HOUR)
    stage.restart(pools=(dear,))
    assert "2 USD is spent" in stage.explain(f"bag {bag}")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_spent_and_committed_never_pass_the_budget(data: st.DataObject) -> None:
    """Whatever the prices, units and minima, whoever dies, whenever the server does."""
    draw = data.draw
    pools = tuple(
        Pool(
            name,
            max=draw(st.integers(0, 3)),
            lease_us=draw(st.integers(1, 100)) * SECOND,
            billing=Billing(
                draw(st.integers(0, 50)),
                draw(st.sampled_from(["USD", "SU"])),
                draw(st.integers(1, 70)) * SECOND,
                draw(st.sampled_from([0, 30 * SECOND])),
            ),
        )
        for name in ("x", "y")
    )
    stage = Stage(*pools)  # the scheduler itself checks the money after each event
    budget = {"USD": draw(st.integers(0, 500)), "SU": draw(st.integers(0, 500))}
    bag = stage.submit(100, budget=budget)
    for _ in range(draw(st.integers(1, 30))):
        stage.wait(draw(st.sampled_from([0.5, 3, 10, 40, 200])))
        leases = sorted(stage.tables.leases)
        if leases and draw(st.booleans()):
            lease = draw(st.sampled_from(leases))
            stage.gone(lease)
        elif leases and draw(st.booleans()):
            lease = draw(st.sampled_from(leases))
            stage.host(f"m{lease}", pool=stage.tables.leases[lease].pool, lease=lease)
        if draw(st.integers(0, 4)) == 0:
            stage.restart()
        if draw(st.integers(0, 4)) == 0:
            stage.change(bag, draw(st.sampled_from([Change.PAUSE, Change.RESUME])))
    assert bill(stage, bag) == {**dict.fromkeys(budget, 0), **bill(stage, bag)}
    for currency, cost in bill(stage, bag).items():
        assert cost <= budget[currency]


def bill(stage: Stage, bag: int) -> dict[str, int]:
    """What a provider asks who knows nothing of us but when machines were there, at worst."""
    costs = {"USD": 0, "SU": 0}
    for row in stage.tables.leases.values():
        end = row.ends_us if row.gone_us is None else min(row.gone_us, row.ends_us)
        costs[row.billing.currency] += row.billing.cost(end - row.wanted_us)
    return costs


def test_a_machine_whose_lease_was_released_gets_no_more_work() -> None:
    stage = Stage(CLOUD)
    first, second = stage.submit(1), stage.submit(9, pools=("cloud",))
    stage.host("m1", lease=1)
    for one in stage.offer("m1"):
        if one.bag == first:
            stage.succeed(one)
    assert stage.phase(first) == "finished"
    assert stage.offer("m1") == []
    assert "Its lease is over" in stage.explain("host m1")
    assert stage.phase(second) == "running"


def _guest() -> tuple[Stage, Assign]:
    """A machine that the first bag pays, and that works for the second when the first ends."""
    stage = Stage(CLOUD)
    first, second = stage.submit(1), stage.submit(9)
    stage.host("m1", lease=1, cores=2)
    trial, guest = stage.offer("m1")
    assert (trial.bag, guest.bag) == (first, second)
    stage.succeed(trial)
    assert stage.phase(first) == "finished"
    return stage, guest


def test_what_runs_for_another_bag_may_end_before_the_lease_is_given_back() -> None:
    stage, guest = _guest()
    assert not [one for one in stage.all if isinstance(one, Release)]
    assert stage.offer("m1") == []
    assert [one.lease for one in stage.succeed(guest) if isinstance(one, Release)] == [1]


def test_a_lease_that_was_to_be_given_back_is_used_when_its_bag_goes_on() -> None:
    stage = Stage(CLOUD)
    first, second = stage.submit(9), stage.submit(9)
    stage.host("m1", lease=1, cores=2)
    sent = stage.offer("m1")
    assert [one.bag for one in sent] == [first, second]
    stage.change(first, Change.PAUSE)
    assert stage.offer("m1") == []
    stage.change(first, Change.RESUME)
    stage.succeed(sent[0])
    assert [one.bag for one in stage.offer("m1")][:1] == [first]


def test_a_machine_whose_lease_is_not_known_gets_no_work() -> None:
    stage = Stage(CLOUD)
    stage.submit(9)
    stage.host("stranger", lease=77)
    assert stage.offer("stranger") == []


def test_why_a_machine_does_not_start_is_told_as_long_as_it_is_wanted():
    stage = Stage(Pool("spot", max=1))
    stage.submit(1)
    stage.tell(LeaseChanged(1, LeaseState.WANTED, "start: exit 3: the queue is closed"))
    assert "does not start: start: exit 3: the queue is closed" in stage.explain("bag 1")
    stage.restart()
    assert "the queue is closed" in stage.explain("bag 1")
    stage.tell(LeaseChanged(1, LeaseState.STARTING))
    assert "the queue is closed" not in stage.explain("bag 1")
