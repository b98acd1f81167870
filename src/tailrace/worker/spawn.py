"""How a process becomes a task.

Two ways, measured on two cores with `/bin/true`: `fork`, ask the kernel to be killed with the
parent, `execve` takes about 0.95 ms; `posix_spawn` takes 0.54 ms, but cannot ask that. The first is
the default: if client, guard and keeper are killed in the same instant, the kernel still kills the
task's first process. The second is used for a bag whose last twenty attempts were all shorter than
0.1 s, and of which none runs longer than that now. This is a guess: the next one may be long. If it
is, and all three are killed in the same instant, it goes on, beside its repetition elsewhere, until
it ends or the next worker in the same folder finds it. (As long as one of the three lives, it kills
whatever was started, either way.)

The keeper has handlers of its own for the signals it must survive; a handler, unlike an ignored
signal, is back to its default after `execve`. A TERM that reaches the child before that would be
lost in the keeper's handler, so these signals wait until the child has put them back.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from functools import lru_cache
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

from . import openfiles
from .container import Container
from .linux import die_with
from .ring import Slot
from .staging import prepare

SHELL = "/bin/sh"
# What the keeper lives through.
SURVIVED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EXEC_FAILED, _HOST_FAILED, _RUNNING, _ENGINE_FAILED, _NOT_INSIDE = 1, 2, 3, 4, 5
_NOT_THE_TASKS_FAULT = {
    errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EIO, errno.ETXTBSY,
    errno.ENOSPC, errno.EDQUOT, errno.EROFS,
}  # fmt: skip
Json = Dict[str, Any]


class CannotStart(Exception):
    """Carries what the result says: outcome, exit code, text."""

    def __init__(
        self, outcome: str, exit_code: Optional[int], text: str, of_bag: bool = False
    ) -> None:
        super().__init__(text)
        self.of_bag = of_bag  # this machine lacks what the bag alone asks for
        self.outcome = outcome
        self.exit_code = exit_code
        self.text = text


class Program(NamedTuple):
    path: str
    argv: List[str]
    env: Dict[str, str]
    folder: str
    stage: Optional[List[Json]]  # inputs to copy into the folder first
    inherited: Tuple[int, ...] = ()  # open files it is given beside its output
    container: Optional[Container] = None  # in which it is to run


_found: Dict[Tuple[str, str], str] = {}


def find(name: str, search: str) -> str:
    """The path of a program, as a shell finds it."""
    if "/" in name:
        return name
    key = (name, search)
    path = _found.get(key)
    if path is None or not os.path.exists(path):
        path = _search(name, search)
        if os.path.isabs(path):
            _found[key] = path
    return path


def _search(name: str, search: str) -> str:
    first = ""
    for folder in search.split(":"):
        path = os.path.join(folder or ".", name)
        if os.path.isfile(path):
            if os.access(path, os.X_OK):
                return path
            first = first or path
    if first:
        return first  # there, but not executable: the kernel says so
    raise CannotStart("task_failed", 127, f"no such program: {name}")


def fork(program: Program, slot: Slot, parent: int) -> int:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SURVIVED)
    try:
        pid = os.fork()
        if pid == 0:
            try:
                _become(program, slot, parent, mask)
            finally:
                os._exit(127)
        return pid
    except OSError as error:
        raise CannotStart("host_failed", None, f"cannot fork: {error.strerror}") from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _become(program: Program, slot: Slot, parent: int, mask: Iterable[int]) -> None:
    try:
        os.setsid()
        die_with(parent)
        openfiles.take(openfiles.given())
        for number in SURVIVED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.dup2(slot.out, 1)
        os.dup2(slot.err, 2)
        for fd in program.inherited:
            os.set_inheritable(fd, True)
        if program.stage is not None:
            prepare(program.folder, program.stage)
            os.chdir(program.folder)
            _note(slot, _RUNNING, str(time.monotonic_ns() // 1000))
    except BaseException as error:
        _note(slot, _HOST_FAILED, f"cannot prepare the task's folder: {_text(error)}")
        return
    try:
        if program.container is not None:
            os._exit(_contain(program.container, slot))
        _execute(program)
    except BaseException as error:
        _note(slot, _EXEC_FAILED, f"{getattr(error, 'errno', None) or 0} {_text(error)}")


def _contain(container: Container, slot: Slot) -> int:
    ended = container.live()
    if ended.never_began == 125:
        _note(slot, _ENGINE_FAILED, f"the container cannot be started here: {ended.why}")
    elif ended.never_began:
        _note(slot, _NOT_INSIDE, f"{ended.never_began} {ended.why}")
    return ended.code


def _execute(program: Program) -> None:
    try:
        os.execve(program.path, program.argv, program.env)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        # A script without a first line that names its interpreter: as a shell would do.
        os.execve(SHELL, ["sh", program.path, *program.argv[1:]], program.env)


def _note(slot: Slot, kind: int, text: str) -> None:
    data = bytes([kind]) + text.encode("utf-8", "replace")[:1000]
    slot.note[: len(data) + 1] = data + b"\0"


def read_note(slot: Slot, name: str) -> Optional[int]:
    """When the task began after its staging, if that is known; CannotStart when it never did."""
    kind = slot.note[0]
    if not kind:
        return None
    data = slot.note[1:]
    text = data[: data.index(b"\0")].decode("utf-8", "replace")
    if kind == _RUNNING:
        return int(text)
    if kind == _HOST_FAILED:
        raise CannotStart("host_failed", None, text)
    if kind == _ENGINE_FAILED:
        raise CannotStart("host_failed", None, text, of_bag=True)
    number, _, words = text.partition(" ")
    if kind == _NOT_INSIDE:
        why = "no such program" if number == "127" else "cannot execute it"
        raise CannotStart("task_failed", int(number), f"{why} in the image: {name}: {words}")
    raise refusal(int(number), words, name)


def refusal(number: int, words: str, name: str) -> CannotStart:
    """What an error of exec says about the task or the host."""
    if number in _NOT_THE_TASKS_FAULT:
        return CannotStart("host_failed", None, f"cannot start {name}: {words}")
    if number == errno.ENOENT:
        if os.path.exists(name):
            text = f"the interpreter named in the first line of {name} does not exist"
            return CannotStart("task_failed", 127, text)
        return CannotStart("task_failed", 127, f"no such program: {name}")
    return CannotStart("task_failed", 126, f"cannot execute {name}: {words}")


def cannot_write(error: OSError, path: str) -> CannotStart:
    """A file that its output was to go to."""
    text = f"its output cannot be written to {path}: {error.strerror}"
    if error.errno in _NOT_THE_TASKS_FAULT:
        return CannotStart("host_failed", None, text)
    return CannotStart("task_failed", None, text)


def spawn(program: Program, slot: Slot) -> int:
    """Without the kernel's death signal; see above."""
    actions = [(os.POSIX_SPAWN_DUP2, slot.out, 1), (os.POSIX_SPAWN_DUP2, slot.err, 2)]
    try:
        return os.posix_spawn(
            program.path, program.argv, program.env, file_actions=actions, setsid=True
        )
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None) or 0
        if number == errno.ENOEXEC:
            again = ["sh", program.path, *program.argv[1:]]
            return spawn(program._replace(path=SHELL, argv=again), slot)
        raise refusal(number, _text(error), program.path) from None


@lru_cache(maxsize=None)
def can_spawn() -> bool:
    """Not every C library can start a process in a session of its own."""
    try:
        os.posix_spawn("/no/such/program", ["-"], {}, setsid=True)
    except (AttributeError, NotImplementedError):
        return False
    except OSError:
        pass
    return True


def _text(error: BaseException) -> str:
    words = getattr(error, "strerror", None) or str(error)
    path = getattr(error, "filename", None)
    return f"{words}: {path}" if path else words
