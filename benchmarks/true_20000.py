"""`true`, 20,000 times, whole command, beside xargs and GNU parallel.

Two pairs, each like with like: lines that a shell runs (`--commands` beside `xargs sh -c` and
parallel), and a program with an argument (a bag file beside `xargs true`). Words behind `:::` would
exceed the length of a command line.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.bench import Bench, tailrace
from benchmarks.figure import Figure, alternating, at_least, ratios

SWEEP = """
command = ["true", "{{i}}"]
[parameters]
i = {{ from = 1, to = {count} }}
"""
XARGS = ["xargs", "-P2", "-d", "\\n", "-n1"]
RUN = [tailrace(), "run", "--quiet"]


Cpu = dict[str, list[float]]


def measure(bench: Bench) -> None:
    count = 4_000 if bench.quick else 20_000
    inputs = _inputs(bench.folder(), count)
    cpu: Cpu = {}
    ways = {name: partial(_counted, name, way, cpu) for name, way in _ways(bench, inputs).items()}
    values = alternating(bench.repetitions, ways)
    _tell(bench, "lines of shell", values["tailrace --commands"], values["xargs sh -c"], count)
    _tell(bench, "argv", values["tailrace bag.toml"], values["xargs true"], count)
    for name, seconds in values.items():
        rates = [count / one for one in seconds]
        note = f"{median(cpu[name]) / count * 1e6:,.0f} µs of CPU a task"
        what = f"`true` × {count:,}, {name}"
        bench.tell(Figure("true_20000", what, "tasks/s", rates, note=note))
    if "parallel" in values:
        faster = ratios(values["parallel"], values["tailrace --commands"])
        what = f"`true` × {count:,}, lines of shell, beside GNU parallel -j2"
        bench.tell(Figure("true_20000", what, "times as fast", faster, at_least(2.5)))


def _tell(bench: Bench, form: str, ours: list[float], theirs: list[float], count: int) -> None:
    what = f"`true` × {count:,}, {form}, beside xargs -P2"
    bench.tell(Figure("true_20000", what, "times as fast", ratios(theirs, ours), at_least(0.7)))


def _inputs(folder: Path, count: int) -> dict[str, Path]:
    inputs = {name: folder / name for name in ("commands", "numbers", "bag.toml")}
    inputs["commands"].write_text("true\n" * count)
    inputs["numbers"].write_text("".join(f"{k}\n" for k in range(1, count + 1)))
    inputs["bag.toml"].write_text(SWEEP.format(count=count))
    return inputs


def _ways(bench: Bench, inputs: dict[str, Path]) -> dict[str, Callable[[], float]]:
    run = partial(_timed, bench)
    commands, numbers = inputs["commands"], inputs["numbers"]
    ways: dict[str, Callable[[], float]] = {
        "tailrace --commands": partial(run, [*RUN, "--commands", str(commands)]),
        "xargs sh -c": partial(run, [*XARGS, "sh", "-c"], commands),
        "tailrace bag.toml": partial(_bag_file, bench, inputs["bag.toml"]),
        "xargs true": partial(run, [*XARGS, "true"], numbers),
    }
    if shutil.which("parallel"):
        ways["parallel"] = partial(run, ["parallel", "--will-cite", "-j2"], commands)
    else:
        bench.skip("GNU parallel", "the Debian package `parallel` is not installed")
    return ways


def _counted(name: str, way: Callable[[], float], cpu: Cpu) -> float:
    """With the CPU time of all its processes, which a busy machine disturbs less."""
    before = _children_cpu()
    seconds = way()
    cpu.setdefault(name, []).append(_children_cpu() - before)
    return seconds


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _bag_file(bench: Bench, source: Path) -> float:
    folder = bench.folder()
    shutil.copy(source, folder)
    return _timed(bench, [*RUN, "bag.toml"], folder=folder)


def _timed(
    bench: Bench, command: list[str], stdin: Path | None = None, *, folder: Path | None = None
) -> float:
    folder = folder or bench.folder()
    with open(stdin or os.devnull, "rb") as file:
        began = time.monotonic()
        subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, cwd=folder, check=True)
        lasted = time.monotonic() - began
    shutil.rmtree(folder)
    return lasted
