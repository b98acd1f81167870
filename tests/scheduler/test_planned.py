"""A tail that is planned: what is asked, what is done until it is answered, and after."""

from __future__ import annotations

from tests.scheduler.stage import SECOND, Stage, assigned

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries, Strategy
from tailrace.knowledge.inquiry import Forecast, Inquiry, Plan
from tailrace.knowledge.sendings import Fate
from tailrace.pools.terms import Billing, Late, Pool
from tailrace.scheduler.decisions import AnyDecision, Assign, Replan
from tailrace.scheduler.events import Change, PlanReady

CHEAP = Pool("cheap", max=0, reliable=False, late_results=Late.IGNORE)
DEAR = Pool("dear", max=0)
FORGIVING = Retries(expired=1000, lost=1000)
PATIENCE_S = 40


def staged(count: int, hosts: int, **options: str | float) -> tuple[Stage, list[Assign]]:
    stage = Stage(CHEAP, DEAR)
    strategy = Strategy("planned", {"patience_s": float(PATIENCE_S), **options})
    stage.submit(count, replication=strategy, trial_us=0, retries=FORGIVING)
    sent = []
    for number in range(hosts):
        stage.host(f"h{number}", pool="cheap")
        sent += stage.offer(f"h{number}")
    stage.host("d0", pool="dear")
    stage.offer("d0")
    return stage, sent


def asked(decisions: list[AnyDecision]) -> Inquiry | None:
    found = [one.inquiry for one in decisions if isinstance(one, Replan)]
    assert len(found) < 2
    return found[0] if found else None


def plan(number: int = 1, n: int = 1, t_s: float = 5, d_s: float = 30, dear: int = 1) -> Plan:
    nothing, mr = Forecast(0, 0, 0), dear / 3
    t_us, d_us = round(t_s * SECOND), round(d_s * SECOND)
    return Plan(number, n, t_us, d_us, mr, dear, 0, 2, nothing, nothing, "USD", 1, 1)


def in_tail() -> tuple[Stage, list[Assign], Inquiry]:
    """Three tasks on three hosts, of which one is done after 10 s."""
    stage, sent = staged(3, 3)
    stage.now = 10 * SECOND
    inquiry = asked(stage.succeed(sent[0]))
    assert inquiry is not None
    return stage, sent, inquiry


def test_a_plan_may_give_unreliable_hosts_no_time_at_all() -> None:
    """With N = 0 that is a strategy like others: all that is left goes to reliable ones."""
    stage, _, _ = in_tail()
    told = stage.tell(PlanReady(1, 1, plan(n=0, t_s=0, d_s=0))) + stage.wait(1)
    assert [one.host for one in assigned(told)] == ["d0"]


def test_nothing_is_asked_before_the_tail() -> None:
    stage, sent = staged(6, 2)
    assert asked(stage.succeed(sent[0])) is None
    assert not [one for one in stage.all if isinstance(one, Replan)]


def test_when_the_tail_begins_it_is_asked_with_all_that_was_seen() -> None:
    _, _, inquiry = in_tail()
    assert inquiry.number == 1
    assert inquiry.now_us == inquiry.tail_us == 10 * SECOND
    assert (inquiry.prefer, inquiry.cheap_hosts, inquiry.dear_hosts) == ("product", 3, 1)
    assert len(inquiry.left) == 2 and {(one.copies, one.dear) for one in inquiry.left} == {
        (0, False)
    }
    assert sorted((one.task, one.age_us, one.left_us) for one in inquiry.out) == [
        (0, 10 * SECOND, 30 * SECOND), (1, 10 * SECOND, 30 * SECOND)
    ]  # fmt: skip
    fates = sorted((one.fate, one.took_us) for one in inquiry.seen)
    assert fates == [(Fate.RETURNED, 10 * SECOND), (Fate.OUT, 10 * SECOND), (Fate.OUT, 10 * SECOND)]
    assert inquiry.late is False and inquiry.patience_us == PATIENCE_S * SECOND


def test_until_it_is_answered_no_task_is_sent_beside_itself() -> None:
    stage, _, _ = in_tail()
    assert stage.offer("h0") == [] and stage.offer("d0") == []
    stage.wait(20)
    assert stage.offer("h0") == [] and stage.offer("d0") == []


def test_the_answer_is_followed() -> None:
    """One copy 5 s after the last sending, which has passed; 5 s later a reliable host."""
    stage, _, _ = in_tail()
    stage.offer("h0")
    stage.tell(PlanReady(1, 1, plan()))
    copies = assigned(stage.wait(0))
    assert [(one.host, one.timeout_us) for one in copies] == [("h0", 30 * SECOND)]
    stage.offer("d0")
    dear = assigned(stage.wait(5))
    assert [(one.host, one.index) for one in dear] == [("d0", copies[0].index)]
    assert "plan 1: up to 1 attempt" in stage.explain("bag 1")


def test_an_answer_to_another_question_is_not_followed() -> None:
    stage, _, _ = in_tail()
    stage.offer("h0")
    assert assigned(stage.tell(PlanReady(1, 7, plan(7)))) == []
    assert assigned(stage.tell(PlanReady(9, 1, plan()))) == []


def test_without_an_answer_it_goes_on_as_before_and_asks_again() -> None:
    stage, sent, _ = in_tail()
    stage.offer("h0")
    stage.tell(PlanReady(1, 1, None, "too few results"))
    assert asked(stage.last) is None
    later = stage.wait(3600)
    inquiry = asked(later)
    assert inquiry is not None and inquiry.number == 2
    again = assigned([one for one in stage.all if isinstance(one, Assign)])
    assert {one.index for one in again[3:]} <= {one.index for one in sent[1:]}


def test_a_plan_is_renewed_and_the_new_one_holds() -> None:
    stage, sent = staged(3, 3, every_s=7.0)
    stage.now = 10 * SECOND
    stage.succeed(sent[0])
    stage.offer("h0")
    stage.tell(PlanReady(1, 1, plan(t_s=1000, d_s=2000)))
    assert asked(stage.wait(6)) is None
    inquiry = asked(stage.wait(1))
    assert inquiry is not None and inquiry.number == 2
    stage.tell(PlanReady(1, 2, plan(2)))
    copies = assigned(stage.wait(0))
    assert [one.host for one in copies] == ["h0"]


def test_a_plan_outlives_a_restart() -> None:
    stage, _, _ = in_tail()
    stage.tell(PlanReady(1, 1, plan()))
    stage.restart()
    assert stage.tables.bags[1].plan == plan()
    assert asked(stage.last) is not None, "what was seen since tells more"
    stage.back("h0", "h1", "h2", "d0")
    stage.offer("h0")
    copies = assigned(stage.wait(0))
    assert [one.timeout_us for one in copies] == [30 * SECOND]


def test_a_bag_that_grows_is_planned_anew() -> None:
    stage, _, _ = in_tail()
    stage.tell(PlanReady(1, 1, plan()))
    stage.grow(1, 10)
    sent = stage.offer("h0")
    assert [one.timeout_us for one in sent] == [PATIENCE_S * SECOND]
    assert stage.tables.bags[1].plan is None


def test_what_failed_and_what_expired_are_told_apart() -> None:
    """One host falls silent at once; another gives no answer until its time-out."""
    stage, sent = staged(4, 3)
    stage.silent("h1")
    stage.succeed(sent[2])
    stage.wait(PATIENCE_S)
    again = stage.offer("h2")
    stage.end(sent[0], Outcome.CANCELLED)
    again += stage.offer("h0")
    stage.now += SECOND
    inquiry = next(found for one in again if (found := asked(stage.succeed(one))))
    seen = {(one.fate, one.took_us) for one in inquiry.seen}
    assert {(Fate.FAILED, 0), (Fate.EXPIRED, PATIENCE_S * SECOND)} <= seen


def test_what_waits_under_one_plan_is_wanted_anew_under_the_next() -> None:
    """For a reliable host, of which the next plan has none; then the cheap ones must do."""
    stage, _, _ = in_tail()
    stage.tell(PlanReady(1, 1, plan(n=0, t_s=0)))
    stage.wait(0)
    inquiry = asked(stage.wait(3600))
    assert inquiry is not None
    stage.tell(PlanReady(1, 2, plan(2, n=-1, t_s=1, d_s=30, dear=0)))
    stage.offer("h0")
    stage.silent("h1")
    stage.silent("h2")
    stage.wait(0)
    again = [one for one in stage.all if isinstance(one, Assign)][3:]
    assert "h0" in [one.host for one in again]


def test_a_bag_with_too_few_results_asks_again_when_there_are_enough() -> None:
    stage, sent = staged(9, 12)
    assert asked(stage.succeed(sent[0])) is not None
    stage.tell(PlanReady(1, 1, None, "too few"))
    found = []
    for one in sent[1:5]:
        stage.now += SECOND
        found.append(asked(stage.succeed(one)))
    assert found[:3] == [None] * 3 and found[3] is not None and found[3].number == 2


def test_a_pause_does_not_end_planning() -> None:
    stage, sent = staged(3, 3, every_s=7.0)
    stage.now = 10 * SECOND
    stage.succeed(sent[0])
    stage.tell(PlanReady(1, 1, plan(t_s=1000, d_s=2000)))
    stage.change(1, Change.PAUSE)
    stage.wait(20)
    stage.change(1, Change.RESUME)
    assert asked(stage.last) is not None


def test_a_time_out_shorter_than_usual_tells_nothing_of_the_host() -> None:
    stage, _, _ = in_tail()
    stage.offer("h0")
    stage.tell(PlanReady(1, 1, plan(t_s=5, d_s=8)))
    (copy,) = assigned(stage.wait(0))
    stage.wait(8)
    stage.end(copy, Outcome.CANCELLED)
    inquiry = asked(stage.wait(3600))
    assert inquiry is not None
    assert (Fate.OUT, 8 * SECOND) in {(one.fate, one.took_us) for one in inquiry.seen}


def ended(inquiry: Inquiry) -> list[tuple[int, int, int]]:
    seen = [(one.sent_us, one.fate, one.took_us) for one in inquiry.seen]
    return sorted(one for one in seen if one[1] != Fate.OUT)


def test_what_was_seen_outlives_a_restart() -> None:
    """One returns, one is silent, one expires and comes back too late; then the server dies."""
    stage, sent = staged(7, 4, every_s=3600.0)
    stage.now = 10 * SECOND
    stage.succeed(sent[0])
    more = stage.offer("h0")
    stage.silent("h1")
    stage.now += 30 * SECOND
    stage.succeed(sent[2])
    stage.wait(5)
    stage.end(sent[3], Outcome.CANCELLED)
    more += [*stage.offer("h2"), *stage.offer("h3"), *stage.offer("h0")]
    stage.now += SECOND
    found = [inquiry for one in more if (inquiry := asked(stage.succeed(one))) is not None]
    assert len(found) == 1
    assert {one.fate for one in found[0].seen} == {Fate.RETURNED, Fate.FAILED, Fate.EXPIRED}
    stage.restart()
    again = asked(stage.last)
    assert again is not None
    assert ended(again) == ended(found[0])


def test_reliable_results_and_the_mean_time_outlive_a_restart() -> None:
    """Five results on each kind: what an attempt is given follows from them."""
    stage = Stage(CHEAP, DEAR)
    strategy = Strategy("planned", {"every_s": 3600.0})
    stage.submit(16, replication=strategy, trial_us=0, retries=FORGIVING)
    stage.hosts("h0", "h1", pool="cheap")
    for _ in range(6):
        for one in [*stage.offer("h0"), *stage.offer("h1")]:
            stage.now += 3 * SECOND
            stage.succeed(one)
    before = stage.offer("h0")
    stage.restart()
    stage.back("h0", "h1")
    after = stage.offer("h1")
    assert [one.timeout_us for one in after] == [one.timeout_us for one in before] != [None]
    assert after[0].timeout_us != 4 * 3600 * SECOND


LENT = Pool("lent", billing=Billing(price=1_000_000), max=3, reliable=False, startup_us=90 * SECOND)


def on_leases() -> tuple[Stage, Inquiry]:
    """Three machines were wanted; two came after 30 s and 50 s, the third is still on its way when
    one of two tasks has its result, at 60 s."""
    stage = Stage(LENT, DEAR)
    strategy = Strategy("planned", {"patience_s": float(PATIENCE_S)})
    stage.submit(3, replication=strategy, trial_us=0, retries=FORGIVING, budget={"USD": 10**9})
    stage.wait(30)
    stage.host("h1", pool="lent", lease=1)
    sent = stage.offer("h1")
    stage.wait(20)
    stage.host("h2", pool="lent", lease=2)
    sent += stage.offer("h2")
    stage.now += 10 * SECOND
    stage.succeed(sent[0])
    stage.offer("h1")
    stage.now += SECOND
    stage.succeed(sent[1])
    found = [one.inquiry for one in stage.all if isinstance(one, Replan)]
    return stage, found[0]


def test_what_is_paid_until_when_is_told_with_the_question() -> None:
    _, inquiry = on_leases()
    mean_us = 40 * SECOND  # of those that came
    ages = [(one.dear, one.age_us, one.comes_us) for one in inquiry.machines]
    now_us = inquiry.now_us
    assert ages[:2] == [(False, now_us, 0)] * 2
    assert all(comes_us > 0 for _, _, comes_us in ages[2:])
    assert inquiry.cheap_startup_us == mean_us
    assert all(inquiry.machines[one.on].comes_us == 0 for one in inquiry.out)
    assert inquiry.spent == len(inquiry.machines) * LENT.billing.price  # a unit of each


def test_how_long_machines_take_to_come_outlives_a_restart() -> None:
    stage, inquiry = on_leases()
    stage.restart()
    again = asked(stage.last)
    assert again is not None and again.cheap_startup_us == inquiry.cheap_startup_us


def test_before_a_machine_has_come_its_pool_says_how_long_it_takes() -> None:
    stage = Stage(Pool("cheap", max=0, reliable=False), Pool("dear", max=1, startup_us=7 * SECOND))
    strategy = Strategy("planned", {"patience_s": float(PATIENCE_S)})
    stage.submit(3, replication=strategy, trial_us=0, retries=FORGIVING)
    stage.hosts("h0", "h1", "h2", pool="cheap")
    sent = [one for host in ("h0", "h1", "h2") for one in stage.offer(host)]
    inquiry = asked(stage.succeed(sent[0]))
    assert inquiry is not None
    assert (inquiry.cheap_startup_us, inquiry.dear_startup_us) == (0, 7 * SECOND)
    told = [(one.dear, one.age_us, one.comes_us) for one in inquiry.machines]
    assert told == [(False, None, 0)] * 3 + [(True, 0, 7 * SECOND)]
