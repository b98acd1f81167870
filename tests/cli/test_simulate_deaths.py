"""How machines of a scenario die, and when that is known: through `tailrace simulate`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import ask

LEASED = """\
[pools.spot]
max = 1
price = "0.60 USD/h"
unit = "1m"
up = "25m"
[bags.b]
tasks = 3
length = "10m"
timeout = "20m"
"""
WORDS = ("simulate", "s.toml", "--seeds", "1", "-j", "1", "--json")


@pytest.mark.parametrize("calls", ["free", "worker"])
@pytest.mark.parametrize(
    ("more", "known_min"),
    [
        ([], 25),
        (["detection=reported", "silent_after=5m"], 25),
        (["silent_after=5m"], 30),
        (["detection=silent"], 26),
        (["detection=silent", "silent_after=3h"], 60),  # its lease is over
        (["detection=deadline"], 60),
        (["detection=deadline", "lease=2h"], 120),
    ],
)
def test_a_lease_stands_until_its_death_is_known(
    tmp_path: Path, more: list[str], known_min: int, calls: str
) -> None:
    """The only place is free from then on; and it is paid till then, with ten minutes beyond."""
    (tmp_path / "s.toml").write_text(LEASED)
    sets = [word for one in (*more, f"calls={calls}") for word in ("--set", f"pools.spot.{one}")]
    found = ask(tmp_path, *WORDS, *sets).json[0]["runs"][0]
    assert (found["tasks_done"], found["jobs_lost"]) == (3, 1)
    assert found["makespan_s"] == (known_min + 10) * 60
    assert found["cost_USD"] == pytest.approx(0.01 * (known_min + 10))


SITE = """\
[sites.g]
up = "25m"
down = "1h"
[pools.spot]
max = 1
site = "g"
price = "0.60 USD/h"
unit = "1m"
[bags.b]
tasks = 3
length = "10m"
"""


@pytest.mark.parametrize(("down_min", "more"), [(0, []), (60, []), (240, []), (60, ["startup=2m"])])
def test_a_site_that_is_down_starts_no_machine(
    tmp_path: Path, down_min: int, more: list[str]
) -> None:
    """Who leases one meanwhile waits for it, and its life begins when it is there."""
    (tmp_path / "s.toml").write_text(SITE)
    sets = ["--set", f"sites.g.down={down_min}m", "--set", "pools.spot.up=45m"]
    sets += [word for one in more for word in ("--set", f"pools.spot.{one}")]
    found = ask(tmp_path, *WORDS, *sets).json[0]["runs"][0]
    late = 2 if more else 0
    assert found["makespan_s"] == (25 + max(down_min, late) + 10) * 60
    assert (found["tasks_done"], found["failures"]) == (3, 1)
    assert found["cost_USD"] == pytest.approx(0.01 * (35 + max(down_min, late)))
