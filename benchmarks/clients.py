"""Five hundred clients, each with a call a second that brings a result and fetches a task.

They are one process, beside the server on the same cores; SQLite is FULL. Ten minutes, or half a
minute with `--quick`."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from benchmarks.bench import Bench
from benchmarks.children.crowd import Told
from benchmarks.figure import Figure, below
from benchmarks.served import TOKEN, Served

CLIENTS = 500
SECONDS, QUICK_SECONDS = 600.0, 30.0
ENOUGH = 5_000_000
WHAT = f"{CLIENTS} clients, a call a second each"


def measure(bench: Bench) -> None:
    seconds = QUICK_SECONDS if bench.quick else SECONDS
    with Served(bench.fresh()) as server:
        server.tell(f"sweep {ENOUGH}")
        told = _told(server.port, seconds)
        stored = server.tell("facts")["done"]
    note = f"{told.calls:,} calls in {seconds:g} s, {told.acked:,} results acknowledged"
    _tell(bench, "p50 of the call", "ms", told.p50_ms)
    bench.tell(Figure("clients", f"{WHAT}: p99 of the call", "ms", [told.p99_ms], below(250), note))
    _tell(bench, "the longest call", "ms", told.longest_ms)
    lost = told.acked - stored
    bench.tell(Figure("clients", f"{WHAT}: results lost", "results", [lost], below(1)))
    _tell(bench, "calls refused, and made again", "calls", told.refused)


def _tell(bench: Bench, what: str, unit: str, value: float) -> None:
    bench.tell(Figure("clients", f"{WHAT}: {what}", unit, [value]))


def _told(port: int, seconds: float) -> Told:
    program = [sys.executable, "-m", "benchmarks.children.crowd"]
    words = [str(port), TOKEN, str(CLIENTS), str(seconds)]
    done = subprocess.run([*program, *words], stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=Told)
