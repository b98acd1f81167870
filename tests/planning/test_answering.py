"""What a bag in its tail is answered."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tailrace.errors import BadInput
from tailrace.knowledge.inquiry import Inquiry, Left, Out, Seen, said
from tailrace.knowledge.sendings import Fate
from tailrace.planning.answering import answer
from tailrace.pools.terms import Billing, Pays
from tailrace.quantities import price

SECOND = 1_000_000
BY_RESULT = Billing.at(price("0.34 USD/h"), SECOND, pays=Pays.RETURNED)
CHEAP = Billing.at(price("0.01 USD/h"), SECOND, pays=Pays.RETURNED)


def inquiry(share: float = 0.8, **changed: object) -> Inquiry:
    """A hundred attempts of 10 to 20 s were seen, of which this share came back; ten tasks are out
    since 5 s, and there are twenty hosts, and two reliable ones."""
    rng = np.random.default_rng(1)
    seen = [
        Seen(round(start * SECOND), round(took * SECOND), Fate.RETURNED)
        if back < share
        else Seen(round(start * SECOND), 60 * SECOND, Fate.EXPIRED)
        for start, took, back in zip(
            np.linspace(0, 100, 100), rng.uniform(10, 20, 100), rng.random(100), strict=True
        )
    ]
    out = [Out(n, False, 5 * SECOND, 55 * SECOND) for n in range(10)]
    asked = Inquiry(
        1, 170 * SECOND, 170 * SECOND, "product", 3, (Left(0, False),) * 10, tuple(out), 20, 2,
        tuple(seen), turnaround_us=15 * SECOND, patience_us=60 * SECOND, cancel=False,
        cheap=CHEAP, dear=BY_RESULT,
    )  # fmt: skip
    return replace(asked, **changed)


def test_each_preference_has_its_plan() -> None:
    """Time falls, and cost rises, from the cheapest to the fastest."""
    plans = {name: answer(inquiry(prefer=name)) for name in ("cost", "product", "makespan")}
    lasts = [plans[name].lasts.mean for name in ("makespan", "product", "cost")]
    costs = [plans[name].costs.mean for name in ("cost", "product", "makespan")]
    assert lasts == sorted(lasts) and costs == sorted(costs)
    assert plans["makespan"].lasts.mean < plans["cost"].lasts.mean
    for plan in plans.values():
        assert plan.lasts.low <= plan.lasts.mean <= plan.lasts.high
        assert 0 < plan.t_us <= plan.d_us or plan.t_us == 0
        assert plan.left == 10 and plan.number == 1 and plan.currency == "USD"
        assert 0 < plan.efficient <= plan.looked_at
        assert "attempt" in said(plan) or "reliable" in said(plan)


def test_within_a_budget_it_is_the_fastest_and_within_a_deadline_the_cheapest() -> None:
    fastest, cheapest = answer(inquiry(prefer="makespan")), answer(inquiry(prefer="cost"))
    rich = answer(inquiry(prefer="budget", budget=10**9))
    assert rich.lasts.mean == fastest.lasts.mean
    poor = answer(inquiry(prefer="budget", budget=fastest.costs.mean // 2))
    assert poor.costs.mean <= fastest.costs.mean // 2
    assert poor.lasts.mean > fastest.lasts.mean
    late = answer(inquiry(prefer="deadline", deadline_us=3600 * SECOND))
    assert late.costs.mean == cheapest.costs.mean


def test_what_nobody_can_meet_is_met_as_nearly_as_can_be() -> None:
    assert answer(inquiry(prefer="deadline", deadline_us=1)).lasts.mean == pytest.approx(
        answer(inquiry(prefer="makespan")).lasts.mean
    )
    least = answer(inquiry(prefer="cost"))
    assert answer(inquiry(prefer="budget", budget=1)).costs.mean == least.costs.mean


def test_without_a_reliable_host_tasks_go_to_the_others_without_end() -> None:
    plan = answer(inquiry(dear_hosts=0))
    assert plan.n < 0 and plan.mr == 0


def test_a_wide_range_of_reliable_hosts_is_looked_at_in_no_more_than_ten_steps() -> None:
    narrow, wide = (answer(inquiry(dear_hosts=hosts)) for hosts in (2, 20))
    a_step = 4 * 20  # N, and pairs of T and D, for each ratio; of a tenth there are five
    assert wide.looked_at - narrow.looked_at == (10 - 5) * a_step


def test_the_more_the_bag_has_cost_the_more_a_second_is_worth() -> None:
    """Time × cost are those of the whole bag: a cent more is little beside what is paid already."""
    fastest, cheapest = (answer(inquiry(prefer=name)) for name in ("makespan", "cost"))
    ones = [answer(inquiry(spent=spent)) for spent in (0, 30_000, 10**9)]
    lasts = [one.lasts.mean for one in ones]
    assert lasts == sorted(lasts, reverse=True) and lasts[0] > lasts[-1]
    assert ones[0].costs.mean < ones[-1].costs.mean
    assert ones[-1].lasts.mean == fastest.lasts.mean
    assert cheapest.costs.mean <= ones[0].costs.mean


def test_the_longer_a_tail_has_lasted_the_less_is_paid_for_a_second() -> None:
    long_ago = -(10**8) * SECOND
    now, later = (answer(inquiry(spent=10**6, **when)) for when in ({}, {"tail_us": long_ago}))
    assert later.costs.mean == answer(inquiry(prefer="cost")).costs.mean < now.costs.mean


def test_the_same_question_has_the_same_answer() -> None:
    assert answer(inquiry()) == answer(inquiry())


def test_too_few_results_are_no_ground_for_a_plan() -> None:
    few = inquiry().seen[:3]
    with pytest.raises(BadInput, match="results are too few"):
        answer(inquiry(seen=few))


def test_a_pool_that_loses_much_is_planned_otherwise() -> None:
    good, bad = (answer(inquiry(share=share, prefer="makespan")) for share in (1.0, 0.4))
    assert bad.lasts.mean > 1.2 * good.lasts.mean
