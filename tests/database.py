"""A real PostgreSQL for the tests: made once, on loopback, forgetting all at its end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from itertools import count
from pathlib import Path

PACKAGE = "postgresql"
SHM = Path("/dev/shm")
USER = "postgres"
PATIENCE_S = 60.0


def binaries() -> Path | None:
    """Of the newest that is installed, where Debian puts them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    return found[-1].parent if found else None


def _version(path: Path) -> int:
    return int(path.parent.parent.name)


def why_not() -> str:
    """Why there can be none here; empty if there can."""
    if binaries() is None:
        return f"PostgreSQL is not installed: the Debian package {PACKAGE}"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'tailrace[postgres]'"
    return ""


class Database:
    def __init__(self, above: Path | None = None, *, fsync: bool = False) -> None:
        """In a folder of its own, in memory or on the disk of `above`."""
        self._bin = binaries()
        self._fsync = "on" if fsync else "off"
        self._names = count(1)
        place = above or (SHM if SHM.is_dir() else None)
        self._folder = Path(tempfile.mkdtemp(prefix="pg", dir=place))
        self.user = USER if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:  # it refuses to run as root
            shutil.chown(self._folder, USER, USER)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "-A", "trust", "-U", self.user, "--no-sync", "-E", "UTF8", "--locale=C")
        self.start()

    def url(self, schema: str | None = None) -> str:
        """A schema that nobody has used; or this one."""
        named = schema or f"t{os.getpid()}_{next(self._names)}"
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/postgres?schema={named}"

    def start(self) -> None:
        """It ends with the thread that starts it (`_end_with_us`): only the first lasts."""
        assert threading.current_thread() is threading.main_thread()
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": self._fsync,
            "max_connections": "40",
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [f"{self._bin}/postgres", "-D", f"{self._folder}/data", *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self._folder,
                preexec_fn=_end_with_us, **self._as_user(),
            )  # fmt: skip
        self._wait()

    def stop(self) -> None:
        """At once, as after a power cut."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(PATIENCE_S)

    def pause(self) -> None:
        """It is there and says nothing: all its processes. The first one first, and the last to go
        on: while it stands still, nobody buries those below."""
        self._process.send_signal(signal.SIGSTOP)
        self._signal_those_below(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal_those_below(signal.SIGCONT)
        self._process.send_signal(signal.SIGCONT)

    def _signal_those_below(self, number: int) -> None:
        first = self._process.pid
        below = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for pid in map(int, below):
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                os.kill(pid, number)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def execute(self, query: str, *values: object) -> list[tuple]:
        """As its administrator."""
        import psycopg

        plain = self.url("x").partition("?")[0]
        with psycopg.connect(plain, autocommit=True) as link:
            cursor = link.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def cut(self, url: str) -> None:
        """The connections through which this store is written and read."""
        name = f"tailrace {url.partition('schema=')[2]}"
        self._end("SELECT pid FROM pg_stat_activity WHERE application_name = %s", name)

    def cut_lock(self, url: str) -> None:
        """The connection that holds this store."""
        schema = url.partition("schema=")[2]
        query = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s::regnamespace"
        self._end(query, schema)

    def _end(self, query: str, *values: object) -> None:
        """Returns when they are gone."""
        pids = [row[0] for row in self.execute(query, *values)]
        assert pids
        for pid in pids:
            ended = self.execute("SELECT pg_terminate_backend(%s, 10000)", pid)
            assert ended == [(True,)]

    def _run(self, program: str, *words: str) -> None:
        command = [f"{self._bin}/{program}", "-D", f"{self._folder}/data", *words]
        told = subprocess.run(
            command, capture_output=True, text=True, cwd=self._folder, **self._as_user()
        )
        assert told.returncode == 0, told.stderr

    def _as_user(self) -> dict[str, object]:
        return {"user": USER, "group": USER, "extra_groups": []} if os.getuid() == 0 else {}

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                self.execute("SELECT 1")
                return
            except Exception:
                assert self._process.poll() is None, (self._folder / "log").read_text()
                time.sleep(0.05)
        raise AssertionError((self._folder / "log").read_text())


def _end_with_us() -> None:
    """However the tests end: prctl(PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)
