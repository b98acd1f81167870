"""How `tailrace simulate` ends early: asked to, killed, or with one of its runs killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import ask

LONG = """
[pools.p]
machines = 50
[bags.b]
tasks = 300000
length = { law = "exponential", mean = "10m" }
"""
SHORT = LONG.replace("300000", "20000")
PATIENCE_S = 60.0


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tailrace", "simulate", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)


def children(pid: int) -> list[int]:
    try:
        tasks = [
            Path(f"/proc/{pid}/task/{one}/children") for one in os.listdir(f"/proc/{pid}/task")
        ]
        return [int(child) for file in tasks for child in file.read_text().split()]
    except OSError:
        return []


def wait_for(what: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_its_workers_end_with_it(tmp_path: Path, number: int) -> None:
    (tmp_path / "s.toml").write_text(LONG)
    process = begin(tmp_path, "s.toml", "--seeds", "4", "-j", "2", "-q")
    wait_for(lambda: len(children(process.pid)) == 2)
    workers = children(process.pid)
    process.send_signal(number)
    told = process.communicate(timeout=PATIENCE_S)[1]
    wait_for(lambda: not any(map(runs, workers)))
    if number == signal.SIGTERM:
        assert process.returncode == 130
        assert told == "tailrace: interrupted: none of 4 runs is done.\n"


def test_a_run_that_was_killed_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SHORT)
    words = ("s.toml", "--seeds", "8", "-q", "--json")
    process = begin(tmp_path, *words, "-j", "2")
    wait_for(lambda: children(process.pid) or process.poll() is not None)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out) == ask(tmp_path, "simulate", *words, "-j", "1").json


def test_with_one_that_is_killed_again_and_again_the_others_are_kept(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(LONG)
    process = begin(tmp_path, "s.toml", "--seeds", "3", "-q", "-j", "2")
    killed: list[int] = []
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        for worker in children(process.pid):
            if worker not in killed:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
        time.sleep(0.02)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (6, "")
    assert "a run was killed from outside, and when it was repeated alone, again" in err
    assert "none of 3 runs is done" in err and "memory" in err
