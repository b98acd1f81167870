"""One large input to ten workers, beside ten curls at once that fetch the same bytes.

Twice beside curl, with the same bar: from the same server, blob by blob over one connection, which
is what a worker does; and the whole file in one answer from a plain static server, busybox httpd,
which does nothing else. All write to the same disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks import static
from benchmarks.bench import Bench, tailrace
from benchmarks.figure import Figure, alternating, below, ratios
from tailrace.bag.bagfile import load_bag_file
from tailrace.cli.servers.calling import call
from tailrace.cli.servers.sending import send
from tailrace.server.records.reading import BagFacts
from tailrace.server.submission import Submission, Submitted
from tailrace.server.tables.lock import Owner
from tailrace.worker.blobs import chunks, describe
from tailrace.worker.joining import Join, parse
from tailrace.worker.zipped import write

WORKERS = 10
MIB = 1 << 20
SIZE, SMALLER = 1024 * MIB, 64 * MIB
PATIENCE_S = 600.0
SAME, STATIC = "curl from the same server", "curl from busybox httpd"
# The first task of a bag goes out alone, on trial: it has a small input, and is no part of it.
BAG = """
command = "stat -L -c %s in"
inputs = {in = "{which}"}
[parameters]
which = ["small", LARGE]
"""


def measure(bench: Bench) -> None:
    if shutil.which("curl") is None:
        bench.skip("files", "there is no curl")
        return
    size = SMALLER if bench.quick else SIZE
    what, ended = f"{size // MIB} MiB to {WORKERS} at once", list[float]()
    with _served(bench.folder()) as group:
        sent = [_send(group, size) for _ in range(2 if bench.quick else 3)]
        _tell(bench, f"{size // MIB} MiB sent to the server", "s", sent)
        ways = {"tailrace": partial(_workers, group, size, ended), SAME: partial(_curls, group)}
        if static.missing():
            bench.skip(STATIC, static.missing())
        else:
            ways[STATIC] = partial(_static_curls, group)
        values = alternating(len(sent), ways)
    for name, lasted in values.items():
        _tell(bench, f"{what}, {name}", "s", lasted)
    _tell(bench, f"{what}, tailrace, to the end of tasks that have a copy each", "s", ended)
    note = "both write it to disk; tailrace checks every byte, and begins to lay copies out"
    for name in list(ways)[1:]:
        ratio = ratios(values["tailrace"], values[name])
        what = f"tailrace beside {name}"
        bench.tell(Figure(bench.script, what, "times as long", ratio, below(1.5), note))


def _tell(bench: Bench, what: str, unit: str, values: list[float]) -> None:
    bench.tell(Figure(bench.script, what, unit, values))


class Group:
    """A server, and what a user of it has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = self._token("ada", "user")
        self.pool = self._token("lab", "pool")
        self.owner = Owner(address=self.user.url, token=self.user.token)
        self.bag = 0

    def _token(self, name: str, kind: str) -> Join:
        file = self.folder / f"{name}.join"
        words = [tailrace(), "tokens", "add", name, f"--{kind}", "--write", str(file)]
        subprocess.run(words, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        return parse(file.read_text())


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
    (group.folder / "ada/small").write_text("small")
    large = ", ".join(['"big.bin"'] * WORKERS)
    (group.folder / "ada/bag.toml").write_text(BAG.replace("LARGE", large))
    began = time.monotonic()
    send(group.owner, load_bag_file(group.folder / "ada/bag.toml"))
    return time.monotonic() - began


def _workers(group: Group, size: int, ended: list[float]) -> float:
    """From a bag that is handed in until all have the file: machines are there already, their
    caches empty."""
    spec, _ = send(group.owner, load_bag_file(group.folder / "ada/bag.toml"))
    with ExitStack() as stack:
        folders = [stack.enter_context(_worker(group, k)) for k in range(WORKERS)]
        for folder in folders:
            _spoken(folder / "log", "serves")
        began = time.monotonic()
        group.bag = call(group.owner, "POST", "/api/v1/bags", Submission(spec), Submitted).bag
        _until(lambda: all(_has(folder, size) for folder in folders))
        lasted = time.monotonic() - began
        _until(lambda: _phase(group) == "finished")
        ended.append(time.monotonic() - began)
    return lasted


def _has(folder: Path, size: int) -> bool:
    return any((folder / "files/cache").glob(f"*-{size}"))


def _phase(group: Group) -> str:
    facts = call(group.owner, "GET", f"/api/v1/bags/{group.bag}", kind=BagFacts)
    if facts.failed:
        raise SystemExit(f"{facts.failed} tasks failed: see {group.folder}")
    return str(facts.phase)


def _until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise SystemExit("the file does not reach all workers: not comparable")
        time.sleep(0.02)


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

    def config(folder: Path) -> str:
        lines = (_line(group, name, folder / str(n)) for n, name in enumerate(names))
        return f'header = "{_head(group)}"\n{"".join(lines)}'

    return _fetched(group, config)


def _static_curls(group: Group) -> float:
    """Each fetches the file as it is."""
    with static.serving(group.folder / "ada") as url:
        return _fetched(group, lambda folder: f'url = "{url}/big.bin"\noutput = "{folder}/big"\n')


def _fetched(group: Group, config: Callable[[Path], str]) -> float:
    folders = [group.folder / f"c{k}" for k in range(WORKERS)]
    for folder in folders:
        folder.mkdir()
        (folder / "config").write_text(f"silent\nfail\n{config(folder)}")
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
