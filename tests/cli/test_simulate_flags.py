"""Flags of `tailrace simulate`: variants, running means, pictures; its bar, and Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import GRID, ask, clean_environment

from tailrace.cli.virtual import seeding

# Two scenarios: one is done at once, the other not within a day.
ENDLESS = """
stop = { time = "36500d" }
[pools.one]
machines = 1
up = "1s"
down = "1s"
detection = "reported"
[bags.long]
tasks = 1
length = "10s"
retries = { lost = 1000000000 }
"""


def test_running_tells_mean_and_variance_after_each_run(grid: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "3", "--running", "--figure", "makespan_s")
    told = ask(grid, *words, "--json").json[0]
    a, b, c = (run["makespan_s"] for run in told["runs"])
    steps = told["running"]["makespan_s"]
    assert [step["mean"] for step in steps] == pytest.approx([a, (a + b) / 2, (a + b + c) / 3])
    assert steps[0]["variance"] is None
    assert steps[1]["variance"] == pytest.approx((a - b) ** 2 / 2)
    rows = ask(grid, *words).out.splitlines()
    assert [row.split()[-5:-3] for row in rows[-2:]] == [["2", "1"], ["3", "2"]]


def test_variants_are_compared_in_one_table(grid: Path) -> None:
    told = ask(grid, "simulate", "grid.toml", "--seeds", "2", "--vary", "pools.spot.machines=2,8")
    head, few, many = told.out.splitlines()[-3:]
    assert head.split()[:3] == ["scenario", "runs", "makespan_s"] and "cost_USD" in head
    assert few.startswith("grid (pools.spot.machines=2)")
    assert many.startswith("grid (pools.spot.machines=8)")


def test_a_pool_may_be_varied_down_to_nothing(grid: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "1", "--vary", "pools.dear.max=0,1", "--json")
    without, with_it = ask(grid, *words).json
    assert "cost_USD" not in without["figures"] and with_it["figures"]["cost_USD"]["mean"] > 0


def test_two_files_of_one_name_are_told_apart(grid: Path) -> None:
    (grid / "other.toml").write_text(GRID)
    told = ask(grid, "simulate", "grid.toml", "other.toml", "--seeds", "1").out
    assert "grid.toml: grid: 1 run\n" in told and "other.toml: grid: 1 run\n" in told


def test_a_varied_value_may_be_a_law(grid: Path) -> None:
    laws = 'bags.small.length={law="uniform", from="1m", to="2m"}, "5m"'
    told = ask(grid, "simulate", "grid.toml", "--seeds", "1", "--vary", laws, "--json").json
    assert [one["varied"] for one in told] == [
        {"bags.small.length": "uniform 1m 2m"},
        {"bags.small.length": "5m"},
    ]
    assert told[0]["runs"][0]["work_useful_h"] < told[1]["runs"][0]["work_useful_h"] == 5


def test_without_a_terminal_a_line_tells_now_and_then(
    grid: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("simulate", "grid.toml", "--seeds", "3", "-j", "1")
    assert ask(grid, *words).err == "", "it takes less than ten seconds"
    monkeypatch.setattr(seeding, "PLAIN_EVERY_S", 0)
    lines = ask(grid, *words).err.splitlines()
    assert lines[1].startswith("tailrace: 2 of 3 runs done, ") and len(lines) == 3
    assert ask(grid, *words, "--quiet").err == ask(grid, *words, "--json").err == ""


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    """On a terminal, so that the bar tells when to interrupt; only the first process is told."""
    (tmp_path / "endless.toml").write_text(ENDLESS)
    screen, theirs = pty.openpty()
    words = ["simulate", "endless.toml", "--seeds", "2", "-j", "2", "--vary", "pools.one.up=1d,1s"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tailrace.cli.main", *words], cwd=tmp_path,
        env=clean_environment({"TERM": "xterm", "COLUMNS": "100", "TAILRACE_COLOR": "never"}),
        stdout=subprocess.PIPE, stderr=theirs, text=True, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        assert "2/4 runs" in read_until(screen, "2/4 runs")
        process.send_signal(signal.SIGINT)
        # Read first: a terminal that nobody reads is full after a few bars, and then it blocks.
        assert "2 of 4 runs are done" in read_until(screen, "are done")
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert gone(process.pid), "a worker is left behind"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)
        os.close(screen)
    assert "endless (pools.one.up=1d): 2 runs" in out
    assert "endless (pools.one.up=1s): 0 runs" in out


def gone(group: int) -> bool:
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def read_until(screen: int, text: str) -> str:
    seen, ends = "", time.monotonic() + 30
    while text not in seen and time.monotonic() < ends:
        if select.select([screen], [], [], 0.5)[0]:
            try:
                seen += os.read(screen, 65536).decode(errors="replace")
            except OSError:
                break
    return seen


def test_the_remaining_tasks_are_drawn(grid: Path) -> None:
    assert ask(grid, "simulate", "grid.toml", "--seeds", "3", "--plot", "runs.svg").code == 0
    drawn = (grid / "runs.svg").read_text()
    assert "median of 3 runs" in drawn and "90 % of the runs" in drawn and "The last 10" in drawn
    assert ask(grid, "simulate", "grid.toml", "--seeds", "1", "--plot", "one.png").code == 0
    assert (grid / "one.png").read_bytes().startswith(b"\x89PNG")


def test_figures_are_drawn_against_what_was_varied(grid: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "2", "--vary", "pools.spot.machines=2,50")
    assert (
        ask(grid, *words, "--vary", "bags.small.matching=fcfs,maxmax", "--plot", "v.svg").code == 0
    )
    drawn = (grid / "v.svg").read_text()
    for text in ("makespan (h)", "cost (USD)", "pools.spot.machines", "matching=maxmax", ">50<"):
        assert text in drawn, text


def test_a_name_with_a_dot_stands_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        '[pools."m1.small"]\nmachines = 1\n[bags."my bag.1"]\ntasks = 4\nlength = "1m"\n'
    )
    words = ("simulate", "s.toml", "--seeds", "1", "--json")
    told = ask(tmp_path, *words, "--vary", 'pools."m1.small".machines=1,2').json
    assert [one["figures"]["makespan_s"]["mean"] for one in told] == [240, 120]
    assert [one["varied"] for one in told] == [{'pools."m1.small".machines': k} for k in "12"]
    told = ask(tmp_path, *words, "--set", "bags.'my bag.1'.tasks=8").json
    assert told[0]["figures"]["makespan_s"]["mean"] == 480
    wrong = ask(tmp_path, *words, "--set", "pools.m1.small.machines=2")
    assert wrong.code == 2 and 'the pools are "m1.small"' in wrong.err


def test_priced_machines_that_would_come_for_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        '[pools.p]\nmax = 2\nprice = "1 USD/h"\n[bags.b]\ntasks = 4\nlength = "1m"\n'
    )
    found = ask(tmp_path, "simulate", "s.toml", "--set", "pools.p.machines=10")
    assert found.code == 2
    assert "which cost nothing" in found.err and "raise max" in found.err


def test_a_count_beyond_the_most_names_it(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[pools.p]\nmachines = 1\n[bags.b]\ntasks = 4\nlength = 1\n")
    found = ask(tmp_path, "simulate", "s.toml", "--set", "bags.b.tasks=9999999999999")
    assert found.code == 2 and "from 1 to 1,000,000,000" in found.err
