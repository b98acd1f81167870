"""An attempt that takes longer or shorter than another of the same task, on the same machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.errors import BadInput
from tailrace.simulation.drawn import Book
from tailrace.simulation.world import World

from .scenarios import done_s, run, scenario

DICE = '{ law = "empirical", values = [1, 5] }'
AGAIN = f"""
[pools.one]
machines = 1
late_results = "ignore"
luck = {DICE}

[bags.x]
tasks = 1
length = "10s"
timeout = "20s"
retries.expired = 50
"""


def test_a_repeated_attempt_is_a_new_throw_of_the_dice() -> None:
    """50 s are beyond the time-out; with noise, which belongs to the task, all would be."""
    ends = [done_s(run(AGAIN, seed=seed))[0] for seed in range(30)]
    assert {10.0, 30.0, 50.0} <= set(ends)
    assert all(end % 20 == 10 for end in ends)


def test_each_pool_has_its_own_luck_or_none() -> None:
    pools = "[pools.a]\nmachines = 1\nluck = 3\n[pools.b]\nmachines = 1\n"
    world = run(f'{pools}[bags.x]\ntasks = 2\nlength = "10s"\n')
    assert sorted(done_s(world)) == [10, 30]


def test_what_luck_there_was_can_be_written_and_given(tmp_path: Path) -> None:
    book = Book()
    World(scenario(AGAIN), 3, book=book).run()
    book.write(tmp_path / "drawn.csv")
    known = f'events = "drawn.csv"\n{AGAIN}'
    assert "luck/one" in (tmp_path / "drawn.csv").read_text()
    first = done_s(run(AGAIN, seed=3))
    assert {tuple(done_s(run(known, tmp_path, seed))) for seed in range(8)} == {tuple(first)}


def test_luck_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="luck may be 0"):
        scenario(AGAIN.replace(DICE, "0"))


def test_a_task_may_be_lucky_enough_to_end_before_its_machine_goes() -> None:
    """Alone it takes 10 s, and no machine is up for more than 8."""
    short = AGAIN.replace("[bags.x]", "up = 8\ndown = 1\n\n[bags.x]").replace(
        "expired = 50", "lost = 2000000"
    )
    with pytest.raises(BadInput, match="no task of bag x can end"):
        scenario(short)
    lucky = short.replace("values = [1, 5]", "values = [0.5, 5]")
    assert done_s(run(lucky))[0] % 9 == 5
