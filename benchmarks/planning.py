"""The estimator of strategies: a frontier, the whole command, large bags, a model in SimPy, and the
answer to a bag in its tail."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from functools import partial
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from benchmarks.bench import Bench, tailrace
from benchmarks.figure import Bar, Figure, alternating, at_least, below, ratios
from benchmarks.inquiries import inquiry
from benchmarks.ntdmr_simpy import Asked, makespan
from tailrace.planning import estimate, grids
from tailrace.planning.answering import answer
from tailrace.planning.frontier import frontier
from tailrace.planning.setting import Hosts, Setting
from tailrace.planning.strategy import Strategy

T_UR, MR_MAX, REPETITIONS = 2066.0, 0.1, 10
SIMPY_RUNS = 40  # of the recommended strategy, to know what one takes there
LARGE = Strategy(3, T_UR, 2 * T_UR, 0.02)
ANSWERS = {50: 0.2, 500: 2.0, 5_000: 20.0}  # hosts, and seconds at most


def measure(bench: Bench) -> None:
    _tell_frontier(bench)
    _tell_commands(bench)
    _tell_large(bench)
    _tell_answers(bench)


def _setting(tasks: int = 150, hosts: int = 50) -> Setting:
    """ExPERT 6.1, with a stand-in for its law: shifted exponential, mean 2066 s."""
    chances = (np.arange(1000) + 0.5) / 1000
    times = 1000 - (T_UR - 1000) * np.log1p(-chances)
    return Setting(
        tasks=tasks,
        cheap=Hosts(hosts, times, per_result=T_UR / 3600),
        dear=Hosts(hosts, np.array([T_UR]), per_result=34 * T_UR / 3600),
        patience_s=4 * T_UR,
        returned_from=np.zeros(1),
        returned=np.array([0.827]),
    )


def _tell_frontier(bench: Bench) -> None:
    """A model in SimPy lives each run from the bag's beginning; ours shares the life until the
    tail over all strategies, and uses all cores. One strategy alone on one core stands beside."""
    setting, grid = _setting(), grids.paper(T_UR, MR_MAX)
    estimate.warm_up()
    ways = {
        "ours": lambda: _lasts(lambda: frontier(estimate.sample(setting, grid, REPETITIONS))),
        "one": lambda: _lasts(lambda: estimate.sample(setting, [LARGE], 2000, threads=1)) / 2000,
        "SimPy": lambda: _lasts(lambda: _simpy(setting)) / SIMPY_RUNS,
    }
    values = alternating(bench.repetitions, ways)
    what = f"{len(grid)} strategies × {REPETITIONS} repetitions"
    _figure(bench, f"{what}, warm", "s", values["ours"], below(0.2))
    runs = len(grid) * REPETITIONS
    there = [one * runs for one in values["SimPy"]]
    _figure(bench, "the same in SimPy (runs of one strategy)", "s", there)
    times = ratios(there, values["ours"])
    _figure(bench, "beside SimPy, all cores against one", "times", times, at_least(200))
    alone = ratios(values["SimPy"], values["one"])
    _figure(bench, "beside SimPy, one strategy alone on one core", "times", alone)


def _simpy(setting: Setting) -> None:
    asked = Asked(
        setting.tasks, setting.cheap.hosts, LARGE.dear_hosts(setting.cheap.hosts),
        setting.cheap.turnarounds.tolist(), 0.827, T_UR, setting.patience_s,
        LARGE.n or 0, LARGE.t_s, LARGE.d_s,
    )  # fmt: skip
    for seed in range(SIMPY_RUNS):
        makespan(asked, seed)


def _tell_commands(bench: Bench) -> None:
    """The first ever compiles: what it keeps goes to a folder of its own."""
    folder = bench.folder()
    times = folder / "times.csv"
    drawn = _setting().cheap.turnarounds.tolist()
    times.write_text("turnaround_s\n" + "".join(f"{one:.1f}\n" for one in drawn))
    firsts = [_command(folder, times, folder / f"cache-{n}") for n in range(bench.repetitions)]
    kept = folder / "cache-0"
    cached = [_command(folder, times, kept) for _ in range(bench.repetitions)]
    shutil.rmtree(folder)
    _figure(bench, "`tailrace plan frontier`, first ever", "s", firsts, below(8))
    _figure(bench, "the same, cached", "s", cached, below(1.5))


def _command(folder: Path, times: Path, cache: Path) -> float:
    words = ["plan", "frontier", "--tasks", "150", "--unreliable", "50", "--turnaround", str(times),
             "--reliability", "0.827", "--t-ur", "2066", "--c-ur", "1c/h", "--c-r", "34c/h",
             "--repetitions", str(REPETITIONS)]  # fmt: skip
    command = partial(
        subprocess.run, [tailrace(), *words], cwd=folder, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )  # fmt: skip
    return _lasts(command)


def _tell_large(bench: Bench) -> None:
    large, tenth = _setting(100_000, 5_000), _setting(10_000, 500)
    ways = {
        "large": lambda: _lasts(lambda: estimate.sample(large, [LARGE], REPETITIONS)),
        "tenth": lambda: _lasts(lambda: estimate.sample(tenth, [LARGE], REPETITIONS)),
        "twice": lambda: _lasts(
            lambda: estimate.sample(replace(large, tasks=200_000), [LARGE], REPETITIONS)
        ),
    }
    values = alternating(bench.repetitions, ways)
    what = f"100,000 tasks on 5,000 hosts, one strategy × {REPETITIONS}"
    _figure(bench, what, "s", values["large"], below(0.5))
    _figure(
        bench, "the same beside a tenth of it", "times", ratios(values["large"], values["tenth"])
    )
    twice = ratios(values["twice"], values["large"])
    _figure(bench, "twice the tasks beside it", "times", twice, below(2.5))


def _tell_answers(bench: Bench) -> None:
    """As a server has them computed, on all cores; there is a reliable host for ten others."""
    estimate.warm_up()
    for hosts, most_s in ANSWERS.items():
        asked = inquiry(hosts)
        lasts = [_lasts(lambda asked=asked: answer(asked)) for _ in range(bench.repetitions)]
        what = f"a plan for {hosts - 1:,} tasks under way on {hosts:,} hosts"
        _figure(bench, what, "s", lasts, below(most_s))


def _lasts(work: object) -> float:
    assert callable(work)
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _figure(
    bench: Bench, what: str, unit: str, values: list[float], bar: Bar | None = None
) -> None:  # fmt: skip
    bench.tell(Figure("planning", what, unit, values, bar))
