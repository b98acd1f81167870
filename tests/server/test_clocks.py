"""A wall clock that is set while the server runs: leases stay as long as they are paid for."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest
from tests.server.spoken import spoken

from tailrace.drivers.command import CommandDriver
from tailrace.pools.commands import Commands, Names
from tailrace.server.clock import Clock
from tailrace.server.pools.capacity import Capacity
from tailrace.server.pools.command_pool import command

HOUR_S = 3600


def set_clock(monkeypatch: pytest.MonkeyPatch, by_s: int) -> None:
    real, real_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: real() + by_s)
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() + by_s * 10**9)


@pytest.mark.parametrize("by_s", [0, HOUR_S, -HOUR_S, 48 * HOUR_S])
def test_a_machine_is_ordered_for_what_is_left_of_its_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_s: int
) -> None:
    clock = Clock()
    ends_us = clock.now() + HOUR_S * 1_000_000
    amounts = Capacity(2.5, 950 << 20).words()
    site = command.Site("lab", Names("ab"), tmp_path, tmp_path, tmp_path, 1, [], amounts, clock.now)
    driver = CommandDriver(Commands("start", "stop", "list"), site, lambda lease, why: None)
    set_clock(monkeypatch, by_s)
    words = driver.words(1, ends_us)
    assert words["minutes"] == "60" and HOUR_S - 60 < int(words["seconds"]) <= HOUR_S
    assert HOUR_S - 60 < int(words["ends"]) - time.time() <= HOUR_S
    assert f"--ends {words['ends']}" in words["run"]
    assert (words["cores"], words["memory"]) == ("3", "998")


def test_a_step_of_the_wall_clock_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with spoken(tmp_path) as server, caplog.at_level(logging.WARNING):
        server.world._reconcile()
        assert "wall clock" not in caplog.text
        set_clock(monkeypatch, -HOUR_S)
        server.world._reconcile()
        server.world._reconcile()
        assert caplog.text.count("the wall clock moved by -3600 s") == 1
