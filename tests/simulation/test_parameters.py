"""Parameters of simulated tasks: policies look at them as in a real run."""

from __future__ import annotations

import pytest
from tests.simulation.scenarios import run, scenario

from tailrace.errors import BadInput

POOLS = "[pools.big]\nmachines = 1\n[pools.grid]\nmachines = 1\n"
BAG = POOLS + '[bags.jobs]\nlength = "1m"\n{more}\n[bags.jobs.policy]\n{policy}\n{swept}'
SWEPT = "[bags.jobs.parameters]\nx = [1, 5]\nseed = [1, 2, 3]\n"
LARGE = "JobRequirements = 'Params.x < 3 || Host.Pool == \"big\"'"


@pytest.mark.parametrize("more", ["", 'order = "shuffled"', 'matching = "maxmax"'])
def test_tasks_go_where_their_parameters_let_them_go(more: str) -> None:
    world = run(BAG.format(more=f"tasks = 6\n{more}", policy=LARGE, swept=SWEPT))
    assert world.records[0].complete


@pytest.mark.parametrize(
    ("more", "policy", "swept", "said"),
    [
        ("tasks = 6", LARGE, "", "the tasks of this bag have none"),
        ("tasks = 7", LARGE, SWEPT, "its parameters make 6 tasks, but it has 7"),
        ("tasks = 6\nlast = true", LARGE, SWEPT, "parameters beside last"),
        ("tasks = 6", "Deadline = 'Params.y'", SWEPT, "there is no attribute Params.y"),
        ("tasks = 6", "Rank = 'Params.x'", SWEPT, "Rank cannot look at Params.x"),
    ],
)
def test_what_cannot_be_looked_at_is_told_with_its_line(
    more: str, policy: str, swept: str, said: str
) -> None:
    with pytest.raises(BadInput) as fault:
        scenario(BAG.format(more=more, policy=policy, swept=swept))
    assert said in str(fault.value) and str(fault.value).startswith("s.toml:")
