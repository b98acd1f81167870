"""Tasks that tell how far they are: heard, shown, reckoned with, and never in the way."""

from __future__ import annotations

import pytest

from tailrace.bag.terms import Strategy
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import Progress
from tailrace.scheduler.journal import encode_page, replay
from tailrace.scheduler.progress import begun, halfway
from tailrace.scheduler.state import Bag

from .stage import SECOND, Stage


def stage_with(tasks: int, cores: int = 1, **terms: object) -> tuple[Stage, Bag, list[Assign]]:
    stage = Stage()
    stage.host("h", cores=cores)
    number = stage.submit(tasks, trial_us=0, **terms)
    return stage, stage.scheduler.state.bags[number], stage.offer("h")


def tell(stage: Stage, one: Assign, done: float | None, ran_s: float, text: str = "") -> None:
    event = Progress(one.attempt, one.host, done, int(ran_s * SECOND), text=text)
    assert stage.tell(event) == [], "nothing is decided by it"


def test_explain_tells_how_far_a_task_is_and_when_it_ends_at_that_rate() -> None:
    stage, _, (one, *_) = stage_with(3)
    assert "done" not in stage.explain(f"task 1/{one.index}")
    stage.wait(140)
    tell(stage, one, 0.37, 140, "epoch 3 of 8")
    stage.wait(12)
    told = stage.explain(f"task 1/{one.index}")
    assert "37 % done 12s ago (epoch 3 of 8), at this rate it ends in about 3m46s." in told
    stage.wait(600)
    assert "at that rate it should have ended 6m13s ago" in stage.explain(f"task 1/{one.index}")
    tell(stage, one, 1.0, 752)
    assert "100 % done 0s ago." in stage.explain(f"task 1/{one.index}")


def test_what_was_long_under_way_is_as_old_as_its_host_says() -> None:
    stage, _, (one, *_) = stage_with(3)
    stage.wait(60)
    stage.tell(Progress(one.attempt, "h", 0.5, 20 * SECOND, ago_us=15 * SECOND))
    told = stage.explain(f"task 1/{one.index}")
    assert "50 % done 15s ago, at this rate it ends in about 5s" in told


def test_a_rate_is_told_only_of_what_has_begun() -> None:
    stage, bag, (one, *_) = stage_with(3)
    tell(stage, one, 0.0, 5)
    assert "0 % done 0s ago." in stage.explain(f"task 1/{one.index}")
    assert [shown.left_us for shown in halfway(bag, stage.now, 9)] == [None]


def test_what_is_not_understood_is_noted_until_something_is() -> None:
    stage, _, (one, *_) = stage_with(3)
    tell(stage, one, 0.5, 10)
    tell(stage, one, None, 0, "'soon'")
    told = stage.explain(f"task 1/{one.index}")
    assert "50 % done" in told and "$TAILRACE_PROGRESS is not understood: 'soon'" in told
    tell(stage, one, 0.6, 20)
    assert "understood" not in stage.explain(f"task 1/{one.index}")


def test_older_news_and_news_of_others_attempts_change_nothing() -> None:
    stage, bag, (one, *_) = stage_with(3)
    tell(stage, one, 0.5, 10)
    tell(stage, one, 0.2, 4)
    stage.tell(Progress(one.attempt, "another", 0.9, 99 * SECOND))
    stage.tell(Progress(4711, "h", 0.9, 99 * SECOND))
    assert [shown.done for shown in halfway(bag, stage.now, 9)] == [0.5]
    stage.succeed(one)
    tell(stage, one, 0.9, 11)
    assert halfway(bag, stage.now, 9) == [] and begun(bag) == 0


def test_the_oldest_come_first_and_only_as_many_as_are_asked_for() -> None:
    stage, bag, sent = stage_with(4, cores=4)
    for one in reversed(sent):
        tell(stage, one, 0.1 * one.attempt, 10)
    assert [shown.attempt for shown in halfway(bag, stage.now, 2)] == [1, 2]


def test_of_a_task_with_several_attempts_the_best_counts_as_begun() -> None:
    wqr = Strategy("wqr", {"most": 2})
    stage, bag, _ = stage_with(1, cores=4, replication=wqr, repeatable=True)
    stage.host("other")
    stage.offer("other")
    first, second = bag.live[0]
    for attempt, done in ((first, 0.25), (second, 0.75)):
        stage.tell(Progress(attempt.attempt, attempt.host, done, SECOND))
    assert begun(bag) == 0.75


def test_it_is_journalled_and_replayed_but_does_not_survive_a_crash() -> None:
    stage, _, (one, *_) = stage_with(3)
    tell(stage, one, 0.5, 10)
    stage.restart()
    assert "done" not in stage.explain(f"task 1/{one.index}").replace("_", " ")
    stage.back("h")
    tell(stage, one, 0.6, 20)
    stage.succeed(one)
    steps = list(replay([encode_page(page) for page in stage.journal], check=True))
    assert all(step.same for step in steps)
    assert sum(isinstance(step.event, Progress) for step in steps) == 2


@pytest.mark.parametrize("done", [-0.5, 1.5])
def test_a_share_beyond_its_bounds_is_held_within_them(done: float) -> None:
    stage, bag, (one, *_) = stage_with(3)
    tell(stage, one, done, 1)
    assert 0 <= halfway(bag, stage.now, 1)[0].done <= 1
