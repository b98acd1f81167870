"""A real `tailrace serve`, and real workers that join it, on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.conftest import ask

from tailrace.server.tables.lock import Owner, alive
from tailrace.worker.depot import KEY_HEADER
from tailrace.worker.joining import Join, parse
from tailrace.worker.pinned import connect
from tailrace.worker.zipped import write

PATIENCE_S = 60.0
KEY = "k" * 32  # of every host that a test speaks for


def environment(extra: dict[str, str]) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TAILRACE_")}
    return {**kept, "TAILRACE_REPORT": "false", **extra}


def tailrace(
    folder: Path, *words: str, code: int | None = 0, **env: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", *words],
        cwd=folder, env=environment(env), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert code is None or done.returncode == code, (words, done.stdout, done.stderr)
    return done


class Server(NamedTuple):
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def owner(self) -> Owner:
        found = alive(self.folder / ".tailrace")
        assert found is not None
        return found

    def token(self, name: str, kind: str, *more: str) -> Join:
        done = ask(self.folder, "tokens", "add", name, f"--{kind}", *more)
        found = re.search(r"https?://\S+@\S+", done.out)
        assert found, done.err
        return parse(found[0])

    def ask(
        self, join: Join, method: str, path: str, body: Any = None, key: str = KEY
    ) -> tuple[int, Any]:
        """`key`: of the host that calls."""
        link = connect(join.url, join.fingerprint, PATIENCE_S)
        sent = None if body is None else json.dumps(body)
        head = {"Authorization": f"Bearer {join.token}", KEY_HEADER: key}
        link.request(method, path, sent, head)
        reply = link.getresponse()
        data = reply.read()
        link.close()
        is_json = reply.getheader("content-type") == "application/json"
        return reply.status, json.loads(data) if is_json else data

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


@contextmanager
def serving(folder: Path, *words: str, **env: str) -> Iterator[Server]:
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tailrace", "serve", "--port", "0", *words],
            cwd=folder, env=environment(env), stderr=log,
        )  # fmt: skip
    try:
        wait_for(lambda: process.poll() is None and alive(folder / ".tailrace"))
        yield Server(folder, process)
    finally:
        _end(process)


@contextmanager
def worker(folder: Path, *words: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """As on another machine: the one file, its own folder, nothing else of ours."""
    folder.mkdir(exist_ok=True)
    write(str(folder / "worker.pyz"))
    kept = {k: v for k, v in environment(env).items() if k != "PYTHONPATH"}
    given = ["--folder", str(folder / "files"), "--cores", "1", *words]
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, str(folder / "worker.pyz"), *given], cwd=folder, env=kept, stderr=log
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                continue


def wait_for(condition: Any, patience_s: float = PATIENCE_S) -> None:
    until = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.05)
