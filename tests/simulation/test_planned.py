"""Planned tails in the virtual world: by a scenario, as its user would write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask

SCENARIO = """
[pools.grid]
machines = 30
reliable = false
returns = 0.8
detection = "deadline"
late_results = "ignore"

[pools.cloud]
machines = 3

[bags.b]
tasks = 100
length = { law = "uniform", from = "10m", to = "20m" }
retries = { expired = 1000 }
replication = REPLICATION
"""
NONE = '{ strategy = "ntdmr", n = -1, t_s = 3600, d_s = 3600, turnaround_s = 900 }'


def made(place: Path, replication: str) -> dict[str, Any]:
    (place / "s.toml").write_text(SCENARIO.replace("REPLICATION", replication))
    told: dict[str, Any] = ask(place, "simulate", "s.toml", "--seeds", "6", "--json").json[0]
    return told


@pytest.mark.parametrize("prefer", ["makespan", "product"])
def test_a_planned_tail_is_shorter_than_one_without_replication(
    tmp_path: Path, prefer: str
) -> None:
    without = made(tmp_path, NONE)["figures"]["makespan_s"]["mean"]
    planned = f'{{ strategy = "planned", prefer = "{prefer}", turnaround_s = 900 }}'
    found = made(tmp_path, planned)["figures"]
    assert found["tasks_done"]["mean"] == 100
    assert found["makespan_s"]["mean"] < 0.8 * without


def test_equal_seeds_have_equal_plans(tmp_path: Path) -> None:
    planned = '{ strategy = "planned", turnaround_s = 900 }'
    assert made(tmp_path, planned)["runs"] == made(tmp_path, planned)["runs"]
