"""What a user waits for, or never notices: start, help, submission, an idle server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from functools import partial

from benchmarks.bench import Bench, tailrace
from benchmarks.figure import Bar, Figure, alternating, at_least, below
from benchmarks.machine import cpu_s, descendants
from benchmarks.served import TOKEN, Served

TRIVIAL = ["--", "true", "{}", ":::", "x"]
COMMANDS = 1_000_000
SETTLE_S = 3.0  # for a server and its worker to come to rest


def measure(bench: Bench) -> None:
    _tell_commands(bench)
    _tell_submission(bench)
    _tell_idle(bench)


def _tell_commands(bench: Bench) -> None:
    run = [tailrace(), "run", "--quiet"]
    ways = {
        "as it is": partial(_seconds, bench, [*run, *TRIVIAL]),
        "with --report": partial(_seconds, bench, [*run, "--report", *TRIVIAL]),
        "help": partial(_seconds, bench, [tailrace(), "--help"]),
    }
    values = alternating(bench.repetitions, ways)
    for name in ("as it is", "with --report"):
        _figure(bench, f"one trivial task, whole command, {name}", "s", values[name], below(1.5))
    _figure(bench, "`tailrace --help`", "s", values["help"], below(0.3))


def _seconds(bench: Bench, command: list[str]) -> float:
    folder = bench.folder()
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, cwd=folder, check=True)
    lasted = time.monotonic() - began
    shutil.rmtree(folder)
    return lasted


def _tell_submission(bench: Bench) -> None:
    file = bench.fresh()
    with open(file, "w") as stream:
        stream.writelines(f"python model.py --seed {k}\n" for k in range(COMMANDS))
    rates = [COMMANDS / _submission(bench, str(file)) for _ in range(bench.repetitions)]
    file.unlink()
    what = "listed commands submitted (read, cut in chunks, committed)"
    _figure(bench, what, "commands/s", rates, at_least(100_000))


def _submission(bench: Bench, file: str) -> float:
    folder = bench.folder()
    program = [sys.executable, "-m", "benchmarks.children.submitting", file, str(folder)]
    ended = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True)
    shutil.rmtree(folder)
    return float(ended.stdout)


def _tell_idle(bench: Bench) -> None:
    """A worker without a task waits in its call; both are watched."""
    seconds = 5.0 if bench.quick else 20.0
    folder = bench.fresh()
    with Served(folder) as server:
        worker = _worker(server.port, str(folder / "worker"))
        time.sleep(SETTLE_S)
        pids = descendants(worker.pid)
        shares = [_shares([server.pid], pids, seconds) for _ in range(1 if bench.quick else 3)]
        worker.terminate()
        worker.wait()
    shutil.rmtree(folder)
    _figure(bench, "idle server", "% CPU", [one for one, _ in shares], below(1))
    _figure(bench, "its idle worker", "% CPU", [one for _, one in shares], below(1))


def _worker(port: int, folder: str) -> subprocess.Popen[bytes]:
    address = f"http://127.0.0.1:{port}"
    program = [sys.executable, "-m", "tailrace.worker", "--server", address]
    return subprocess.Popen(
        [*program, "--folder", folder, "--pool", "bench"],
        env={**os.environ, "TAILRACE_TOKEN": TOKEN},
        stderr=subprocess.DEVNULL,
    )


def _shares(one: list[int], other: list[int], seconds: float) -> tuple[float, float]:
    before = [sum(map(cpu_s, pids)) for pids in (one, other)]
    began = time.monotonic()
    time.sleep(seconds)
    lasted = time.monotonic() - began
    after = [sum(map(cpu_s, pids)) for pids in (one, other)]
    first, second = (100 * (b - a) / lasted for a, b in zip(before, after, strict=True))
    return first, second


def _figure(bench: Bench, what: str, unit: str, values: list[float], bar: Bar) -> None:
    bench.tell(Figure("small_things", what, unit, values, bar))
