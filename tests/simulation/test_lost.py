"""What is lost with a machine that comes back: told when it falls, and again when it is back."""

from __future__ import annotations

from tests.simulation.scenarios import run

from tailrace.simulation.statistics import figures

FALLS = """\
stop.time = "1h"
[pools.y]
machines = 1
up = { law = "empirical", values = [60, 1000] }
down = 5
detection = "reported"
[bags.b]
"""


def test_the_last_task_of_a_bag_is_sent_again_when_the_machine_that_lost_it_is_back() -> None:
    """Two of it at once would do harm: after the fall one waits, and only the machine's return
    tells what became of it."""
    for seed in range(1, 9):
        world = run(f"{FALLS}lengths = [10, 70]\nlast = true\n", seed=seed)
        assert world.records[0].complete


def test_an_attempt_of_which_is_told_twice_that_it_was_lost_costs_one_retry() -> None:
    for retries in range(3):
        bag = f"lengths = [70]\nretries = {{ lost = {retries} }}\n"
        found = figures(run(FALLS.replace("60, 1000", "60") + bag))
        assert (found["tasks_failed"], found["attempts"]) == (1, 1 + retries)
