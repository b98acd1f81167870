"""Carries notices to where their owner wants them: to a web hook, or into a command.

A command finds one sentence on its standard input and the rest in its environment, so that
`mail -s "$TAILRACE_SUBJECT" ada@example.org` is one. It is the server's own account that runs it:
so it stands in the server's settings, and never in a bag.
"""

from __future__ import annotations

import logging
import os
import subprocess
from concurrent.futures import Executor

import msgspec

from tailrace.server.notices import Notice

log = logging.getLogger("tailrace.server")
PATIENCE_S = 30.0


class Messenger:
    """On one thread: a hook that does not answer keeps nobody else waiting."""

    def __init__(self, targets: tuple[str, ...], thread: Executor) -> None:
        self._targets = targets
        self._thread = thread

    def tell(self, notice: Notice) -> None:
        for target in self._targets:
            self._thread.submit(self._carry, target, notice)

    def close(self) -> None:
        self._thread.shutdown()

    def _carry(self, target: str, notice: Notice) -> None:
        """One that cannot be told is a line in the log, and no more."""
        try:
            if target.startswith(("https://", "http://")):
                _post(target, notice)
            else:
                _run(target, notice)
        except Exception as error:
            log.warning("bag %d: notify: %s", notice.bag, _why(error))


def _post(url: str, notice: Notice) -> None:
    import urllib.request

    head = {"content-type": "application/json"}
    request = urllib.request.Request(url, msgspec.json.encode(notice), head)
    urllib.request.urlopen(request, timeout=PATIENCE_S).close()


def _run(command: str, notice: Notice) -> None:
    env = {
        **os.environ,
        "TAILRACE_SUBJECT": f"bag {notice.bag} ({notice.name}): {notice.occasion}",
        "TAILRACE_OCCASION": notice.occasion,
        "TAILRACE_BAG": str(notice.bag),
        "TAILRACE_OWNER": notice.owner,
    }
    text = f"bag {notice.bag} ({notice.name}) {notice.text}\n"
    subprocess.run(
        ["sh", "-c", command], env=env, input=text, text=True, capture_output=True, check=True,
        timeout=PATIENCE_S,
    )  # fmt: skip


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or error.stdout).strip().rpartition("\n")[2]
        return f"the command ended with exit {error.returncode}: {said}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"the command took longer than {PATIENCE_S:.0f} s"
    return str(error)
