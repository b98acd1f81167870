"""Real runs through the command line, in folders of their own, with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

TAILRACE = [sys.executable, "-m", "tailrace.cli.main"]
PATIENCE_S = 120


class Folder:
    """A folder with runs, and the command used in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.started: list[subprocess.Popen[str]] = []

    def write(self, name: str, text: str) -> Path:
        (self.path / name).write_text(text)
        return self.path / name

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*TAILRACE, *words],
            cwd=self.path,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def tailrace(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*words, **env)
        out, err = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def results(self) -> list[dict[str, Any]]:
        done = self.tailrace("results", "--json")
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    def outcomes(self) -> list[str | None]:
        return [result["outcome"] for result in self.results()]

    def server_pid(self) -> int | None:
        try:
            return int(json.loads((self.path / ".tailrace/server.json").read_text())["pid"])
        except (OSError, ValueError):
            return None

    def processes(self) -> dict[int, str]:
        """All that run in, or were told of, this folder."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                text = _command_line(entry)
                if str(self.path) in text or _folder_of(entry).startswith(str(self.path)):
                    found[int(entry.name)] = text
        return found

    def wait_for(self, what: Callable[[], Any], patience_s: float = 30) -> Any:
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            if found := what():
                return found
            time.sleep(0.02)
        raise AssertionError(f"{what} did not come about in {patience_s} s")

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()


def _command_line(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _folder_of(entry: Path) -> str:
    try:
        return os.readlink(entry / "cwd")
    except OSError:
        return ""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.end()
    leftovers = made.wait_for(lambda: not made.processes() or "none", 15)
    assert leftovers


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
