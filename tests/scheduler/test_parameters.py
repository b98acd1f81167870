"""Policies that look at parameters: tasks with the same values are one group, and each group goes
where it may, in the order of the bag."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.bag.columns import Columns
from tailrace.bag.policy import BagPolicy, Policy
from tailrace.bag.terms import Retries
from tailrace.pools.terms import Pool
from tailrace.scheduler import policies, verdicts
from tailrace.scheduler.decisions import Acquire, Assign, Unmatched
from tailrace.scheduler.journal import encode_page, replay
from tailrace.scheduler.rules import Ruling

from .stage import SECOND, Stage

HOME, SPOT = Pool("home", max=0), Pool("spot", max=0, reliable=False)
LARGE_AT_HOME = 'Params.x <= 3 || Host.Pool == "home"'


def by_x(*values: int) -> Columns:
    """The parameter x of each task."""
    rows = tuple(dict.fromkeys((value,) for value in values))
    return Columns(("x",), rows, bytes(rows.index((value,)) for value in values))


def said(**texts: str) -> BagPolicy:
    return BagPolicy(Policy(**texts), params={"x": (1, 5)})


def stage_of(*values: int, cores: int = 1, texts: dict[str, str] | None = None,
             **terms: Any) -> Stage:  # fmt: skip
    """A host in each pool, and a bag whose tasks have these values."""
    stage = Stage(HOME, SPOT)
    for pool in stage.pools:
        stage.host(pool.name, pool=pool.name, cores=cores)
    policy = said(**(texts or {"job_requirements": LARGE_AT_HOME}))
    stage.submit(len(values), policy=policy, columns=by_x(*values), trial_us=0, **terms)
    return stage


def tasks(sent: list[Assign]) -> list[int]:
    return [one.index for one in sent]


def served(stage: Stage, host: str) -> list[int]:
    """All that the host gets, one after the other."""
    found = []
    while sent := stage.offer(host):
        found += tasks(sent)
        for one in sent:
            stage.succeed(one)
    stage.withdraw(host)
    return found


def test_each_group_goes_only_where_it_may_and_in_its_order() -> None:
    stage = stage_of(5, 1, 7, 2, 5, 1)
    assert served(stage, "spot") == [1, 3, 5]
    assert served(stage, "home") == [0, 2, 4]
    assert stage.phase(1) == "finished"


def test_a_host_that_may_have_all_gets_them_in_the_order_of_the_bag() -> None:
    stage = stage_of(5, 1, 7, 2, 5, 1)
    assert served(stage, "home") == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("values", [(5, 1) * 10, (1,) * 10 + (5,) * 10])
def test_a_shuffled_bag_keeps_its_order_within_each_group(values: tuple[int, ...]) -> None:
    plain = stage_of(*[1] * 20, order_seed=3)
    order = served(plain, "home")
    stage = stage_of(*values, order_seed=3)
    assert served(stage, "spot") == [index for index in order if values[index] == 1]
    assert served(stage, "home") == [index for index in order if values[index] == 5]


def test_a_bundle_mixes_groups_and_each_has_its_own_deadline() -> None:
    stage = stage_of(5, 1, 5, 1, cores=4, texts={"deadline": "100 * Params.x"})
    sent = stage.offer("home")
    assert [(one.index, one.timeout_us) for one in sent] == [
        (0, 500 * SECOND), (1, 100 * SECOND), (2, 500 * SECOND), (3, 100 * SECOND),
    ]  # fmt: skip


def test_what_waits_for_another_attempt_keeps_its_parameters() -> None:
    stage = stage_of(5, 1, retries=Retries(task_failed=5))
    (one,) = stage.offer("home")
    stage.fail(one)
    assert tasks(stage.offer("spot")) == [1]
    stage.host("spot2", pool="spot")
    assert stage.offer("spot2") == []
    stage.host("home2", pool="home")
    assert tasks(stage.offer("home2")) == [0]


def test_a_restart_goes_on_with_what_was_never_sent() -> None:
    stage = stage_of(5, 1, 5, 1, 5, 1)
    (first,) = stage.offer("spot")
    stage.succeed(first)
    (out,) = stage.offer("spot")
    stage.restart()
    stage.back("home", "spot")
    assert tasks([first, out]) == [1, 3]
    stage.succeed(out)
    assert served(stage, "spot") == [5]
    assert served(stage, "home") == [0, 2, 4]
    pages = [encode_page(page) for page in stage.journal]
    assert all(step.same for step in replay(pages, check=True))


def test_tasks_that_are_added_have_groups_of_their_own() -> None:
    stage = stage_of(5, 1)
    assert served(stage, "spot") == [1]
    more = Columns(("x",), ((5,), (1,), (2,)), bytes([0, 2, 1]))
    stage.grow(1, 3, columns=more)
    assert served(stage, "spot") == [3, 4]
    stage.restart()
    stage.back("home", "spot")
    assert served(stage, "home") == [0, 2]
    stage.grow(1, 2, columns=Columns(("x",), ((5,), (1,), (2,)), bytes([0, 1])))
    assert stage.phase(1) == "running"
    assert served(stage, "spot") == [6] and served(stage, "home") == [5]


def test_tasks_added_without_what_the_policy_looks_at_are_not_taken() -> None:
    stage = stage_of(5, 1)
    stage.grow(1, 3)
    assert stage.tables.bags[1].terms.count == 2


def test_another_policy_looks_at_another_parameter_or_at_none() -> None:
    stage = stage_of(*[5, 1] * 4)
    assert tasks(stage.offer("spot")) == [1]
    other = BagPolicy(Policy(job_requirements="Params.y == Host.Pool"), params={"y": ("home",)})
    rows = Columns(("y",), (("home",), ("spot",)), bytes([0, 0, 1, 0, 0, 0, 1, 0]))
    stage.set_policy(1, other, rows)
    for one in list(stage.scheduler.state.attempts.values()):
        stage.succeed(Assign(one.attempt, 1, one.index, one.host, ""))
    assert served(stage, "spot") == [2, 6]
    stage.set_policy(1, None)
    stage.restart()
    stage.back("home", "spot")
    assert served(stage, "spot") == [0, 3, 4, 5, 7]
    assert stage.phase(1) == "finished"


def test_a_policy_for_tasks_that_are_not_all_of_them_is_not_taken() -> None:
    stage = stage_of(5, 1)
    before = stage.tables.bags[1].terms.policy
    stage.set_policy(1, said(job_requirements="Params.x > 9"), by_x(5, 1, 1))
    assert stage.tables.bags[1].terms.policy == before


def test_a_host_is_asked_about_once_for_a_group_not_for_a_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    real = policies.ruled_by

    def counted(*words: Any) -> Ruling:
        asked.append(words)
        return real(*words)

    monkeypatch.setattr(policies, "ruled_by", counted)
    stage = stage_of(*[5, 1, 7] * 100)
    assert len(served(stage, "spot")) == 100
    assert 3 <= len(asked) < 10  # what never changes is kept


def test_which_clause_sends_hosts_away_is_told_and_so_is_a_trial() -> None:
    stage = stage_of(5, 7, texts={"job_requirements": 'Params.x < 3 && Host.Pool == "home"'})
    assert stage.offer("home") == []
    told = [one for _ in range(70) for one in stage.wait(1) if isinstance(one, Unmatched)]
    assert told and "2 by Params.x < 3" in told[0].why
    assert [one.matches for one in verdicts.trial(stage.scheduler.state, 1)] == [False, False]


def test_no_machine_is_asked_for_that_none_of_the_tasks_left_may_go_to() -> None:
    near, far = Pool("near", max=4), Pool("far", max=4)
    for values, asked in (((1, 1), {"near", "far"}), ((5, 5), {"near"})):
        stage = Stage(near, far)
        policy = said(job_requirements='Params.x <= 3 || Host.Pool == "near"')
        stage.submit(9, policy=policy, columns=by_x(*(values * 5)[:9]), most_running=None)
        assert {one.pool for one in stage.all if isinstance(one, Acquire)} == asked


def test_a_second_attempt_may_depend_on_a_parameter() -> None:
    texts = {"replication_requirements": "NumberOfReplicas < 2 && Params.x > 3"}
    stage = stage_of(5, 1, texts=texts, tail_below=5)
    assert tasks(stage.offer("home")) == [0]
    assert tasks(stage.offer("spot")) == [1]
    stage.wait(70)
    stage.host("home2", pool="home")
    stage.host("home3", pool="home")
    assert tasks(stage.offer("home2")) == [0]
    assert stage.offer("home3") == []
