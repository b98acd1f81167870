"""One large input to ten workers, beside curl that fetches the same bytes from the same server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench, tailrace
from benchmarks.figure import Figure, alternating, below, ratios
from tailrace.worker.blobs import chunks, describe
from tailrace.worker.joining import Join, parse
from tailrace.worker.zipped import write

WORKERS = 10
MIB = 1 << 20
SIZE, SMALLER = 1024 * MIB, 64 * MIB
PATIENCE_S = 60.0
BAG = """
command = "test $(stat -c %s big.bin) = {size} && echo {{x}}"
inputs = ["big.bin"]
[parameters]
x = {{from = 1, to = {workers}}}
"""


def measure(bench: Bench) -> None:
    if shutil.which("curl") is None:
        bench.skip("files", "there is no curl")
        return
    size = SMALLER if bench.quick else SIZE
    with _served(bench.folder()) as group:
        sent = [_send(group, size) for _ in range(2 if bench.quick else 3)]
        _tell(bench, f"{size // MIB} MiB sent to the server, whole command", "s", sent)
        ways = {"tailrace": partial(_workers, group, size), "curl": partial(_curls, group)}
        values = alternating(len(sent), ways)
    for name, lasted in values.items():
        _tell(bench, f"{size // MIB} MiB to {WORKERS} at once, {name}", "s", lasted)
    ratio = ratios(values["tailrace"], values["curl"])
    note = "tailrace checks every byte, and lays a copy into each task's folder"
    bench.tell(Figure(bench.script, "tailrace beside curl", "×", ratio, below(1.5), note))


def _tell(bench: Bench, what: str, unit: str, values: list[float]) -> None:
    bench.tell(Figure(bench.script, what, unit, values))


class Group:
    """A server, and what a user of it has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = self._token("ada", "user")
        self.pool = self._token("lab", "pool")
        self.bag = 0

    def _token(self, name: str, kind: str) -> Join:
        file = self.folder / f"{name}.join"
        words = [tailrace(), "tokens", "add", name, f"--{kind}", "--write", str(file)]
        subprocess.run(words, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        return parse(file.read_text())

    def run(self, *words: str) -> str:
        env = {**os.environ, "TAILRACE_SERVER": str(self.folder / "ada.join")}
        done = subprocess.run(
            [tailrace(), *words], cwd=self.folder / "ada", env=env, check=True,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return done.stdout


@contextmanager
def _served(folder: Path) -> Iterator[Group]:
    (folder / "ada").mkdir()
    log = open(folder / "log", "wb")  # noqa: SIM115
    process = subprocess.Popen(
        [tailrace(), "serve", "--port", "0"], cwd=folder, stdout=log, stderr=log
    )
    try:
        _wait(folder / ".tailrace/server.json")
        yield Group(folder)
    finally:
        process.terminate()
        process.wait()
        log.close()


def _wait(path: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while not path.exists():
        if time.monotonic() > until:
            raise SystemExit(f"{path} does not come")
        time.sleep(0.05)


def _send(group: Group, size: int) -> float:
    """New bytes each time: nothing of them is there."""
    with open(group.folder / "ada/big.bin", "wb") as file:
        for _ in range(size // MIB):
            file.write(os.urandom(MIB))
    (group.folder / "ada/bag.toml").write_text(BAG.format(size=size, workers=WORKERS))
    began = time.monotonic()
    group.bag = int(group.run("submit", "-q"))
    lasted = time.monotonic() - began
    group.run("cancel", str(group.bag), "--yes")
    return lasted


def _workers(group: Group, size: int) -> float:
    """From a bag that is handed in to its end: machines are there already, their caches empty."""
    with ExitStack() as stack:
        folders = [stack.enter_context(_worker(group, k)) for k in range(WORKERS)]
        for folder in folders:
            _spoken(folder / "log", "serves")
        began = time.monotonic()
        number = group.run("submit", "-q").strip()
        group.run("watch", "-q", number)
        lasted = time.monotonic() - began
        hosts = {one["host"] for one in json.loads(group.run("results", number, "--json"))}
    if len(hosts) != WORKERS:
        raise SystemExit(f"only {len(hosts)} of {WORKERS} machines got the file: not comparable")
    return lasted


@contextmanager
def _worker(group: Group, number: int) -> Iterator[Path]:
    folder = group.folder / f"w{number}"
    folder.mkdir()
    write(str(folder / "worker.pyz"))
    words = [sys.executable, "worker.pyz", "--folder", "files", "--cores", "1"]
    with open(folder / "log", "wb") as log:
        env = {**os.environ, "TAILRACE_JOIN": group.pool.text()}
        process = subprocess.Popen(words, cwd=folder, env=env, stderr=log)
    try:
        yield folder
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _spoken(log: Path, word: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while word not in log.read_text():
        if time.monotonic() > until:
            raise SystemExit(f"{log}: {log.read_text()}")
        time.sleep(0.05)


def _curls(group: Group) -> float:
    """Each fetches every chunk over one connection, into a file."""
    with open(group.folder / "ada/big.bin", "rb") as file:
        told = describe(file)
    names = chunks(told.file, lambda name: told.lists[name])
    folders = [group.folder / f"c{k}" for k in range(WORKERS)]
    for folder in folders:
        folder.mkdir()
        lines = (_line(group, name, folder / str(n)) for n, name in enumerate(names))
        (folder / "config").write_text(f'silent\nfail\nheader = "{_head(group)}"\n{"".join(lines)}')
    began = time.monotonic()
    processes = [subprocess.Popen(["curl", "-K", str(folder / "config")]) for folder in folders]
    codes = [process.wait() for process in processes]
    lasted = time.monotonic() - began
    for folder in folders:
        shutil.rmtree(folder)
    if any(codes):
        raise SystemExit(f"curl ended with {codes}")
    return lasted


def _head(group: Group) -> str:
    return f"Authorization: Bearer {group.user.token}"


def _line(group: Group, name: str, path: Path) -> str:
    url = f"{group.user.url}/api/v1/blobs/{name}?bag={group.bag}"
    return f'url = "{url}"\noutput = "{path}"\n'
