"""The durable work call: four callers and the server share the machine, SQLite is FULL."""

from __future__ import annotations

import shutil
from functools import partial
from statistics import median

from benchmarks.bench import Bench
from benchmarks.figure import Figure, alternating, at_least
from benchmarks.served import Rate, Served

BARS = {1: 1_200, 5: 6_000, 20: 15_000}
ENOUGH = 5_000_000


def measure(bench: Bench) -> None:
    seconds = 2.0 if bench.quick else 4.0
    rates: dict[int, list[Rate]] = {bundle: [] for bundle in BARS}
    ways = {str(k): partial(_one, bench, k, seconds, rates[k]) for k in BARS}
    values = alternating(bench.repetitions, ways)
    for bundle, bar in BARS.items():
        what = f"durable work call, bundles of {bundle}"
        note = _note(rates[bundle])
        bench.tell(Figure("work_call", what, "tasks/s", values[str(bundle)], at_least(bar), note))


def _one(bench: Bench, bundle: int, seconds: float, rates: list[Rate]) -> float:
    folder = bench.fresh()
    with Served(folder) as server:
        server.tell(f"sweep {ENOUGH}")
        rates.append(server.rate(bundle, seconds))
    shutil.rmtree(folder)
    return rates[-1].tasks_per_s


def _note(rates: list[Rate]) -> str:
    commits = median(rate.commits_per_s for rate in rates)
    bundle = median(rate.bundle for rate in rates)
    cpu = median(rate.server_us for rate in rates)
    return (
        f"{commits:,.0f} commits/s, {bundle:.2f} tasks a call, "
        f"{cpu:,.0f} µs of the server's CPU a task"
    )
