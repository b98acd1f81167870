"""What tasks need and machines have, in the virtual world: cores, parts of them, memory."""

from __future__ import annotations

import pytest
from tests.simulation.scenarios import done_s, run, scenario
from tests.simulation.test_staging import GRID, NEAR

from tailrace.errors import BadInput
from tailrace.simulation.single import SingleMachine
from tailrace.simulation.statistics import figures
from tailrace.simulation.world import World


def world(pool: str, bag: str) -> World:
    return run(f"[pools.g]\nmachines = 1\n{pool}\n[bags.b]\n{bag}")


# cores


@pytest.mark.parametrize(
    ("pool", "full"),
    [
        ("", 1),
        ('sharing = "reserved"', 1),
        ('sharing = "reserved"\nslots = 2', 1),
        ("slots = 2", 0),
    ],
)
def test_two_tasks_of_half_a_core_run_together_on_one(pool: str, full: int) -> None:
    """As long as each said, since it has what it needs."""
    found = world(pool, "lengths = [10, 10]\nneeds = { cores = 0.5 }")
    assert done_s(found) == [10, 10]
    told = figures(found)
    assert (told["full"], told["busy"]) == (full, 1)
    assert told["work_done_h"] == pytest.approx(10 / 3600)


def test_reserved_cores_are_not_promised_twice() -> None:
    bag = "lengths = [10, 10, 10, 10]\nneeds = { cores = 0.5 }"
    reserved = world('sharing = "reserved"\nslots = 2', bag)
    assert done_s(reserved) == [10, 10, 20, 20]
    assert figures(reserved)["waiting_s"] == 5
    assert done_s(world("slots = 2", bag)) == [20, 20, 20, 20]


def test_two_tasks_of_two_cores_fill_four() -> None:
    found = world("cores = 4", "lengths = [10, 10, 10]\nneeds = { cores = 2 }")
    assert done_s(found) == [10, 10, 20]
    assert figures(found)["full"] == 0.5
    assert figures(found)["work_useful_h"] == pytest.approx(60 / 3600)


def test_more_slots_than_cores_slow_all_that_need_them() -> None:
    """Two tasks of four cores on four: half as fast, until the shorter one has ended."""
    found = world("cores = 4\nslots = 8", "lengths = [10, 4]\nneeds = { cores = 4 }")
    assert done_s(found) == [14, 8]
    assert figures(found)["full"] == pytest.approx(8 / 14)


def test_a_task_of_many_cores_is_slowed_like_one_of_few() -> None:
    """5 cores are needed and 4 are there: each task has 4/5 of its need, till the small one ends
    after 5 s, with 4 s of its 8 done by the other."""
    text = "[pools.g]\nmachines = 1\ncores = 4\nslots = 5\n"
    bags = "[bags.wide]\nlengths = [8]\nneeds = { cores = 4 }\n[bags.small]\nlengths = [4]\n"
    found = run(text + bags)
    assert (done_s(found, 1), done_s(found, 2)) == ([9], [5])


def test_only_one_core_each_takes_the_quick_machine() -> None:
    kinds = [
        type(next(iter(world("", f"lengths = [1]\n{needs}").hosts.values())).machine)
        for needs in ("", "needs = { cores = 1 }", "needs = { cores = 0.7 }")
    ]
    assert [kind is SingleMachine for kind in kinds] == [True, True, False]


# all else


@pytest.mark.parametrize(
    ("has", "needs"),
    [('memory = "5 GB"', 'memory = "2 GB"'), ("gpus = 2", "gpus = 1"),
     ('disk = "1 TB"\nmemory = "1 GB"', 'disk = "400 GB", memory = "1 MB"')],
)  # fmt: skip
@pytest.mark.parametrize("length", [10, 0.001])
def test_a_machine_is_filled_by_whatever_is_scarce(has: str, needs: str, length: float) -> None:
    """Two fit beside each other, however many cores are left; also of short tasks, of which more
    are sent ahead."""
    found = world(f"cores = 8\n{has}", f"lengths = {[length] * 40}\nneeds = {{ {needs} }}")
    assert done_s(found) == pytest.approx([length * (n // 2 + 1) for n in range(40)])


def test_memory_is_free_again_while_output_travels() -> None:
    pool, needs = NEAR + 'memory = "1 GB"\n', 'needs = { memory = "1 GB" }\n'
    found = run(GRID + pool + "[bags.b]\nlengths = [10, 10, 10]\n" + needs + 'output = "1 GB"\n')
    assert done_s(found) == pytest.approx([18, 28, 38])


def test_what_no_machine_has_is_refused_with_a_remedy() -> None:
    text = '[pools.g]\nmachines = 1\nmemory = "1 GB"\n[bags.b]\nlengths = [1]\n'
    with pytest.raises(
        BadInput, match=r"s.toml:4: .*GiB memory wanted, 953.7 MiB memory there"
    ) as bad:
        scenario(text + 'needs = { memory = "2 GB" }\n')
    assert "memory" in str(bad.value.remedy)
    with pytest.raises(BadInput, match=r"s.toml:3: .*'much' is not a size"):
        scenario(text.replace("1 GB", "much"))


@pytest.mark.parametrize(
    ("machine", "makespan_s"), [("cores = 4", 100), ("slots = 4", 125), ("cores = 2", 100)]
)
def test_the_fastest_machine_has_several_cores_or_shares_one(machine: str, makespan_s: int) -> None:
    """The second of two goes to a free core, but not to half of one: 1/2 is less than 0.8."""
    pools = f"[pools.a]\nmachines = 1\n{machine}\n[pools.c]\nmachines = 1\nspeed = 0.8\n"
    world = run(f'{pools}[bags.b]\nlengths = [100, 100]\nmatching = "fjbcr"')
    assert max(done_s(world)) == makespan_s


@pytest.mark.parametrize(("max", "startup", "paid_min"), [(3, "0s", 20), (20, "5m", 30)])
def test_no_more_is_leased_than_the_cores_are_needed_of(
    max: int, startup: str, paid_min: int
) -> None:
    """Two machines of four cores each for eight tasks of ten minutes."""
    pool = f'max = {max}\ncores = 4\nprice = "1 USD/h"\nunit = "1m"\nstartup = "{startup}"'
    leased = run(f'[pools.g]\n{pool}\n[bags.b]\ntasks = 8\nlength = "10m"')
    assert figures(leased)["cost_USD"] == pytest.approx(paid_min / 60, rel=1e-4)
