"""A worker that is too old for its server: the server's own is fetched, checked, and takes over.

The hash comes with the server's refusal, over a connection whose certificate was looked at, and so
does the file. It is put beside the old one, which other machines may be running, under a name that
has the hash: a worker that starts from the old file later finds it there.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from typing import Callable, List, Optional
from urllib.parse import urlsplit

from .joining import Join
from .pinned import connect

PATIENCE_S = 600.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
ANSWER_S = 60.0
MOST_BYTES = 64 << 20


class Unusable(Exception):
    """What came is not what was offered."""


def is_possible(offered: str) -> bool:
    """Only for a worker that is one file; not where it is the very file that is offered."""
    own = _own_file()
    if own is None or len(offered) != 64 or not os.access(os.path.dirname(own), os.W_OK):
        return False
    return _hash(own) != offered


def take_over(
    join: Callable[[], Join], offered: str, args: List[str], log: Callable[[str], None]
) -> None:
    """Does not return, unless nobody gives the file for long. The arguments are the same, so it is
    the same machine to the server."""
    _heed_signals()
    pause_s, until = FIRST_PAUSE_S, time.monotonic() + PATIENCE_S
    while True:
        try:
            path = _in_place(join(), offered)
            log(f"this worker is too old for its server; going on as {path}")
            sys.stderr.flush()
            os.execv(sys.executable, [sys.executable, path, *args])
        except Exception as error:
            log(f"the server's worker cannot be taken over yet: {error}")
        if time.monotonic() + pause_s > until:
            return
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _heed_signals() -> None:
    """Nothing runs here any more: a signal ends it, as it would any other program."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def _own_file() -> Optional[str]:
    path = os.path.abspath(sys.argv[0])
    return path if path.endswith(".pyz") and os.path.isfile(path) else None


def _in_place(join: Join, offered: str) -> str:
    own = _own_file()
    assert own is not None
    path = os.path.join(os.path.dirname(own), f"worker-{offered[:16]}.pyz")
    if not os.path.exists(path) or _hash(path) != offered:
        _write(path, _fetched(join, offered))
    return path


def _fetched(join: Join, offered: str) -> bytes:
    connection = connect(join.url, join.fingerprint, ANSWER_S)
    try:
        head = {"Authorization": f"Bearer {join.token}"} if join.token else {}
        connection.request("GET", urlsplit(join.url).path + "/worker.pyz", None, head)
        response = connection.getresponse()
        data: bytes = response.read(MOST_BYTES)
    finally:
        connection.close()
    if response.status != 200:
        raise Unusable(f"status {response.status}")
    if hashlib.sha256(data).hexdigest() != offered:
        raise Unusable("what came has another hash than what was offered")
    return data


def _write(path: str, data: bytes) -> None:
    """Whole, or not under this name; several machines may do it at once."""
    fresh = f"{path}.{os.uname().nodename}.{os.getpid()}"
    with open(fresh, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(fresh, 0o755)
    os.replace(fresh, path)


def _hash(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
