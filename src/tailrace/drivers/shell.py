"""One command of the user's, run by the shell: what it says, and how long it may take.

What it prints is read whole, as it may be a list of thousands of machines: one that were cut would
tell of machines that stand that they have gone. What it complains of is shown, and shortened.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from typing import IO

from tailrace.drivers.inherited import without_ours
from tailrace.errors import ServerError
from tailrace.worker.openfiles import for_shell

MIB = 1 << 20
MOST_PRINTED = 64 * MIB  # more is no list of machines: it fails
LAST_WORDS = 4096  # bytes of a message that are looked at
SHOWN = 300
NOT_FOUND = (126, 127)  # by the shell: no such program, or none that may be run


class CommandFailed(ServerError):
    """Says which command, how it ended, and what it said."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


def printed(what: str, command: str, folder: str, timeout_s: float) -> str:
    """By a command that ended well. Files take what it says, no pipes: what it leaves running in
    the background may keep its streams, and is not waited for."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _code(what, command, folder, timeout_s, out, err)
        if code != 0:
            raise CommandFailed(f"{what}: {_how(code, out, err)}", code)
        return _whole(what, out)


def _code(
    what: str, command: str, folder: str, timeout_s: float, out: IO[bytes], err: IO[bytes]
) -> int:
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", for_shell(command)], cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
            stderr=err, start_new_session=True, env=without_ours(os.environ),
        )  # fmt: skip
    except OSError as error:
        raise CommandFailed(f"{what}: cannot be run in {folder}: {error.strerror}") from error
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        said = _said(out, err)
        told = f"not done within {timeout_s:g} s, and ended{said and f': {said}'}"
        raise CommandFailed(f"{what}: {told}") from None


def _whole(what: str, out: IO[bytes]) -> str:
    size = os.fstat(out.fileno()).st_size
    if size > MOST_PRINTED:
        most = f"at most {MOST_PRINTED // MIB} MiB are read"
        raise CommandFailed(f"{what}: printed {size / MIB:.1f} MiB, and {most}")
    return _read(out, size, 0)


def _how(code: int, out: IO[bytes], err: IO[bytes]) -> str:
    """`exit 127: sh: 1: sbtach: not found`."""
    ended = f"exit {code}" if code >= 0 else f"ended by signal {-code}"
    said = _said(out, err)
    return f"{ended}: {said}" if said else f"{ended}, without a word"


def _said(out: IO[bytes], err: IO[bytes]) -> str:
    """Its last words: a complaint, or what it printed."""
    return (_end(err) or _end(out))[-SHOWN:]


def _end(file: IO[bytes]) -> str:
    begins = max(os.fstat(file.fileno()).st_size - LAST_WORDS, 0)
    return " ".join(_read(file, LAST_WORDS, begins).split())


def _read(file: IO[bytes], size: int, begins: int) -> str:
    """Without a seek, which would move the place where what is left running writes."""
    return os.pread(file.fileno(), size, begins).decode("utf-8", "replace")
