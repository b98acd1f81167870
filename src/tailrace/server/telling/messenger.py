"""Carries notices to where their owner wants them: to a web hook, or into a command.

A command finds one sentence on its standard input and the rest in its environment, so that
`mail -s "$TAILRACE_SUBJECT" ada@example.org` is one. It is the server's own account that runs it:
so it stands in the server's settings, and never in a bag.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
from contextlib import suppress
from queue import SimpleQueue

import msgspec

from tailrace.server.telling.notices import Notice

log = logging.getLogger("tailrace.server")
PATIENCE_S = 30.0
END_S = 5.0  # for all that is not told at the end, together


class Messenger:
    """On a thread of its own: a hook that does not answer keeps no task waiting."""

    def __init__(self, targets: tuple[str, ...]) -> None:
        self._targets = targets
        self._waiting: SimpleQueue[tuple[str, Notice] | None] = SimpleQueue()
        self._command: subprocess.Popen[str] | None = None
        self._given_up = False
        self._thread = threading.Thread(target=self._work, name="notify", daemon=True)
        self._thread.start()

    def tell(self, notice: Notice) -> None:
        for target in self._targets:
            self._waiting.put((target, notice))

    def close(self) -> None:
        """What is not told in a short time is given up: the end of a run is not kept by it."""
        self._waiting.put(None)
        self._thread.join(END_S)
        if not self._thread.is_alive():
            return
        self._given_up = True
        log.warning("notify: not all is told after %.0f s; the rest is given up", END_S)
        if (command := self._command) is not None:
            _kill(command)

    def _work(self) -> None:
        while (told := self._waiting.get()) is not None and not self._given_up:
            self._carry(*told)

    def _carry(self, target: str, notice: Notice) -> None:
        """One that cannot be told is a line in the log, and no more."""
        try:
            if target.startswith(("https://", "http://")):
                _post(target, notice)
            else:
                self._run(target, notice)
        except Exception as error:
            log.warning("bag %d: notify: %s", notice.bag, _why(error))

    def _run(self, command: str, notice: Notice) -> None:
        words, pipe = ["sh", "-c", command], subprocess.PIPE
        with subprocess.Popen(
            words, env=_environment(notice), text=True, start_new_session=True, stdin=pipe,
            stdout=pipe, stderr=pipe,
        ) as process:  # fmt: skip
            self._command = process
            try:
                out, err = process.communicate(_text(notice), PATIENCE_S)
            except BaseException:
                _kill(process)
                raise
            finally:
                self._command = None
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, out, err)


def _kill(process: subprocess.Popen[str]) -> None:
    """With all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _post(url: str, notice: Notice) -> None:
    import urllib.request

    head = {"content-type": "application/json"}
    request = urllib.request.Request(url, msgspec.json.encode(notice), head)
    urllib.request.urlopen(request, timeout=PATIENCE_S).close()


def _environment(notice: Notice) -> dict[str, str]:
    return {
        **os.environ,
        "TAILRACE_SUBJECT": _line(f"bag {notice.bag} ({notice.name}): {notice.occasion}"),
        "TAILRACE_OCCASION": notice.occasion,
        "TAILRACE_BAG": str(notice.bag),
        "TAILRACE_OWNER": notice.owner,
    }


def _text(notice: Notice) -> str:
    return _line(f"bag {notice.bag} ({notice.name}) {notice.text}") + "\n"


def _line(text: str) -> str:
    """A second line would be a header of the mail that it becomes the subject of."""
    return "".join(c if c.isprintable() else " " for c in text)


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or error.stdout).strip().rpartition("\n")[2]
        return f"the command ended with exit {error.returncode}: {said}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"the command took longer than {PATIENCE_S:.0f} s"
    return str(error)
