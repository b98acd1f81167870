"""What a strategy comes to where it can be reckoned by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.planning.settings import T_UR, paper, sure

from tailrace.errors import BadInput
from tailrace.planning.estimate import Samples, sample
from tailrace.planning.kernel import model
from tailrace.planning.kernel.model import OWN, Standing
from tailrace.planning.setting import Hosts, Setting
from tailrace.planning.strategy import Strategy

ENDLESS = Strategy(None, 40.0, 40.0, 0.0)


def one(setting: Setting, strategy: Strategy, repetitions: int = 1, seed: int = 0) -> Samples:
    return sample(setting, [strategy], repetitions, seed)


def means(samples: Samples) -> dict[str, float]:
    return {name: float(samples.means(name)[0]) for name in samples.of}


def test_without_chance_a_bag_goes_in_rounds_over_its_hosts() -> None:
    found = means(one(sure(tasks=10, hosts=4), ENDLESS))
    assert found["makespan"] == 30
    assert found["tail_makespan"] == 10  # after the second round two are left for four hosts
    assert found["cost_per_task"] == 1


def test_a_bag_smaller_than_its_hosts_is_all_tail() -> None:
    found = means(one(sure(tasks=3, hosts=8), ENDLESS))
    assert found["makespan"] == found["tail_makespan"] == 10


def test_the_tail_begins_when_fewer_tasks_are_left_than_hosts_not_as_many() -> None:
    found = means(one(sure(tasks=8, hosts=4), ENDLESS))
    assert (found["makespan"], found["tail_makespan"]) == (20, 0)


def test_with_n_0_what_waits_when_the_tail_begins_goes_to_reliable_hosts_alone() -> None:
    """Four of seven are done at 10 s. One reliable host takes the others one after the other."""
    found = means(one(sure(tasks=7, hosts=4), Strategy(0, 0.0, 40.0, 0.25)))
    assert found["makespan"] == 40
    assert found["reliable_sent"] == 3
    assert found["cost_per_task"] == pytest.approx((4 + 300) / 7)


def test_what_is_queued_is_dropped_for_free() -> None:
    """Sent to unreliable hosts at 10 s, wanted on reliable ones at 15, where one takes the first;
    the others are spared at 20. What the one was sent is paid beside the result that came first."""
    found = means(one(sure(tasks=7, hosts=4), Strategy(1, 5.0, 40.0, 0.25)))
    assert found["makespan"] == 20
    assert found["reliable_sent"] == 1
    assert found["used_mr"] == 0.25
    assert found["reliable_queue_max"] == 2
    assert found["cost_per_task"] == pytest.approx((7 + 100) / 7)


def test_what_is_sent_is_paid() -> None:
    found = means(one(sure(tasks=7, hosts=4), Strategy(1, 5.0, 40.0, 0.75)))
    assert found["reliable_sent"] == 3
    assert found["cost_per_task"] == pytest.approx((7 + 300) / 7)


def test_losers_that_are_ended_are_not_paid() -> None:
    setting = replace(sure(tasks=7, hosts=4), cancel=True, dear=Hosts(4, np.array([4.0]), 100.0))
    found = means(one(setting, Strategy(1, 5.0, 40.0, 0.75)))
    assert found["makespan"] == 19
    assert found["cost_per_task"] == pytest.approx((4 + 300) / 7)


def test_n_copies_go_to_unreliable_hosts_before_one_goes_to_a_reliable_one() -> None:
    """Nothing ever returns from unreliable hosts: sent there at 0 and at 5, then at 10 to a
    reliable one."""
    setting = replace(sure(tasks=3, hosts=20), returned=np.array([1e-12]))
    found = means(one(setting, Strategy(2, 5.0, 40.0, 1.0)))
    assert found["makespan"] == 20
    assert found["reliable_sent"] == 3
    assert found["cost_per_task"] == pytest.approx(100)


def test_a_failed_attempt_holds_its_host_until_its_time_out() -> None:
    """One host, two tasks; nothing sent in the first second returns, all else does."""
    setting = replace(
        sure(tasks=2, hosts=1),
        returned_from=np.array([0.0, 1.0]), returned=np.array([1e-12, 1.0]), patience_s=25.0,
    )  # fmt: skip
    assert means(one(setting, ENDLESS))["makespan"] == 25 + 10 + 10


def test_a_failure_that_is_reported_frees_its_host_at_once() -> None:
    setting = replace(
        sure(tasks=2, hosts=1), returned_from=np.array([0.0, 1.0]),
        returned=np.array([1e-12, 1.0]), failures=np.array([3.0]),
    )  # fmt: skip
    assert means(one(setting, ENDLESS))["makespan"] == 3 + 10 + 10


def test_a_late_result_counts_where_the_pool_says_so() -> None:
    """It takes 10 s and is given up after 6: ignored, its task never ends; accepted, it is sent
    again and the first result counts."""
    late = replace(sure(tasks=1, hosts=2), late=True, patience_s=6.0)
    found = means(one(late, Strategy(None, 6.0, 6.0, 0.0)))
    assert found["makespan"] == 10
    with pytest.raises(BadInput, match="no attempt would be in time"):
        one(replace(late, late=False), Strategy(None, 6.0, 6.0, 0.0))


def test_a_lease_is_paid_in_whole_units_and_its_start_up_is_waited_for() -> None:
    """Three rounds of 10 s after 5 s of start-up on two hosts: 35 s each, four units of 10 s; the
    second has nothing to do in the third round, and is given back at the end of its unit."""
    cheap = Hosts(2, np.array([10.0]), per_lease_s=1.0, unit_s=10.0, startup_s=5.0)
    found = means(one(replace(sure(tasks=5, hosts=2), cheap=cheap), ENDLESS))
    assert found["makespan"] == 35
    assert found["cost_per_task"] == pytest.approx((40 + 30) / 5)


@pytest.mark.parametrize(
    ("unit", "startup", "paid"), [(1, 60, 90), (10, 60, 90), (60, 120, 180), (3600, 3600, 7200)]
)
def test_a_host_that_comes_just_when_its_unit_ends_is_offered_work_before_it_is_given_back(
    unit: float, startup: float, paid: float
) -> None:
    """Three tasks of 10 s, one after the other; so is one that ends its last at such a moment."""
    dear = Hosts(1, np.array([10.0]), per_lease_s=1.0, unit_s=unit, startup_s=startup)
    setting = replace(sure(tasks=3, hosts=4), dear=dear)
    found = means(one(setting, Strategy(0, 0.0, 40.0, 0.25)))
    assert found["makespan"] == startup + 30
    assert found["cost_per_task"] == pytest.approx(paid / 3)


def test_what_the_recommended_strategy_of_the_paper_comes_to() -> None:
    """15,640 s and 0.78 cents a task there, with a law of which we have only a picture."""
    found = means(one(paper(), Strategy(3, T_UR, 2 * T_UR, 0.02), repetitions=300))
    assert 11_000 < found["makespan"] < 17_000
    assert 0.60 < found["cost_per_task"] < 0.85


def test_a_repetition_is_the_same_whatever_runs_beside_it() -> None:
    """Common random numbers: by seed, repetition, task and attempt alone."""
    grid = [Strategy(n, t * T_UR, 2 * T_UR, 0.1) for n in (0, 1, 3) for t in (0.0, 1.0)]
    together = sample(paper(), grid, 20, seed=7)
    for number, strategy in enumerate(grid):
        alone = sample(paper(), [strategy], 20, seed=7, threads=1)
        for name, values in alone.of.items():
            assert values[:, 0].tolist() == together.of[name][:, number].tolist(), name
    assert not np.array_equal(
        together.of["makespan"], sample(paper(), grid, 20, seed=8).of["makespan"]
    )


@given(
    tasks=st.integers(1, 40), hosts=st.integers(1, 20), n=st.none() | st.integers(0, 4),
    t=st.floats(0, 1), d=st.floats(1.0, 4), share=st.floats(0.2, 1), seed=st.integers(0, 2**31),
    late=st.booleans(), cancel=st.booleans(), retry_first=st.booleans(),
)  # fmt: skip
def test_whatever_is_asked_the_figures_are_possible(
    tasks: int, hosts: int, n: int | None, t: float, d: float, share: float, seed: int,
    late: bool, cancel: bool, retry_first: bool,
) -> None:  # fmt: skip
    times = np.linspace(0.5, 1.5, 50)
    setting = Setting(
        tasks, Hosts(hosts, times, 1.0), Hosts(hosts, np.ones(1), 10.0), 3.0, np.zeros(1),
        np.array([share]), late=late, cancel=cancel, retry_first=retry_first,
    )  # fmt: skip
    found = sample(setting, [Strategy(n, t * d, d, 0.5)], 5, seed).of
    assert np.all(found["makespan"] >= 0.5 * math.ceil(tasks / (hosts + math.ceil(hosts / 2))))
    assert np.all(found["tail_makespan"] <= found["makespan"])
    assert np.all(found["cost_per_task"] >= 1 - 1e-9)
    assert np.all(found["used_mr"] <= math.ceil(0.5 * hosts) / hosts)
    assert np.all(found["reliable_queue_max"] <= tasks)
    assert np.all(found["reliable_sent"] <= (0 if n is None else tasks))
    assert all(np.isfinite(values).all() for values in found.values())


def standing(
    tasks: list[tuple[int, int]], out: list[tuple[float, ...]],
    hosts: list[tuple[float, ...]] | None = None, on: list[int] | None = None,
) -> Standing:  # fmt: skip
    rows = np.array(tasks, np.int64).reshape(-1, 2), np.array(out, np.float64).reshape(-1, 4)
    told = None if hosts is None else np.array(hosts, np.float64).reshape(-1, 3)
    return model.standing(*rows, told, None if on is None else np.array(on, np.int64))


def from_here(setting: Setting, strategy: Strategy, here: Standing, many: int = 1) -> Samples:
    return sample(setting, [strategy], many, standing=here)


def test_a_bag_in_its_tail_goes_on_with_what_is_under_way() -> None:
    """Two are out since 4 s and 7 s; the third waits, and has an idle host."""
    here = standing([(0, 0)] * 3, [(0, 0, 4.0, 36.0), (1, 0, 7.0, 33.0)])
    found = from_here(sure(tasks=3, hosts=4), ENDLESS, here)
    assert means(found)["makespan"] == 10
    here = standing([(0, 0)] * 2, [(0, 0, 4.0, 36.0), (1, 0, 7.0, 33.0)])
    assert means(from_here(sure(tasks=2, hosts=4), ENDLESS, here))["makespan"] == 6


def test_what_a_task_had_in_its_tail_counts() -> None:
    """Both have had their two; one had a reliable host, too, and is there for 2 s."""
    setting = replace(sure(tasks=2, hosts=4), returned=np.array([1e-12]))
    here = standing([(2, 0), (2, 1)], [(1, 1, 2.0, 1e9)])
    found = from_here(setting, Strategy(2, 5.0, 40.0, 0.25), here)
    assert means(found)["reliable_sent"] == 1
    assert means(found)["makespan"] == 8 + 10  # one reliable host, one after the other


def test_an_attempt_that_is_out_for_long_has_likely_failed() -> None:
    """Half of the attempts return after 10 s, a quarter after 30 s: of those that are out since
    20 s, a quarter of 1/2 may still return."""
    setting = replace(
        sure(tasks=1, hosts=1),
        cheap=Hosts(1, np.array([10.0, 10.0, 30.0])), returned=np.array([0.75]), patience_s=50.0,
    )  # fmt: skip
    here = standing([(0, 0)], [(0, 0, 20.0, 30.0)])
    times = from_here(setting, Strategy(None, 50.0, 50.0, 0.0), here, 4000).of["makespan"][:, 0]
    assert np.mean(times == 10.0) == pytest.approx(0.5, abs=0.03)
    assert np.all((times == 10.0) | (times >= 40.0))


def test_a_bag_in_its_tail_goes_on_as_one_that_came_there() -> None:
    """The mean over what follows from how it stood is the mean over what came of it."""
    setting = paper()
    strategy = Strategy(3, T_UR, 2 * T_UR, 0.1)
    whole = means(one(setting, strategy, 2000))["tail_makespan"]
    rng = np.random.default_rng(5)
    ends = []
    for _ in range(40):
        tasks, out = stood(setting, rng)
        part = replace(setting, tasks=tasks)
        ends.append(means(from_here(part, strategy, out, 50))["makespan"])
    assert np.mean(ends) == pytest.approx(whole, rel=0.08)


def stood(setting: Setting, rng: np.random.Generator) -> tuple[int, Standing]:
    """A bag without replication until its tail begins, hosts one by one."""
    hosts, left = setting.cheap.hosts, setting.tasks
    free, waits = np.zeros(hosts), [0] * left
    out: list[tuple[float, float, bool]] = []  # sent, ends, returns
    while True:
        host = int(np.argmin(free))
        ended = [one for one in out if one[1] <= free[host]]
        done = sum(one[2] for one in ended)
        if setting.tasks - done < hosts:
            break
        if not waits:
            free[host] = np.partition(free, 1)[1] + 1e-9
            continue
        waits.pop()
        back = rng.random() < setting.returned[0]
        took = float(rng.choice(setting.cheap.turnarounds)) if back else setting.patience_s
        out.append((free[host], free[host] + took, back))
        if not back:
            waits.append(0)
        free[host] += took
    moment = sorted(one[1] for one in out if one[2])[setting.tasks - hosts]
    running = [one for one in out if one[0] < moment < one[1]]
    left = hosts - 1
    rows = [(n, 0.0, moment - sent, setting.patience_s - (moment - sent))
            for n, (sent, _, _) in enumerate(running[:left])]  # fmt: skip
    return left, standing([(0, 0)] * left, rows)


def test_failures_that_are_told_fill_no_heap() -> None:
    """Each is followed by another attempt long before T has passed: what is due is looked at once,
    however often its task was sent."""
    setting = replace(
        sure(tasks=19, hosts=20), returned=np.array([0.05]), failures=np.array([1.0]),
        patience_s=36.0,
    )  # fmt: skip
    here = standing([(0, 0)] * 19, [])
    found = from_here(setting, Strategy(None, 36.0, 36.0, 0.0), here, 20).of["makespan"]
    assert np.all(np.isfinite(found)) and np.all(found >= 10)


def test_a_task_whose_reliable_attempt_is_lost_is_sent_to_one_again() -> None:
    """All that was allowed is spent, and nothing is out."""
    found = from_here(sure(tasks=1, hosts=4), Strategy(3, 5.0, 40.0, 0.25), standing([(3, 1)], []))
    assert means(found)["makespan"] == 10 and means(found)["reliable_sent"] == 1


def test_what_is_out_beyond_the_time_in_which_failures_are_told_will_return() -> None:
    setting = replace(
        sure(tasks=1, hosts=1), cheap=Hosts(1, np.array([8.0, 9.0, 10.0])),
        returned=np.array([0.5]), failures=np.array([1.0]),
    )  # fmt: skip
    here = standing([(0, 0)], [(0, 0, 7.9, 30.0)])
    times = from_here(setting, Strategy(None, 40.0, 40.0, 0.0), here, 200).of["makespan"]
    assert np.all(times < 2.2)


HOUR = 3600.0


def leased(**changed: float) -> Setting:
    """A host is paid by the hour, one cent a second; nothing else costs anything."""
    hosts = Hosts(2, np.array([10.0]), per_lease_s=1.0, unit_s=HOUR, **changed)
    return sure(tasks=1, hosts=2, cheap=hosts)


@pytest.mark.parametrize(
    ("since", "paid"),
    [(-3000.0, 0.0), (-3598.0, HOUR), (-7198.0, HOUR), (0.0, HOUR), (OWN, 0.0)],
    ids=["within the unit", "into the next", "and the third", "from now on", "of our own"],
)
def test_a_unit_that_has_begun_is_paid_already(since: float, paid: float) -> None:
    """The attempt returns in five seconds."""
    here = standing([(0, 0)], [(0, 0, 5.0, 35.0)], [(0.0, since, 0.0)], [0])
    found = means(from_here(leased(), ENDLESS, here))
    assert (found["makespan"], found["cost_per_task"]) == (5, paid)


def test_what_waits_goes_to_a_host_that_is_paid_and_idle() -> None:
    here = standing([(0, 0)], [], [(0.0, -100.0, 0.0)])
    found = means(from_here(leased(startup_s=20.0), ENDLESS, here))
    assert (found["makespan"], found["cost_per_task"]) == (10, 0)


def test_a_host_on_its_way_is_waited_for_and_one_that_is_wanted_takes_its_time() -> None:
    coming = standing([(0, 0)], [], [(0.0, -3590.0, 7.0)])
    found = means(from_here(leased(startup_s=20.0), ENDLESS, coming))
    assert (found["makespan"], found["cost_per_task"]) == (17, HOUR)
    nobody = standing([(0, 0)], [], [])
    found = means(from_here(leased(startup_s=20.0), ENDLESS, nobody))
    assert (found["makespan"], found["cost_per_task"]) == (30, HOUR)


def test_the_least_that_is_paid_of_a_lease() -> None:
    nobody = standing([(0, 0)], [], [])
    setting = replace(leased(), cheap=Hosts(2, np.array([10.0]), per_lease_s=1.0, unit_s=1.0,
                                            least_s=60.0))  # fmt: skip
    assert means(from_here(setting, ENDLESS, nobody))["cost_per_task"] == 60


def test_where_results_of_losers_are_not_paid_they_cost_nothing() -> None:
    """As above: the reliable hosts have theirs beside those that came first."""
    setting = sure(tasks=7, hosts=4)
    assert setting.dear is not None
    setting = replace(setting, dear=replace(setting.dear, losers=False))
    found = means(one(setting, Strategy(1, 5.0, 40.0, 0.75)))
    assert found["reliable_sent"] == 3
    assert found["cost_per_task"] == 1
