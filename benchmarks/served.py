"""A server in a process of its own, and fake workers that call it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from benchmarks.machine import cpu_s

CLIENTS = 4
TOKEN = "benchmark"
CONNECT_S = 0.5  # for the callers to start and connect


class Rate(msgspec.Struct, frozen=True):
    tasks_per_s: float
    calls_per_s: float
    bundle: float  # tasks a call, as it came out
    commits_per_s: float
    server_us: float  # of the server's CPU for each task


class Served:
    def __init__(self, folder: Path, store: str = "") -> None:
        """`store`: the URL of a database; else it is a file of the folder."""
        folder.mkdir(parents=True)
        words = [str(folder), store] if store else [str(folder)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.children.serving", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        hello = self._hear()
        self.pid, self.port = hello["pid"], hello["port"]

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def tell(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._hear()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the server of the benchmark has ended; its last words stand above")
        return msgspec.json.decode(line)  # type: ignore[no-any-return]

    def rate(self, bundle: int, seconds: float, *, warm_s: float = 0.5, calls: int = 10**9) -> Rate:
        """What four callers at once get out of it."""
        start = time.monotonic() + CONNECT_S
        limits = [str(start), str(warm_s), str(seconds), str(calls)]
        callers = [self._caller(f"host{k}", bundle, limits) for k in range(CLIENTS)]
        before, cpu_before, since = self.tell("facts"), cpu_s(self.pid), time.monotonic()
        told = [caller.communicate()[0].split() for caller in callers]
        after, cpu_after, until = self.tell("facts"), cpu_s(self.pid), time.monotonic()
        tasks = sum(int(count) for count, _, _ in told)
        called = sum(int(count) for _, count, _ in told)
        sent = before["unsent"] - after["unsent"]
        busy_s = until - since - CONNECT_S
        return Rate(
            tasks_per_s=sum(int(count) / float(lasted) for count, _, lasted in told),
            calls_per_s=sum(int(count) / float(lasted) for _, count, lasted in told),
            bundle=tasks / max(called, 1),
            commits_per_s=(after["commits"] - before["commits"]) / busy_s,
            server_us=(cpu_after - cpu_before) * 1e6 / max(sent, 1),
        )

    def _caller(self, host: str, bundle: int, limits: list[str]) -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "benchmarks.children.calling"]
        words = [str(self.port), TOKEN, host, str(bundle), *limits]
        return subprocess.Popen([*program, *words], stdout=subprocess.PIPE, text=True)
