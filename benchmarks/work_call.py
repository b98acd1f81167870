"""The durable work call: four callers and the server share the machine, SQLite is FULL.

Beside it the same with all five policies of GridBot's example; and, without a bar, with PostgreSQL
on the same disk and the same cores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median

from tests.database import Database, why_not

from benchmarks import machine
from benchmarks.bench import Bench
from benchmarks.figure import Bar, Figure, alternating, at_least
from benchmarks.served import Rate, Served

BARS = {1: 1_200, 5: 6_000, 20: 15_000}
WITH_POLICIES = {5: 5_000, 20: 12_000}
ENOUGH = 5_000_000


def measure(bench: Bench) -> None:
    what, bars = "durable work call", {bundle: at_least(bar) for bundle, bar in BARS.items()}
    _measure(bench, what, bars, lambda: "")
    bars = {bundle: at_least(bar) for bundle, bar in WITH_POLICIES.items()}
    _measure(bench, f"{what} with five policies", bars, lambda: "", "policies")
    if why_not():
        bench.skip(f"{what} with PostgreSQL", why_not())
        return
    database = Database(bench.disk, fsync=True)
    try:
        _measure(bench, f"{what} with PostgreSQL", dict.fromkeys(BARS), database.url)
    finally:
        database.close()


def _measure(
    bench: Bench,
    what: str,
    bars: Mapping[int, Bar | None],
    store: Callable[[], str],
    kind: str = "sweep",
) -> None:
    """`kind`: of the bag, as the server is told to make it."""
    seconds = 2.0 if bench.quick else 4.0
    rates: dict[int, list[Rate]] = {bundle: [] for bundle in bars}
    paces: dict[int, list[float]] = {bundle: [] for bundle in bars}
    ways = {str(k): partial(_one, bench, k, seconds, rates[k], paces[k], store, kind) for k in bars}
    values = alternating(bench.repetitions, ways)
    for bundle, bar in bars.items():
        named = f"{what}, bundles of {bundle}"
        note = _note(rates[bundle], paces[bundle])
        bench.tell(Figure("work_call", named, "tasks/s", values[str(bundle)], bar, note))


def _one(
    bench: Bench,
    bundle: int,
    seconds: float,
    rates: list[Rate],
    paces: list[float],
    store: Callable[[], str],
    kind: str,
) -> float:
    folder = bench.fresh()
    paces.append(machine.pace())
    with Served(folder, store()) as server:
        server.tell(f"{kind} {ENOUGH}")
        rates.append(server.rate(bundle, seconds))
    shutil.rmtree(folder)
    return rates[-1].tasks_per_s


def _note(rates: list[Rate], paces: list[float]) -> str:
    commits = median(rate.commits_per_s for rate in rates)
    bundle = median(rate.bundle for rate in rates)
    cpu = median(rate.server_us for rate in rates)
    return (
        f"{commits:,.0f} commits/s, {bundle:.2f} tasks a call, "
        f"{cpu:,.0f} µs of the server's CPU a task; just before each, the machine made "
        f"{min(paces):.0f} … {max(paces):.0f} million additions/s"
    )
