"""What the live view says of the machines of each pool."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest

from tailrace.cli.here import pools
from tailrace.cli.here.live import line, panel
from tailrace.cli.here.progress import Progress
from tailrace.cli.screen import console
from tailrace.quantities import SECOND
from tailrace.report.poolwork import PoolWork
from tailrace.server.tables.lock import Owner

SPOT = PoolWork(
    "spot", [(0, 1), (10 * SECOND, 4), (20 * SECOND, 2)], 4, 12_400_000,
    {"preempted": 3, "lost": 1}, 41, 2 * SECOND, 2.84,
)  # fmt: skip
NEVER = PoolWork("far", [], 0, None, {"no_machine": 2}, 0, None, None)
NOTHING = PoolWork("idle", [], 0, None, {}, 0, None, None)


def told() -> Progress:
    progress = Progress("bag", 40, 0, 0, 0)
    progress.pools = [NOTHING, NEVER, SPOT]
    return progress


def test_a_pool_tells_its_machines_over_time_its_wait_its_failures_and_its_throughput() -> None:
    first, second = pools.lines(told().pools, 40 * SECOND)
    assert first == (
        "spot: ▂▂▂▂█████▄▄▄▄▄▄▄▄▄▄▄ 2 machines (of 4), first task after 12.4 s, 41 tasks, "
        "as 2.8 dedicated cores, 3 preempted, 1 lost"
    )
    assert second == "far: 0 machines, 0 tasks, 2 no_machine"


def test_the_panel_and_the_plain_line_have_it() -> None:
    out = io.StringIO()
    shown = console(out)
    shown.width = 200
    shown.print(panel(told(), 40 * SECOND))
    assert "first task after 12.4 s, 41 tasks, as 2.8 dedicated cores" in out.getvalue()
    assert "2 machines (as 2.8 dedicated cores)" in line(told(), 40 * SECOND)
    assert "machine" not in line(Progress("bag", 40, 0, 0, 0), 40 * SECOND)


def test_only_the_largest_pools_are_shown() -> None:
    many = [PoolWork(f"p{n}", [(0, n)], n, None, {}, 0, None, None) for n in range(1, 20)]
    found = pools.lines(many, SECOND)
    assert [one.partition(":")[0] for one in found] == ["p19", "p18", "p17", "p16"]


def test_a_server_is_asked_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = [100.0], []

    def call(*words: Any, **more: Any) -> list[PoolWork]:
        asked.append(now[0])
        now[0] += 2.0  # so long it takes
        return [SPOT]

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(pools, "call", call)
    asking = pools.Asking(Owner(1, "http://127.0.0.1:1", "secret"))
    assert asking.newest() == []
    for _ in range(1000):
        now[0] += 0.1
        asking.newest()
    assert asking.newest() == [SPOT]
    assert len(asked) == 3, "no more than a twentieth of the time"
    assert pools.Asking(None).newest() == []
