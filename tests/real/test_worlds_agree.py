"""The real world and the virtual one, side by side; `python -m studies worlds_agree` does more."""

from __future__ import annotations

from pathlib import Path

from studies.worlds_agree import Case, agreement, compare, simulated

SMALL = Case(tasks=6, machines=2, shortest_s=0.2, longest_s=0.6, life_s=1.0, least_s=1.2)
SURE = 0.001  # with so few runs only a gross disagreement shows, and chance must not


def test_real_makespans_are_such_as_are_simulated(tmp_path: Path):
    """Each journal is replayed on the way. The same test tells a world apart that is a third as
    fast, so that its word counts: no more than that can be seen in five runs."""
    compared = compare(SMALL, 5, tmp_path, at_once=5)
    assert compared.makespans.p >= SURE, compared.makespans.real
    assert all(one.events > 20 for one in compared.observed)
    slow = compared.scenario.replace("[pools.spot]", "[pools.spot]\nspeed = 0.3")
    other = [one["makespan_s"] for one in simulated(slow)]
    assert agreement(compared.makespans.real, other).p < SURE
