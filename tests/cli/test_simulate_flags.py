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
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.conftest import GRID, ask, clean_environment

from tailrace.cli.virtual import seeding
from tailrace.errors import BadInput
from tailrace.report.words import count
from tailrace.simulation.settings import one, variations

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


def test_one_run_has_neither_interval_nor_deviation(grid: Path) -> None:
    words = ("simulate", "grid.toml", "--figure", "makespan_s")
    for seeds, known in (("1", False), ("2", True)):
        found = ask(grid, *words, "--seeds", seeds, "--json").json[0]["figures"]["makespan_s"]
        assert (found["variance"] is not None, found["half_width"] is not None) == (known, known)
    row = ask(grid, *words, "--seeds", "1").out.splitlines()[2].split()
    assert row[0] == "makespan_s" and len(row) == 4 and row[1] == row[2] == row[3]


UP = 'pools.spot.up={ law = "weibull", shape = 0.7, scale = "1h" }'


@pytest.mark.parametrize(
    ("fixed", "varied"),
    [("pools.spot.machines=3", ["pools.spot.machines=2,4"]),
     ("pools.spot.up.scale=2h", [f"{UP}, 1h"]), (UP, ["pools.spot.up.scale=1h,2h"]),
     (None, ["pools.spot.up.scale=2h,3h", f"{UP}, 1h"])],
)  # fmt: skip
def test_what_a_varied_value_would_undo_is_refused_with_both_flags(
    grid: Path, fixed: str | None, varied: list[str]
) -> None:
    undone = f"--set {fixed}" if fixed else f"--vary {varied[0]}"
    words = [word for one in varied for word in ("--vary", one)]
    told = ask(grid, "simulate", "grid.toml", *(["--set", fixed] if fixed else []), *words)
    assert told.code == 2
    assert f"{undone} would have no effect beside --vary {varied[-1]}" in told.err


def test_a_table_may_be_set_and_what_it_leaves_open_varied(grid: Path) -> None:
    law = 'pools.spot.up={ law = "weibull", shape = 0.7 }'
    vary = ("--vary", "pools.spot.up.scale=1h,2h")
    words = ("simulate", "grid.toml", "--seeds", "1", "--set", law, *vary, "--json")
    few, more = (one["figures"]["failures"]["mean"] for one in ask(grid, *words).json)
    assert few > more


def test_variants_are_compared_in_one_table(grid: Path) -> None:
    told = ask(grid, "simulate", "grid.toml", "--seeds", "2", "--vary", "pools.spot.machines=2,8")
    head, few, many = told.out.splitlines()[-3:]
    assert head.split()[:3] == ["scenario", "runs", "makespan_s"] and "cost_USD" in head
    assert few.startswith("grid (pools.spot.machines=2)")
    assert many.startswith("grid (pools.spot.machines=8)")


def test_tables_that_differ_in_their_keys_are_shown_whole(grid: Path) -> None:
    vary = ("--vary", 'news={ every = "5m" },{ delay = "5m" }')
    told = ask(grid, "simulate", "grid.toml", "--seeds", "1", *vary)
    polled, late = told.out.splitlines()[-2:]
    assert polled.startswith('grid (news={ every = "5m" })'), told
    assert late.startswith('grid (news={ delay = "5m" })')


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


# How long after the first Ctrl-C it is pressed again.
PRESSED = {"once": [], "twice": [0.0], "later": [0.1], "often": [0.0, 0.0, 0.01, 0.05, 0.2, 0.5]}


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("gaps_s", PRESSED.values(), ids=PRESSED)
def test_an_interrupt_keeps_what_is_done(
    tmp_path: Path, processes: int, gaps_s: list[float]
) -> None:
    """On a terminal, so that the bar tells when to interrupt; all processes are told. One process
    begins the runs in turn, of two one comes back for the second run of what ends."""
    (tmp_path / "endless.toml").write_text(ENDLESS)
    screen, theirs = pty.openpty()
    words = ["simulate", "endless.toml", "--seeds", "2", "--vary", "pools.one.up=1d,1s"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tailrace.cli.main", *words, "-j", str(processes)], cwd=tmp_path,
        env=clean_environment({"TERM": "xterm", "COLUMNS": "100", "TAILRACE_COLOR": "never"}),
        stdout=subprocess.PIPE, stderr=theirs, text=True, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    done = f"{processes} of 4 runs are done"
    try:
        assert f"{processes}/4 runs" in read_until(screen, f"{processes}/4 runs")
        press(process.pid, gaps_s)
        # Read first: a terminal that nobody reads is full after a few bars, and then it blocks.
        told = read_until(screen, "are theirs.")
        assert done in told and "Traceback" not in told and "Interrupt" not in told
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert gone(process.pid), "a worker is left behind"
        assert "Traceback" not in read_until(screen, "Traceback"), "after its end"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(5)
        os.close(screen)
    assert f"endless (pools.one.up=1d): {count(processes, 'run')}" in out
    assert "endless (pools.one.up=1s): 0 runs" in out


def press(group: int, gaps_s: list[float]) -> None:
    os.killpg(group, signal.SIGINT)
    for gap_s in gaps_s:
        time.sleep(gap_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGINT)


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


def test_a_budget_where_nothing_has_a_price_is_told(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        '[pools.p]\nmachines = 1\n[bags.b]\ntasks = 4\nlength = "1m"\nbudget = "5 USD"\n'
    )
    words = ("simulate", "s.toml", "--seeds", "1", "--json", "-j", "1")
    told = ask(tmp_path, *words, "--vary", "bags.b.tasks=4,5")
    assert told.code == 0 and len(told.json) == 2
    (line,) = told.err.splitlines()
    assert "bag b runs on machines that cost nothing, so that its budget of 5 USD does not" in line
    assert 'price = "0.10 USD/h"), or leave the budget out' in line
    priced = ("--set", "pools.p={max = 1, price = '1 USD/h'}")
    assert ask(tmp_path, *words, *priced).err == ""


@pytest.mark.parametrize(
    ("written", "values", "shown"),
    [
        ("1,2", [1, 2], ["1", "2"]),
        ("10m, 1h", ["10m", "1h"], ["10m", "1h"]),
        ("[1,2],[3]", [[1, 2], [3]], ["[1 2]", "[3]"]),
        ("[[1, 2], []],[]", [[[1, 2], []], []], ["[[1 2] []]", "[]"]),
        ('{ law = "x", at = "1,2" },5m', [{"law": "x", "at": "1,2"}, "5m"], ["x 1,2", "5m"]),
        ("\"a,b\",'c,d'", ["a,b", "c,d"], ["a,b", "c,d"]),
        ('"a\\"b,c",d', ['a"b,c', "d"], ['a"b,c', "d"]),
        ("it's,that's", ["it's", "that's"], ["it's", "that's"]),
        ("true,''", [True, ""], ["true", "''"]),
    ],
)
def test_values_are_split_at_the_commas_between_them(
    written: str, values: list[object], shown: list[str]
) -> None:
    found = [setting for (setting,) in variations([f"bags.b.x={written}"])]
    assert [one.value for one in found] == values
    assert [one.shown for one in found] == shown


@given(st.text(st.sampled_from("a1.,=[]{}\"'\\ #\n"), max_size=12))
@settings(max_examples=2000, deadline=None)
def test_whatever_is_typed_is_a_value_or_refused_with_a_remedy(typed: str) -> None:
    for read in (one, lambda text: list(variations([text]))):
        try:
            read(typed)
        except BadInput as told:
            assert told.remedy


def test_a_count_beyond_the_most_names_it(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[pools.p]\nmachines = 1\n[bags.b]\ntasks = 4\nlength = 1\n")
    found = ask(tmp_path, "simulate", "s.toml", "--set", "bags.b.tasks=9999999999999")
    assert found.code == 2 and "from 1 to 100,000,000" in found.err
