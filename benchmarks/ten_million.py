"""Ten million queued tasks: what they cost a server, and how a large store comes back.

The rate is compared over the first eight thousand tasks, so that ten thousand are enough for them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.figure import Figure, alternating, at_least, below, ratios
from benchmarks.machine import resident_mb
from benchmarks.served import CLIENTS, Served

MANY, FEW = 10_000_000, 10_000
BUNDLE = 5
WARM_S = 0.1
CALLS = 6_000 // BUNDLE // CLIENTS
FINISHED = 1_000_000

BESIDE = {  # many, and the few that they are compared with
    "a sweep": "10 thousand",
    "listed commands": "10 thousand",
    "a sweep with five policies": "10 thousand with five policies",
}

Memory = dict[str, list[float]]


def measure(bench: Bench) -> None:
    commands = bench.fresh()
    with open(commands, "w") as file:
        file.writelines(f"true {k}\n" for k in range(MANY))
    submissions = {
        "10 thousand": f"sweep {FEW}",
        "a sweep": f"sweep {MANY}",
        "listed commands": f"commands {commands}",
        "10 thousand with five policies": f"policies {FEW}",
        "a sweep with five policies": f"policies {MANY}",
    }
    now: Memory = {name: [] for name in submissions}
    peak: Memory = {name: [] for name in submissions}
    ways = {
        name: partial(_rate, bench, line, now[name], peak[name])
        for name, line in submissions.items()
    }
    rates = alternating(bench.repetitions, ways)
    commands.unlink()
    for name, few in BESIDE.items():
        _tell(bench, name, now[name], peak[name], ratios(rates[name], rates[few]))
    _tell_restore(bench)


def _rate(bench: Bench, line: str, now: list[float], peak: list[float]) -> float:
    folder = bench.fresh()
    with Served(folder) as server:
        empty = resident_mb(server.pid)
        server.tell(line)
        rate = server.rate(BUNDLE, 60.0, warm_s=WARM_S, calls=CALLS)
        now.append(resident_mb(server.pid) - empty)
        peak.append(resident_mb(server.pid, "VmHWM") - empty)
    shutil.rmtree(folder)
    return rate.tasks_per_s


def _tell(bench: Bench, name: str, now: list[float], peak: list[float], rates: list[float]) -> None:
    tell = partial(_figure, bench)
    tell(f"10 million queued ({name}): memory above an empty server", "MB", now, below(150))
    tell(f"10 million queued ({name}): its peak while they are submitted", "MB", peak)
    what = f"10 million queued ({name}): rate beside that with 10 thousand, bundles of {BUNDLE}"
    tell(what, "times", rates, at_least(0.8))


def _tell_restore(bench: Bench) -> None:
    store = bench.folder()
    _child("build", store)
    times = [float(_child("time", store)) for _ in range(bench.repetitions)]
    shutil.rmtree(store)
    _figure(bench, "restore of a store with 1 million finished tasks", "s", times, below(2))


def _child(what: str, store: Path) -> str:
    program = [sys.executable, "-m", "benchmarks.children.restoring", what, str(store)]
    ended = subprocess.run([*program, str(FINISHED)], stdout=subprocess.PIPE, text=True, check=True)
    return ended.stdout


def _figure(bench: Bench, what: str, unit: str, values: list[float], bar: object = None) -> None:
    bench.tell(Figure("ten_million", what, unit, values, bar))  # type: ignore[arg-type]
