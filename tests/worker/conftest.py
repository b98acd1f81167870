"""Real workers against a scripted desk; each test leaves no process behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tailrace.worker import tree, zipped

from .scripted_desk import ScriptedDesk


class Worker:
    """A worker process, and ways to treat it badly."""

    def __init__(self, desk: ScriptedDesk, folder: Path, *args: str, **more: Any) -> None:
        command = more.pop("command", [sys.executable, "-m", "tailrace.worker"])
        env = {**os.environ, "TAILRACE_TOKEN": desk.token, **more.pop("env", {})}
        self.folder = folder
        self.errors = folder.parent / f"{folder.name}.stderr"
        with open(self.errors, "ab") as errors:
            self.process = subprocess.Popen(
                [*command, "--server", desk.url, "--folder", str(folder), "--cores", "2", *args],
                env=env, stderr=errors, **more,
            )  # fmt: skip

    @property
    def said(self) -> str:
        return self.errors.read_text()

    def guard(self) -> int:
        """The process id of its guard."""
        return wait_for(lambda: next(iter(children_of(self.process.pid)), None))

    def keeper(self) -> int:
        guard = self.guard()
        return wait_for(lambda: next(iter(children_of(guard)), None))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(20)


def children_of(parent: int) -> list[int]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if tree.parent_of(pid) == parent]


def alive(pid: int) -> bool:
    fields = tree._stat(pid)
    return fields is not None and fields[0] not in (b"Z", b"X")


def wait_for(true: Callable[[], Any], within: float = 10.0) -> Any:
    until = time.monotonic() + within
    while time.monotonic() < until:
        found = true()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def wait_for_pid(file: Path) -> int:
    return int(
        wait_for(lambda: file.exists() and file.read_text().endswith("\n") and file.read_text())
    )


@pytest.fixture
def desk() -> Iterator[ScriptedDesk]:
    desk = ScriptedDesk()
    yield desk
    desk.down()


@pytest.fixture
def start(desk: ScriptedDesk, tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    """Starts workers in one folder; ends those that are left."""
    workers: list[Worker] = []

    def begin(*args: str, **more: Any) -> Worker:
        folder = more.pop("folder", tmp_path / "worker")
        worker = Worker(desk, folder, *args, **more)
        workers.append(worker)
        return worker

    yield begin
    for worker in workers:
        if worker.process.poll() is None:
            worker.process.send_signal(signal.SIGKILL)
            worker.process.wait(10)


@pytest.fixture(params=[sys.executable, "pypy3"], ids=["this", "pypy3"])
def zipped_worker(
    request: pytest.FixtureRequest, start: Callable[..., Worker], tmp_path: Path
) -> Worker:
    """As one file, run by this Python and by another."""
    python = shutil.which(request.param)
    if python is None:
        pytest.skip("needs the Debian package pypy3")
    path = tmp_path / "worker.pyz"
    zipped.write(str(path))
    return start(command=[python, str(path)])


@pytest.fixture
def worker(start: Callable[..., Worker]) -> Worker:
    return start()
