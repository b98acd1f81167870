"""A fresh clone of what is committed, and `make demo` in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.figure import Figure, below

ROOT = Path(__file__).resolve().parent.parent


def measure(bench: Bench) -> None:
    times = [_demo(bench) for _ in range(1 if bench.quick else 3)]
    what = "fresh clone, `make demo`: environment, installation, example, report"
    bench.tell(Figure("fresh_demo", what, "s", times, below(180)))


def _demo(bench: Bench) -> float:
    clone = bench.fresh()
    began = time.monotonic()
    _run(["git", "clone", "--quiet", str(ROOT), str(clone)], Path.cwd())
    _run(["make", "demo"], clone)
    lasted = time.monotonic() - began
    shutil.rmtree(clone)
    return lasted


def _run(command: list[str], folder: Path) -> None:
    """Without what this Python was told, so that nothing comes from this tree."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    ended = subprocess.run(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if ended.returncode:
        raise SystemExit(ended.stdout.decode("utf-8", "replace"))
