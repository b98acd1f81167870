"""A task in a container: the process that stands for it, and the end of what runs inside.

What an engine starts need not be below us: a daemon's containers are its own. So the keeper's child
does not become the engine, but stays: it starts the engine, hands signals on to those inside, and
goes only when the container is removed. Should it be killed, its container is found by the label
with the worker's name, by the keeper that clears up or by a later worker.

Inside, the first process has number 1, and the kernel withholds from it every signal that it does
not handle. TERM therefore goes to all inside, and one that would have died of it is killed.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from typing import IO, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from . import engines, tree
from .engines import Box, Inside
from .linux import become_subreaper

ASKED, END = signal.SIGTERM, signal.SIGUSR1  # what this process is told
PATIENCE_S = 10.0  # with what the engine leaves
ENGINE_S = 120.0  # for a word of an engine under load
TRIES = 25
USED = "engines"  # in a worker's folder: those that may have containers of it
_TERM_BIT = 1 << (signal.SIGTERM - 1)


class Ended(NamedTuple):
    code: int
    never_began: int = 0  # as in `engines.never_began`
    why: str = ""


class Container:
    def __init__(self, inside: Inside, box: Box, own: Mapping[str, str]) -> None:
        self._inside, self._box = inside, box
        self._env = engines.environment(inside, box, own)
        self._withheld = engines.withheld(inside, box)
        self._ending, self._removing = False, False

    def live(self) -> Ended:
        """In a process of its own, which is left with stdin, stdout and stderr."""
        become_subreaper()
        signal.set_wakeup_fd(-1)
        _close_all_others()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(END, lambda *_: self._end())
        signal.signal(ASKED, lambda *_: self._ask())
        try:
            code = self._started().wait()
        except OSError as error:
            return Ended(125, 125, f"{self._inside.engine}: {error.strerror}")
        ended = self._judge(code)
        self._remove()
        _bury_all()
        return ended

    def _started(self) -> "subprocess.Popen[bytes]":
        with handed(self._withheld) as told:
            words = engines.run(self._inside, self._box, told)
            return subprocess.Popen(
                words, env=self._env, stdin=subprocess.DEVNULL, pass_fds=told
            )  # fmt: skip

    def _judge(self, code: int) -> Ended:
        if code < 0 and not self._ending:
            return Ended(125, 125, f"{self._inside.kind} was ended by signal {-code}")
        answer = self._say(engines.asked_about(self._inside, self._box.name, code))
        words = engines.said(self._inside, end_of(2))
        never = engines.never_began(self._inside, code, answer, words, self._box.argv[0])
        return Ended(code if code >= 0 else 128 - code, 0 if self._ending else never, words)

    def _say(self, words: List[str]) -> str:
        return say(words, self._env)

    def _ask(self) -> None:
        for pid in members(self._box.given["TAILRACE_RESULT"]):
            tree.send(pid, signal.SIGKILL if _would_miss_it(pid) else signal.SIGTERM)

    def _end(self) -> None:
        """Also when the engine does not answer: who kills the first kills all inside."""
        self._ending = True
        for pid in members(self._box.given["TAILRACE_RESULT"]):
            tree.send(pid, signal.SIGKILL)
        if not self._removing:  # it is told again while it waits for the engine
            self._removing = True
            self._remove()
            self._removing = False

    def _remove(self) -> None:
        name = f"name=^{self._box.name}$"
        clear(self._inside, name, self._env)


@contextmanager
def handed(text: bytes) -> Iterator[Tuple[int, ...]]:
    """An open file with this text, for the engine to inherit. It has no name, so that nothing is
    left of it, whoever is killed; not every Python can make one that is in memory alone."""
    if not text:
        yield ()
        return
    with _nameless() as file:
        file.write(text)
        file.flush()
        yield (file.fileno(),)


def _nameless() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("tailrace"), "wb")
    return tempfile.TemporaryFile()


def say(words: List[str], env: Optional[Mapping[str, str]] = None) -> str:
    """What an engine answers; nothing if it fails."""
    if not words:
        return ""
    try:
        done = subprocess.run(
            words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=ENGINE_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout.decode("utf-8", "replace").strip()


def clear(inside: Inside, which: str, env: Optional[Mapping[str, str]] = None) -> None:
    """Until none of them is left: an engine refuses to remove one that is just ending."""
    for attempt in range(TRIES):
        names = say(engines.listed(inside, which), env).split()
        if not names:
            return
        time.sleep(min(attempt, 1) * 0.2)
        say(engines.remove(inside, names), env)


def members(result_path: str) -> List[int]:
    """The processes in the container of the task with this result: it stands in their
    environment, and they are in a world of numbers of their own."""
    ours = _world("self")
    alike = tree.running_with("TAILRACE_RESULT", result_path)
    return [pid for pid, path in alike if path == result_path and _world(pid) not in ("", ours)]


def _world(pid: Any) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _would_miss_it(pid: int) -> bool:
    """It is the first inside, and neither handles TERM nor ignores it."""
    text = (tree.read(f"/proc/{pid}/status", 8192) or b"").decode("utf-8", "replace")
    told: Dict[str, str] = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    if told.get("NSpid", "").split()[-1:] != ["1"]:
        return False
    heeded = int(told.get("SigCgt") or "0", 16) | int(told.get("SigIgn") or "0", 16)
    return not heeded & _TERM_BIT


def _close_all_others() -> None:
    """The keeper's lock and pipes among them, whose ends others wait for."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:  # it was that of the listing
                pass


def _bury_all() -> None:
    """The engine's own processes are through with their work in a moment."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return
    tree.kill_all_below(PATIENCE_S)


def end_of(fd: int) -> str:
    """Of a file that was written to."""
    size = os.fstat(fd).st_size
    return os.pread(fd, 4096, max(0, size - 4096)).decode("utf-8", "replace")


# ---- what was left behind ------------------------------------------------------------------------


def owner(folder: str) -> str:
    """A worker by its folder, as it stands in labels and names."""
    told = f"{os.uname().nodename}\0{os.path.abspath(folder)}"
    return hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def note_engine(folder: str, inside: Inside) -> None:
    """Before its first container of this engine: whoever clears up asks it."""
    path, line = os.path.join(folder, USED), f"{inside.kind} {inside.engine}\n"
    if line not in _used(path):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)


def _used(path: str) -> List[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.readlines()
    except FileNotFoundError:
        return []


def remove_all(folder: str) -> None:
    """All containers of the worker with this folder, none of whose tasks is to go on."""
    for line in _used(os.path.join(folder, USED)):
        kind, _, path = line.rstrip("\n").partition(" ")
        clear(Inside(kind, path, ""), f"label={engines.LABEL}={owner(folder)}")
