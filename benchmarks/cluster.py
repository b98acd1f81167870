"""An array of tasks on a real Slurm: through the server and its pilots, and by plain `sbatch`.

Slurm is started for it on this machine (four nodes of two processors; `tests/real/slurm.py`). The
script is the same, and so are the processors: eight pilots of one core, or eight tasks of the array
at once. The time is that from the command until the last task has left its mark; for the server
that includes waiting for its pilots, which are jobs of the same queue. Tasks sleep, so that this
machine's two cores are left to those who hand them out.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.real.slurm import Slurm, missing

from benchmarks.bench import Bench, tailrace
from benchmarks.figure import Figure, alternating, ratios

PILOTS = 8
PATIENCE_S = 600.0
POOL = f"""
[pools.cluster]
driver = "command"
start = "sbatch --parsable -J {{name}} -t {{minutes}} -o {{log}} --open-mode=append --wrap {{run}}"
stop = "scancel -n {{name}}"
list = "squeue --me -h -o '%i %j'"
max = {PILOTS}
cores = 1
"""
JOB = """#!/bin/sh
#SBATCH --output=/dev/null
sleep {seconds}
: > marks/$SLURM_ARRAY_TASK_ID
"""


class Array(NamedTuple):
    tasks: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.tasks} tasks of {self.seconds:g} s"


def measure(bench: Bench) -> None:
    if missing():
        bench.skip("cluster", missing())
        return
    arrays = [Array(24, 0.1)] if bench.quick else [Array(200, 0.1), Array(40, 2.0)]
    with _slurm(bench.folder()) as slurm:
        for array in arrays:
            ways = {"server": partial(_through_server, bench, slurm, array),
                    "sbatch": partial(_through_sbatch, bench, slurm, array)}  # fmt: skip
            _tell(bench, array, alternating(1 if bench.quick else 3, ways))


def _tell(bench: Bench, array: Array, values: dict[str, list[float]]) -> None:
    note = f"{array.tasks * array.seconds / PILOTS:g} s would be enough for the tasks alone"
    for name, what in (("server", "tailrace submit"), ("sbatch", "sbatch --array")):
        bench.tell(Figure("cluster", f"{array}, {what}", "s", values[name], note=note))
    faster = ratios(values["sbatch"], values["server"])
    what = f"{array}, tailrace beside sbatch --array"
    bench.tell(Figure("cluster", what, "times as fast", faster))


@contextmanager
def _slurm(folder: Path) -> Iterator[Slurm]:
    slurm = Slurm(folder)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.end()


def _through_sbatch(bench: Bench, slurm: Slurm, array: Array) -> float:
    folder = _folder(bench, array)
    command = ["sbatch", "--parsable", f"--array=1-{array.tasks}", "job.sh"]
    return _timed(command, slurm, folder, array)


def _through_server(bench: Bench, slurm: Slurm, array: Array) -> float:
    folder = _folder(bench, array)
    (folder / "pools.toml").write_text(POOL)
    command = [tailrace(), "submit", "--quiet", "--array", f"1-{array.tasks}", "job.sh"]
    with _serving(folder, slurm):
        return _timed(command, slurm, folder, array)


def _folder(bench: Bench, array: Array) -> Path:
    folder = bench.folder()
    (folder / "marks").mkdir()
    (folder / "job.sh").write_text(JOB.format(seconds=array.seconds))
    return folder


def _timed(command: list[str], slurm: Slurm, folder: Path, array: Array) -> float:
    began = time.monotonic()
    subprocess.run(
        command, cwd=folder, env=slurm.environment, check=True, stdout=subprocess.DEVNULL
    )
    _until(lambda: _marks(folder) == array.tasks, f"{array}: not all of them are done")
    return time.monotonic() - began


def _marks(folder: Path) -> int:
    return sum(1 for _ in (folder / "marks").iterdir())


@contextmanager
def _serving(folder: Path, slurm: Slurm) -> Iterator[None]:
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [tailrace(), "serve", "--port", "0"], cwd=folder, env=slurm.environment, stderr=log
        )
    try:
        _until((folder / ".tailrace/server.json").exists, f"no server: see {folder / 'log'}")
        yield
    finally:
        process.terminate()
        process.wait()
        slurm.ask("scancel", "--user=root")
        _until(lambda: not slurm.ask("squeue", "-h").strip(), "jobs stay in the queue")
        shutil.rmtree(folder)


def _until(condition: Callable[[], object], otherwise: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise SystemExit(otherwise)
        time.sleep(0.02)
