"""The driver of this machine: a worker is a child process, tied to us by a pipe.

A worker whose server dies, however it dies, sees the pipe close and ends with its tasks. So the end
of a local lease is kept by the server, which stops the worker then, and by the pipe; nothing here
looks at `ends_us`. A server that is stopped but not dead (SIGSTOP) holds the pipe open and keeps
no end until it goes on.

Each place (`workers/1`, `workers/2`, …) keeps its folder from run to run: a new worker there first
delivers what an earlier one had spooled. In a rehearsal each lease is a machine of its own: its
place has the lease's number, and goes with it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from tailrace.drivers.driver import Gone
from tailrace.drivers.logs import last_line
from tailrace.errors import ServerError
from tailrace.worker import openfiles

KILL_AFTER_S = 10.0

# Isolated: a `random.py` of the user's in the folder must not become the worker's.
WORKER = (
    "import os, sys; sys.path.insert(0, sys.argv.pop(1)); import tailrace.worker.client as client; "
    "from tailrace.worker import openfiles; openfiles.take(int(sys.argv.pop(1))); "
    "code = client.main(); sys.stderr.flush(); os._exit(code)"
)
PACKAGES = str(Path(__file__).parents[2])


class Worker:
    def __init__(self, process: subprocess.Popen[bytes], tie: int, place: int) -> None:
        self.process = process
        self.tie = tie
        self.place = place
        self.told_to_end = False


class LocalDriver:
    def __init__(self, folder: Path, pool: str, address: str, token: str, gone: Gone) -> None:
        self._folder = folder
        self._pool = pool
        self._address = address
        self._token = token
        self._gone = gone
        self._workers: dict[int, Worker] = {}
        self._guard = threading.Lock()
        self._closed = False
        self.join: Path | None = None  # a file with address and token, instead of these two
        self.capacity: list[str] = []  # arguments that bound what a worker offers
        self.environment = dict(os.environ)  # of the workers, and so of their tasks
        self.speed: Callable[[int], float] = lambda lease: 1.0
        self.keeps_places = True
        self.leased = True  # otherwise they are machines of one's own, which end with the server
        self.before_start: Callable[[int], None] = lambda lease: None

    def start(self, lease: int, ends_us: int) -> None:
        with self._guard:
            if lease in self._workers or self._closed:
                return
            self.before_start(lease)
            place = self._free_place() if self.keeps_places else lease
            self._workers[lease] = worker = self._spawn(lease, place)
        threading.Thread(target=self._watch, args=(lease, worker), daemon=True).start()

    def _free_place(self) -> int:
        taken = [worker.place for worker in self._workers.values()]
        return next(place for place in range(1, len(taken) + 2) if place not in taken)

    def _spawn(self, lease: int, place: int) -> Worker:
        folder = self._folder / str(place)
        folder.mkdir(parents=True, exist_ok=True)
        theirs, ours = os.pipe()
        try:
            with open(folder / "log", "ab") as log:
                process = subprocess.Popen(
                    self._command(lease, folder, theirs),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs],
                    env={**self.environment, "TAILRACE_TOKEN": self._token},
                    start_new_session=True,  # Ctrl-C is ours to handle
                )
        except OSError as error:
            os.close(ours)
            raise ServerError(f"cannot start a worker in {folder}: {error.strerror}") from error
        finally:
            os.close(theirs)
        return Worker(process, ours, place)

    def _command(self, lease: int, folder: Path, tie: int) -> list[str]:
        server = ["--server", self._address] if self.join is None else ["--join", str(self.join)]
        return [
            sys.executable, "-I", "-S", "-c", WORKER, PACKAGES, str(openfiles.given()),
            *server, "--folder", str(folder),
            "--pool", self._pool, "--tied", str(tie),
            *(["--lease", str(lease)] if self.leased else []),
            "--speed", f"{self.speed(lease):g}", *self.capacity,
        ]  # fmt: skip

    def _watch(self, lease: int, worker: Worker) -> None:
        code = worker.process.wait()
        with self._guard:
            del self._workers[lease]
        os.close(worker.tie)
        why = self._why(code, worker)
        if not self.keeps_places:
            shutil.rmtree(self._folder / str(worker.place), ignore_errors=True)
        self._gone(lease, why)

    def _why(self, code: int, worker: Worker) -> str:
        """Nothing when it did as it was told: then the lease knows why."""
        if code == 0:
            return "" if worker.told_to_end else "its worker ended"
        how = f"killed by signal {-code}" if code < 0 else f"exit {code}"
        last = last_line(self._folder / str(worker.place) / "log")
        return f"its worker ended ({how})" + (f": {last}" if last else "")

    def renew(self, lease: int, ends_us: int) -> None:
        """No worker here knows its end: the server stops it then, or the pipe does."""

    def stop(self, lease: int) -> None:
        """TERM; a worker that does not end by itself is killed, and its tasks with it."""
        with self._guard:
            worker = self._workers.get(lease)
        if worker is None:
            return
        _signal(worker, signal.SIGTERM)
        timer = threading.Timer(KILL_AFTER_S, _signal, (worker, signal.SIGKILL))
        timer.daemon = True
        timer.start()

    def signal(self, lease: int, number: int) -> None:
        """Something happens to its machine that nobody here has decided."""
        with self._guard:
            worker = self._workers.get(lease)
        if worker is not None and worker.process.poll() is None:
            worker.process.send_signal(number)

    def list(self) -> list[int]:
        with self._guard:
            return list(self._workers)

    def close(self, *, now: bool = False) -> None:
        with self._guard:
            self._closed = True
            workers = list(self._workers.values())
        for worker in workers:
            _signal(worker, signal.SIGKILL if now else signal.SIGTERM)
        for worker in workers:
            try:
                worker.process.wait(KILL_AFTER_S)
            except subprocess.TimeoutExpired:
                _signal(worker, signal.SIGKILL)
                worker.process.wait()


def _signal(worker: Worker, number: int) -> None:
    worker.told_to_end = True
    if worker.process.poll() is None:
        worker.process.send_signal(number)
