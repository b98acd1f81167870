"""One command of the user's, run by the shell: what it says, and how long it may take."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from typing import IO, NamedTuple

from tailrace.drivers.inherited import without_ours
from tailrace.errors import ServerError

MOST_SAID = 64 << 10  # of each stream
SHOWN = 300
NOT_FOUND = (126, 127)  # by the shell: no such program, or none that may be run


class Said(NamedTuple):
    code: int
    out: str
    err: str


class CommandFailed(ServerError):
    """Says which command, how it ended, and what it said."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


def run(what: str, command: str, folder: str, timeout_s: float) -> Said:
    """Files take what it says, no pipes: what it leaves running in the background may keep its
    streams, and is not waited for."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _code(what, command, folder, timeout_s, out, err)
        return Said(code, _text(out), _text(err))


def checked(what: str, command: str, folder: str, timeout_s: float) -> Said:
    said = run(what, command, folder, timeout_s)
    if said.code != 0:
        raise CommandFailed(f"{what}: {how(said)}", said.code)
    return said


def how(said: Said) -> str:
    """`exit 127: sh: 1: sbtach: not found`."""
    ended = f"exit {said.code}" if said.code >= 0 else f"ended by signal {-said.code}"
    text = " ".join((said.err.strip() or said.out.strip()).split())[-SHOWN:]
    return f"{ended}: {text}" if text else f"{ended}, without a word"


def _code(
    what: str, command: str, folder: str, timeout_s: float, out: IO[bytes], err: IO[bytes]
) -> int:
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
            stderr=err, start_new_session=True, env=without_ours(os.environ),
        )  # fmt: skip
    except OSError as error:
        raise CommandFailed(f"{what}: cannot be run in {folder}: {error.strerror}") from error
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        said = Said(0, _text(out), _text(err))
        told = f": {how(said).partition(': ')[2]}" if said.err or said.out else ""
        raise CommandFailed(f"{what}: not done within {timeout_s:g} s, and ended{told}") from None


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_SAID).decode("utf-8", "replace")
