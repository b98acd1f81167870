"""Offers and the order in which bags, tasks and hosts meet."""

from __future__ import annotations

from array import array

from tailrace.bag.outcome import Outcome
from tailrace.bag.terms import Retries
from tailrace.scheduler.events import Change, Offer

from .stage import GIB, Stage, assigned, kinds


def test_an_offer_without_work_stays_open_until_work_comes() -> None:
    stage = Stage()
    stage.host("a")
    assert stage.offer("a") == []
    stage.submit(1)
    (sent,) = assigned(stage.last)
    assert (sent.host, sent.index, sent.why) == ("a", 0, "first attempt")


def test_a_withdrawn_offer_gets_nothing() -> None:
    stage = Stage()
    stage.host("a")
    stage.offer("a")
    stage.withdraw("a")
    stage.submit(1)
    assert assigned(stage.last) == []


def test_an_offer_is_answered_once() -> None:
    stage = Stage()
    stage.host("a", cores=2)
    stage.offer("a")
    stage.submit(1)
    assert len(assigned(stage.last)) == 1
    stage.submit(1)
    assert assigned(stage.last) == []
    assert len(stage.offer("a")) == 1


def test_an_offer_made_twice_is_still_one() -> None:
    stage = Stage()
    stage.host("a")
    stage.submit(5)
    assert len(stage.offer("a")) == 1
    assert stage.offer("a") == []


def test_a_new_offer_replaces_the_old_one() -> None:
    stage = Stage()
    stage.host("a", cores=4)
    stage.offer("a")
    stage.tell(Offer("a", {"cores": 0}))
    stage.submit(4)
    assert assigned(stage.last) == []


def test_an_offer_of_a_host_that_never_called_is_ignored() -> None:
    stage = Stage()
    stage.submit(1)
    assert stage.tell(Offer("nobody", {"cores": 1000})) == []


def test_a_silent_host_offers_nothing() -> None:
    stage = Stage()
    stage.host("a")
    stage.offer("a")
    stage.silent("a")
    stage.submit(1)
    assert assigned(stage.last) == []
    assert stage.offer("a") == []


def test_the_oldest_offer_is_served_first() -> None:
    stage = Stage()
    stage.hosts("a", "b", "c")
    for name in ("b", "c", "a", "c"):
        stage.offer(name)
    stage.submit(3)
    assert [one.host for one in assigned(stage.last)] == ["b"]  # a trial: the others wait
    stage.wait(2)
    assert [one.host for one in assigned(stage.last)] == ["a", "c"]  # c offered anew, after a


def test_two_bags_share_a_host_and_the_older_one_is_first() -> None:
    stage = Stage()
    stage.host("a", cores=3)
    first, second = stage.submit(3), stage.submit(5)
    trials = stage.offer("a")
    stage.wait(10)
    for trial in trials:
        stage.succeed(trial)
    sent = [(one.bag, one.index) for one in stage.offer("a")]
    assert sent == [(first, 1), (second, 1), (first, 2)]


def test_a_bag_that_is_hungry_again_is_served_in_its_old_place() -> None:
    stage = Stage()
    stage.host("a")
    first, second = stage.submit(1), stage.submit(3)
    (one,) = stage.offer("a")
    stage.end(one, Outcome.PREEMPTED)
    (again,) = stage.offer("a")
    assert again.bag == first
    stage.succeed(again)
    assert stage.offer("a")[0].bag == second


def test_tasks_are_sent_as_listed() -> None:
    assert _order(Stage()) == [0, 1, 2, 3, 4]


def test_tasks_are_sent_in_a_seeded_order_that_is_the_same_each_time() -> None:
    one, two = _order(Stage(), order_seed=4), _order(Stage(), order_seed=4)
    assert one == two
    assert sorted(one) == [0, 1, 2, 3, 4]
    assert one != [0, 1, 2, 3, 4]


def test_tasks_are_sent_in_the_order_of_a_permutation() -> None:
    assert _order(Stage(), permutation=array("I", [3, 1, 4, 0, 2]).tobytes()) == [3, 1, 4, 0, 2]


def test_a_restart_goes_on_in_the_same_permutation() -> None:
    stage = Stage()
    stage.host("a")
    stage.submit(5, permutation=array("I", [3, 1, 4, 0, 2]).tobytes())
    stage.pass_trial("a")
    stage.restart()
    stage.back("a")
    rest = []
    for _ in range(4):
        (sent,) = stage.offer("a")
        rest.append(sent.index)
        stage.succeed(sent)
    assert rest == [1, 4, 0, 2]


def _order(stage: Stage, **terms: object) -> list[int]:
    stage.host("a")
    stage.submit(5, **terms)  # type: ignore[arg-type]
    found = []
    for _ in range(5):
        (sent,) = stage.offer("a")
        found.append(sent.index)
        stage.succeed(sent)
    return found


def test_a_bag_of_no_tasks_is_finished_at_once() -> None:
    stage = Stage()
    bag = stage.submit(0)
    assert stage.phase(bag) == "finished"
    stage.host("a")
    assert stage.offer("a") == []


def test_a_bag_keeps_to_its_pools() -> None:
    stage = Stage()
    stage.host("a", pool="elsewhere")
    stage.host("b", pool="home")
    stage.submit(2, pools=("home",))
    assert stage.offer("a") == []
    assert len(stage.offer("b")) == 1


def test_the_same_bag_handed_in_twice_is_one() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(2)
    stage.pass_trial("a")
    del stage.tables.bags[bag]
    assert stage.submit(2) == bag
    assert kinds(stage.last) == []


# needs


def test_a_host_is_filled_but_never_overfilled() -> None:
    stage = Stage()
    stage.host("a", cores=8, memory=5 * GIB)
    stage.submit(20, needs={"cores": 1000, "memory": 2 * GIB})
    stage.pass_trial("a")
    assert len(stage.offer("a")) == 2
    assert stage.offer("a") == []


def test_bags_with_different_needs_share_a_host() -> None:
    stage = Stage()
    stage.host("a", cores=4, gpus=1000)
    big = stage.submit(5, needs={"cores": 2000, "gpus": 1000}, weight=10.0)
    small = stage.submit(9, needs={"cores": 1000})
    for trial in stage.offer("a"):  # each bag has its own
        stage.wait(10)
        stage.succeed(trial)
    sent = stage.offer("a")
    assert [one.bag for one in sent] == [big, small, small]
    assert stage.offer("a") == []


def test_what_no_host_has_is_waited_for() -> None:
    stage = Stage()
    stage.host("a")
    bag = stage.submit(1, needs={"cores": 1000, "gpus": 1000})
    assert stage.offer("a") == []
    assert "1 gpu wanted, 0 gpus there" in stage.explain(f"bag {bag}")
    stage.host("b", gpus=1000)
    assert len(stage.offer("b")) == 1


def test_a_second_bag_is_tried_beside_the_first_one_s_long_tasks() -> None:
    stage = Stage()
    stage.host("a", cores=4)
    stage.submit(2)
    stage.pass_trial("a")
    stage.offer("a")
    second = stage.submit(5)
    assert [one.bag for one in stage.offer("a")] == [second]


def test_after_a_restart_a_busy_host_gets_more_at_once() -> None:
    stage = Stage()
    stage.host("a", cores=4)
    stage.submit(20)
    stage.pass_trial("a")
    sent = stage.offer("a")
    stage.succeed(sent[0])
    stage.restart()
    stage.back("a")
    assert len(stage.offer("a")) == 1


# bundles


def test_nothing_is_sent_ahead_before_a_run_time_is_known() -> None:
    stage = Stage()
    stage.host("a", cores=2)
    stage.submit(1000)
    assert len(stage.offer("a")) == 1
    stage.wait(2)
    assert len(stage.offer("a")) == 1
    assert stage.offer("a") == []


def test_a_bundle_is_worth_about_a_second() -> None:
    stage = Stage()
    stage.host("a", cores=2)
    stage.submit(100_000)
    (trial,) = stage.offer("a")
    stage.succeed(trial, run_s=0.01)
    assert len(stage.offer("a")) == 2 + 200


def test_long_tasks_come_without_a_bundle() -> None:
    stage = Stage()
    stage.host("a", cores=2)
    stage.submit(1000)
    stage.pass_trial("a")
    assert len(stage.offer("a")) == 2


def test_bundles_shrink_to_one_at_the_end_so_that_no_host_sits_on_the_last_tasks() -> None:
    stage = Stage()
    stage.hosts("a", "b")
    bag = stage.submit(400)
    (trial,) = stage.offer("a")
    stage.succeed(trial, run_s=0.001)
    sizes = []
    while stage.phase(bag) == "running":
        for name in ("a", "b"):
            sent = stage.offer(name)
            sizes.append(len(sent))
            for one in sent:
                stage.succeed(one, run_s=0.001)
    assert sizes[0] == 1 + 399 // 4
    assert sizes == sorted(sizes, reverse=True)
    assert [size for size in sizes if size][-2:] == [1, 1]


def test_a_later_bag_does_not_fill_a_host_ahead_of_an_earlier_one() -> None:
    stage = Stage()
    stage.host("a")
    early, late = stage.submit(1, retries=Retries(0)), stage.submit(1000)
    (only,) = stage.offer("a")
    stage.fail(only)
    (trial,) = stage.offer("a")
    stage.succeed(trial, run_s=0.01)
    ahead = stage.offer("a")
    assert len(ahead) > 10 and {one.bag for one in ahead} == {late}
    stage.change(early, Change.RETRY, 0)
    for one in ahead[:-1]:
        stage.succeed(one, run_s=0.01)
        assert stage.offer("a") == []  # what is there is done first, and no more is added
    stage.succeed(ahead[-1])
    assert [one.bag for one in stage.offer("a")] == [early]


def test_nothing_is_sent_ahead_to_a_host_with_several_bags() -> None:
    stage = Stage()
    stage.host("a", cores=4)
    stage.submit(2)
    short = stage.submit(1000)
    trials = stage.offer("a")
    stage.wait(1)
    for trial in trials:
        stage.succeed(trial, run_s=0.001)
    sent = stage.offer("a")
    assert [one.bag for one in sent] == [1, short, short, short]
    stage.succeed(sent[1], run_s=0.001)
    assert [one.bag for one in stage.offer("a")] == [short]
    stage.succeed(sent[0])
    assert len(stage.offer("a")) > 100  # alone again


def test_no_more_tasks_are_under_way_than_the_bag_allows() -> None:
    stage = Stage()
    stage.hosts("a", "b", cores=4)
    bag = stage.submit(6, most_running=3)
    (trial,) = stage.offer("a")
    stage.succeed(trial)
    sent = stage.offer("a")
    assert len(sent) == 3 and stage.offer("b") == []
    assert "max_running says no more" in stage.explain(f"bag {bag}")
    stage.succeed(sent[0])
    (next_,) = assigned(stage.last)  # the open offer hears of it
    assert next_.host == "b"


def test_a_bag_at_its_most_leaves_room_for_others() -> None:
    stage = Stage()
    stage.host("a", cores=4)
    stage.submit(6, most_running=1, trial_us=0)
    other = stage.submit(6, trial_us=0)
    sent = stage.offer("a")
    assert [one.bag == other for one in sent] == [False, True, True, True]
