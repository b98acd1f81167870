"""`map(square, range(20_000))` with all results, beside Ray, Dask and HyperQueue.

They are taken from the Python that `TAILRACE_ENGINES` names (`python -m venv engines;
engines/bin/pip install ray distributed hyperqueue; export TAILRACE_ENGINES=engines/bin/python`).
They listen on more than loopback, so they run in a network namespace that has nothing else. Each
engine has two workers and is warm when the clock begins. HyperQueue starts a Python for each call,
whose result is what it prints: it is given a hundredth of the calls, and its rate is compared.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks import machine
from benchmarks.bench import Bench
from benchmarks.figure import Figure, alternating, at_least, ratios

CHILD = Path(__file__).with_name("children") / "mapping.py"
ALONE = ["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]
MODULES = {"ray": "ray", "dask": "distributed", "hyperqueue": "hyperqueue"}
NAMES = {"ray": "Ray", "dask": "Dask", "hyperqueue": "HyperQueue"}
BARS = {"ray": at_least(3.0), "dask": at_least(8.0)}
FEWER = {"hyperqueue": 100}  # times fewer calls
PATIENCE_S = 900
UNBUNDLED = 10  # times fewer calls, as each waits for its own round


def measure(bench: Bench) -> None:
    count = 4_000 if bench.quick else 20_000
    ways = {"tailrace": partial(_rate, "tailrace", count, sys.executable)}
    for name, python in _others(bench):
        ways[name] = partial(_rate, name, count // FEWER.get(name, 1), python)
    rates = alternating(2 if bench.quick else 3, ways)
    load = f"load average {machine.load():.1f}"
    for name in list(ways)[1:]:
        what = f"map × {count:,}, beside {NAMES[name]}"
        faster = ratios(rates["tailrace"], rates[name])
        bench.tell(Figure("python_map", what, "times as fast", faster, BARS.get(name), load))
    for name, values in rates.items():
        what = f"map × {count // FEWER.get(name, 1):,}, {NAMES.get(name, name)}"
        bench.tell(Figure("python_map", what, "calls/s", values))
    _unbundled(bench, count // UNBUNDLED)


def _unbundled(bench: Bench, count: int) -> None:
    rates = [_rate("unbundled", count, sys.executable) for _ in range(2 if bench.quick else 3)]
    what = f"map × {count:,}, tailrace with no more than 2 calls in hand"
    note = f"{1e3 / median(rates):.2f} ms a call"
    bench.tell(Figure("python_map", what, "calls/s", rates, note=note))


def _others(bench: Bench) -> list[tuple[str, str]]:
    python = os.environ.get("TAILRACE_ENGINES", "")
    if not python:
        bench.skip("Ray, Dask, HyperQueue", "TAILRACE_ENGINES names no Python that has them")
        return []
    there = [name for name, module in MODULES.items() if _has(python, module)]
    for name in MODULES.keys() - there:
        bench.skip(NAMES[name], f"{python} does not have it")
    return [(name, python) for name in there]


def _has(python: str, module: str) -> bool:
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def _rate(engine: str, count: int, python: str) -> float:
    """By the seconds that the child tells; the engine ends with it, however it ends."""
    before = [] if python == sys.executable else ALONE
    child = subprocess.Popen(
        [*before, python, str(CHILD), engine, str(count)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        out, _ = child.communicate(timeout=PATIENCE_S)
        if child.returncode:
            raise RuntimeError(f"{engine} ended with exit {child.returncode}")
        return count / float(out.split()[-1])
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
