"""Real runs through the command line, in folders of their own, with real processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from tests.cli.conftest import ask
from tests.real.cluster import KEPT
from tests.real.slurm import Slurm, missing

TAILRACE = [sys.executable, "-m", "tailrace.cli.main"]
PATIENCE_S = 120
LINGER_S = 15
MARK = "TAILRACE_TESTS_IN"  # in the environment of all that a test has started


class Run:
    """A command that runs; what it says is read as it comes."""

    def __init__(self, words: tuple[str, ...], folder: Path, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [*TAILRACE, *words],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._out: list[str] = []
        self._err: list[str] = []
        self._readers = [
            threading.Thread(target=_read, args=pair, daemon=True)
            for pair in ((self._process.stdout, self._out), (self._process.stderr, self._err))
        ]
        for reader in self._readers:
            reader.start()

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    @property
    def stderr(self) -> str:
        """What it has said there up to now."""
        return "".join(self._err)

    def poll(self) -> int | None:
        return self._process.poll()

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def communicate(self, timeout: float = PATIENCE_S) -> tuple[str, str]:
        """Waits for its end, and for that of all that could still write to its streams."""
        until = time.monotonic() + timeout
        self._process.wait(timeout)
        for reader in self._readers:
            reader.join(max(0.0, until - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self._process.args, timeout)
        return "".join(self._out), "".join(self._err)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _read(stream: IO[str], into: list[str]) -> None:
    with stream:
        into.extend(stream)


class Folder:
    """A folder with runs, and the command used in it."""

    def __init__(self, path: Path, temporary: Path) -> None:
        """`temporary` is for what commands keep elsewhere."""
        self.path = path
        self._env = {**os.environ, "TMPDIR": str(temporary), MARK: str(path)}
        self.started: list[Run] = []

    def write(self, name: str, text: str) -> Path:
        (self.path / name).write_text(text)
        return self.path / name

    def start(self, *words: str, **env: str) -> Run:
        run = Run(words, self.path, {**self._env, **env})
        self.started.append(run)
        return run

    def tailrace(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        run = self.start(*words, **env)
        out, err = run.communicate()
        return subprocess.CompletedProcess(words, run.returncode or 0, out, err)

    def results(self) -> list[dict[str, Any]]:
        """By the command inside this process: a new one takes a third of a second to begin."""
        done = ask(self.path, "results", "--json")
        assert done.code == 0, done.err
        found: list[dict[str, Any]] = json.loads(done.out)
        return found

    def outcomes(self) -> list[str | None]:
        return [result["outcome"] for result in self.results()]

    def server_pid(self) -> int | None:
        try:
            return int(json.loads((self.path / ".tailrace/server.json").read_text())["pid"])
        except (OSError, ValueError):
            return None

    def processes(self) -> dict[int, str]:
        """All that descend from this test's commands, run in its folder, or were told of it."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid() and self._is_ours(entry):
                found[int(entry.name)] = _words(entry / "cmdline")
        return found

    def _is_ours(self, entry: Path) -> bool:
        """Not those of `folder-10`, for `folder-1`. What is dead and not yet buried has neither
        words, nor a folder, nor an environment."""
        told = [word.rpartition("=")[2] for word in _words(entry / "cmdline").split()]
        return (
            any(_is_in(self.path, word) for word in (*told, _folder_of(entry)))
            or f"{MARK}={self.path}" in _words(entry / "environ", "\n").splitlines()
        )

    def wait_for(self, what: Callable[[], Any], patience_s: float = 30) -> Any:
        """`what` must return by itself."""
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            if found := what():
                return found
            time.sleep(0.02)
        raise AssertionError(f"{what} did not come about in {patience_s} s")

    def end(self) -> None:
        for run in self.started:
            run.end()

    def nothing_is_left(self) -> None:
        until = time.monotonic() + LINGER_S
        while left := self.processes():
            if time.monotonic() > until:
                for pid in left:
                    kill(pid)
                pytest.fail(f"still there {LINGER_S} s after the end: {left}")
            time.sleep(0.05)


def _words(file: Path, between: str = " ") -> str:
    try:
        return file.read_bytes().decode(errors="replace").replace("\0", between)
    except OSError:
        return ""


def _folder_of(entry: Path) -> str:
    try:
        return os.readlink(entry / "cwd")
    except OSError:
        return ""


def _is_in(folder: Path, path: str) -> bool:
    return f"{path}/".startswith(f"{folder}/") or path == f"{folder} (deleted)"


@pytest.fixture
def folder(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    made = Folder(tmp_path, tmp_path_factory.mktemp("tmp"))
    yield made
    made.end()
    made.nothing_is_left()


@pytest.fixture
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    if missing():
        pytest.skip(missing())
    made = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.end()
        for name in made.names():
            shutil.rmtree(KEPT / name, ignore_errors=True)


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
