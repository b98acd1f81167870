"""The trial of a kind of machine to which only a replication strategy sends anything."""

from __future__ import annotations

from typing import Any

from tests.simulation.scenarios import run, scenario

from tailrace.scheduler.decisions import Assign
from tailrace.simulation.world import World

TEXT = """
stop.time = "1d"
[pools.cheap]
machines = 2
up = "500s"
reliable = false
detection = "reported"
[pools.dear]
machines = 1
[bags.b]
lengths = [10, 1000]
trial = "2s"
replication = { strategy = "ntdmr", n = 1, t_s = 60, d_s = 2000, mr = 1, turnaround_s = 60 }
"""


def test_what_is_wanted_on_reliable_machines_may_be_the_trial_of_their_kind() -> None:
    """No first task goes there: the cheap ones have them."""
    record = run(TEXT).records[0]
    assert (record.succeeded, record.failed) == (2, 0)


def test_a_replica_alone_tries_a_kind_that_comes_in_the_tail() -> None:
    """The others that wait for it follow when it has run for a minute."""
    new = 'machines = 3\narrivals = { process = "at once", at = 130 }\n'
    pools = f"[pools.old]\nmachines = 3\n[pools.new]\n{new}"
    bag = '[bags.b]\nlengths = [600, 600, 600]\ntrial = "1m"\nreplication = "wqr"\n'
    sent: list[float] = []

    def watch(event: Any, decisions: list[Any], now: int) -> None:
        sent.extend(now / 1e6 for one in decisions
                    if isinstance(one, Assign) and one.host.startswith("new"))  # fmt: skip

    World(scenario(pools + bag), 1, check=True, watch=watch).run()
    assert sent == [130, 190, 190]
