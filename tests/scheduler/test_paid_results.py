"""Where results are paid, and not the time of machines: what is paid, by whom, and within what."""

from __future__ import annotations

from typing import Any

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Limits, Strategy
from tailrace.pools.terms import Billing, Pays, Pool
from tailrace.quantities import price
from tailrace.scheduler.decisions import Acquire, Assign, Renew
from tailrace.scheduler.events import Change

from .stage import SECOND, Stage

HOUR = 3600 * SECOND
PRICE = price("0.36 USD/h")  # 100 micro-units a second


def grid(pays: Pays = Pays.ACCEPTED, most: int = 3, **facts: Any) -> Pool:
    billing = Billing.at(PRICE, 1, pays=pays)
    return Pool("grid", max=most, billing=billing, **{"lease_us": HOUR, "reliable": False, **facts})


def staffed(pool: Pool, tasks: int, **terms: Any) -> tuple[Stage, list[Assign]]:
    """All machines that it leases have called, and asked for work."""
    stage = Stage(pool)
    stage.submit(tasks, trial_us=0, repeatable=True, **terms)
    return stage, called(stage)


def called(stage: Stage) -> list[Assign]:
    sent = []
    for one in [one for one in stage.all if isinstance(one, Acquire)]:
        if f"g{one.lease}" not in stage.seen:
            stage.host(f"g{one.lease}", pool="grid", lease=one.lease)
            sent += stage.offer(f"g{one.lease}")
    return sent


def spent(stage: Stage, bag: int = 1) -> int:
    return stage.scheduler.state.bags[bag].paid.get("USD", 0)


def test_only_accepted_results_are_paid_by_their_run_time() -> None:
    stage, (first, second, third) = staffed(grid(), 4)
    stage.wait(2000)  # that machines stand and work costs nothing by itself
    stage.succeed(first, run_s=30)
    assert spent(stage) == 3000
    stage.fail(second)
    stage.end(third, Outcome.PREEMPTED, run_us=100 * SECOND)
    assert spent(stage) == 3000
    stage.succeed(stage.offer(first.host)[0], run_s=10.00001)
    assert spent(stage) == 4001  # rounded up once
    assert sum(row.billed for row in stage.tables.leases.values()) == 4001


def test_a_second_result_is_paid_where_the_terms_say_so() -> None:
    for pays, cost in ((Pays.ACCEPTED, 1000), (Pays.RETURNED, 3000)):
        wqr = Strategy("wqr", {"most": 2})
        stage, sent = staffed(grid(pays, most=2), 2, replication=wqr)
        stage.succeed(sent[0])
        (again,) = stage.offer(sent[0].host)
        assert again.index == sent[1].index
        stage.succeed(sent[1], run_s=0)
        paid = spent(stage)
        stage.succeed(again, run_s=20)  # it had ended before it heard that it is not wanted
        assert spent(stage) - paid == (cost - 1000)


def test_the_budget_pays_for_the_longest_that_the_results_may_take() -> None:
    """A result of ten minutes costs 60,000: two of them may be out at once."""
    limits = Limits(time_us=600 * SECOND)
    stage, sent = staffed(grid(), 5, limits=limits, budget={"USD": 130_000})
    assert len(sent) == 2
    assert "That pays for no other result" in stage.explain("bag 1")
    stage.succeed(sent[0], run_s=1)
    assert len(stage.offer(sent[0].host)) == 1  # it took less, and so there is money for another
    assert len(stage.tables.leases) == 2  # and no third machine, which could do nothing
    stage.restart()
    stage.back("g1", "g2")
    assert [stage.offer(host) for host in ("g1", "g2")] == [[], []]
    assert spent(stage) == 100


def test_a_bag_is_stopped_when_no_other_result_can_be_paid() -> None:
    stage, (one,) = staffed(grid(most=1), 2, budget={"USD": 500_000})
    stage.wait(1800)
    stage.succeed(one, run_s=1800)
    stage.offer(one.host)  # in the half hour that is left of the lease there is money for it
    assert stage.phase(1) == "running"
    (other,) = [each for each in stage.all if isinstance(each, Assign)][1:]
    stage.wait(1440)  # it should be renewed, but half an hour and an hour more cannot be paid
    assert not [each for each in stage.all if isinstance(each, Renew)]
    stage.wait(360)
    stage.gone(1)
    assert stage.phase(1) == "stopped"
    assert stage.tables.bags[1].why == (
        "the budget of 0.50 USD does not pay for another result: up to 0.36 USD for 1h of pool "
        "grid, with 0.18 USD spent and 0 USD committed; it takes a budget of 0.54 USD, or a lower "
        "price"
    )
    assert other.index == 1


def test_machines_work_for_the_bag_alone_that_pays_for_the_results() -> None:
    stage = Stage(grid(most=2))
    first = stage.submit(2, trial_us=0)
    sent = called(stage)
    second = stage.submit(2, trial_us=0)
    stage.change(first, Change.PAUSE)
    assert {one.bag for one in sent} == {first}
    for one in sent:
        stage.succeed(one)
        assert stage.offer(one.host) == []
    for lease in (1, 2):
        stage.gone(lease)
    assert {one.bag for one in called(stage)} == {second}
    assert (spent(stage, first), spent(stage, second)) == (2000, 0)


def test_a_renewed_lease_commits_more_for_what_runs_on_it() -> None:
    stage, (one,) = staffed(grid(most=1), 1, budget={"USD": 800_000})
    assert stage.scheduler.state.bags[1].owed == {"USD": 360_000}
    stage.wait(3300)
    assert stage.scheduler.state.bags[1].owed == {"USD": 720_000}
    stage.wait(1000)
    stage.succeed(one, run_s=10**9)  # a clock that is wrong bills no more than was committed
    assert spent(stage) == 720_000 and stage.scheduler.state.bags[1].owed == {"USD": 0}
    assert stage.phase(1) == "finished"
