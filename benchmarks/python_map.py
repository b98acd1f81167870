"""`map(square, range(20_000))` with all results, beside Ray and Dask.

Ray and Dask are taken from the Python that `TAILRACE_ENGINES` names (`python -m venv engines;
engines/bin/pip install ray distributed; export TAILRACE_ENGINES=engines/bin/python`). They listen
on more than loopback, so they run in a network namespace that has nothing else. Each engine has two
workers and is warm when the clock begins. HyperQueue is not here: its functions return nothing.
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
BARS = {"ray": 3.0, "dask": 8.0}
PATIENCE_S = 900
UNBUNDLED = 10  # times fewer calls, as each waits for its own round


def measure(bench: Bench) -> None:
    count = 4_000 if bench.quick else 20_000
    ways = {"tailrace": partial(_seconds, "tailrace", count, sys.executable)}
    ways |= {name: partial(_seconds, name, count, python) for name, python in _others(bench)}
    values = alternating(bench.repetitions, ways)
    load = f"load average {machine.load():.1f}"
    for name, limit in BARS.items():
        if name in values:
            faster = ratios(values[name], values["tailrace"])
            what = f"map × {count:,}, beside {name.capitalize()}"
            bench.tell(Figure("python_map", what, "times as fast", faster, at_least(limit), load))
    for name, seconds in values.items():
        rates = [count / one for one in seconds]
        bench.tell(Figure("python_map", f"map × {count:,}, {name}", "calls/s", rates))
    _unbundled(bench, count // UNBUNDLED)


def _unbundled(bench: Bench, count: int) -> None:
    seconds = [_seconds("unbundled", count, sys.executable) for _ in range(bench.repetitions)]
    rates, note = [count / one for one in seconds], f"{median(seconds) / count * 1e3:.2f} ms a call"
    what = f"map × {count:,}, tailrace with no more than 2 calls in hand"
    bench.tell(Figure("python_map", what, "calls/s", rates, note=note))


def _others(bench: Bench) -> list[tuple[str, str]]:
    python = os.environ.get("TAILRACE_ENGINES", "")
    if not python:
        bench.skip("Ray and Dask", "TAILRACE_ENGINES names no Python that has them")
        return []
    there = [
        name for name, module in (("ray", "ray"), ("dask", "distributed")) if _has(python, module)
    ]
    for name in BARS:
        if name not in there:
            bench.skip(name, f"{python} does not have it")
    return [(name, python) for name in there]


def _has(python: str, module: str) -> bool:
    code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def _seconds(engine: str, count: int, python: str) -> float:
    """As told by the child; the engine ends with it, however it ends."""
    before = [] if python == sys.executable else ALONE
    child = subprocess.Popen(
        [*before, python, str(CHILD), engine, str(count)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        out, _ = child.communicate(timeout=PATIENCE_S)
        if child.returncode:
            raise RuntimeError(f"{engine} ended with exit {child.returncode}")
        return float(out.split()[-1])
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
