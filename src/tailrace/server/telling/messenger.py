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
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from tailrace.server.telling.notices import Notice
from tailrace.server.telling.outbox import KEPT_US, Kept
from tailrace.worker.openfiles import for_shell

log = logging.getLogger("tailrace.server")
PATIENCE_S = 30.0
END_S = 5.0  # for all that is not told at the end, together
FIRST_S, LONGEST_S = 10.0, 3600.0  # between two tries, which double


class Messenger:
    """One for all targets, each with a thread of its own: a hook that does not answer keeps neither
    tasks waiting nor those who are told elsewhere."""

    def __init__(self, targets: tuple[str, ...], done: Callable[[int], None]) -> None:
        """`done` is called, on a thread, with the number of what was told, or given up."""
        self._errands = {target: Errand(target, done) for target in targets}

    def tell(self, kept: Kept, age_us: int = 0) -> None:
        self._errands[kept.target].tell(kept, age_us)

    def close(self) -> None:
        """What is not told in a short time is left for the next server: the end of a run is not
        kept by it."""
        errands = self._errands.values()
        for errand in errands:
            errand.end()
        until = time.monotonic() + END_S
        late = [errand for errand in errands if not errand.is_done(until)]
        for errand in late:
            errand.give_up()
        left = sum(errand.left for errand in errands)
        if left:
            log.warning("notify: %d not told; tried again when a server starts here", left)


class Waiting(msgspec.Struct):
    kept: Kept
    until_s: float  # when it is given up
    due_s: float = 0.0
    pause_s: float = FIRST_S


class Errand:
    """To one target, one notice at a time. What fails comes again later, behind what is due."""

    def __init__(self, target: str, done: Callable[[int], None]) -> None:
        self._target = target
        self._done = done
        self._waiting: list[Waiting] = []
        self._changed = threading.Condition()
        self._ending = False
        self._command: subprocess.Popen[str] | None = None
        self._given_up = False
        self._thread = threading.Thread(target=self._work, name="notify", daemon=True)
        self._thread.start()

    def tell(self, kept: Kept, age_us: int) -> None:
        until_s = time.monotonic() + (KEPT_US - age_us) / 1e6
        with self._changed:
            self._waiting.append(Waiting(kept, until_s))
            self._changed.notify()

    def end(self) -> None:
        """With what was not tried yet."""
        with self._changed:
            self._ending = True
            self._changed.notify()

    def is_done(self, until: float) -> bool:
        self._thread.join(max(until - time.monotonic(), 0))
        return not self._thread.is_alive()

    def give_up(self) -> None:
        self._given_up = True
        if (command := self._command) is not None:
            _kill(command)

    @property
    def left(self) -> int:
        return len(self._waiting)

    def _work(self) -> None:
        while (one := self._next()) is not None and not self._given_up:
            if self._carried(one):
                with self._changed:
                    self._waiting.remove(one)
                self._done(one.kept.number)

    def _next(self) -> Waiting | None:
        """When it is due; None: there will be no more."""
        with self._changed:
            while True:
                first = min(self._waiting, key=lambda one: one.due_s, default=None)
                now = time.monotonic()
                if first is not None and first.due_s <= now:
                    return first
                if self._ending:
                    return None
                self._changed.wait(None if first is None else first.due_s - now)

    def _carried(self, one: Waiting) -> bool:
        """Whether that is the end of it: it was told, or is no news any more."""
        try:
            self._carry(one.kept.notice)
        except Exception as error:
            return self._failed(one, _why(error))
        return True

    def _failed(self, one: Waiting, why: str) -> bool:
        now, first = time.monotonic(), not one.due_s
        over = now + one.pause_s > one.until_s
        if first or over:
            then = "given up" if over else "tried again for a day"
            log.warning("bag %d: notify: %s; %s", one.kept.notice.bag, why, then)
        one.due_s, one.pause_s = now + one.pause_s, min(2 * one.pause_s, LONGEST_S)
        return over

    def _carry(self, notice: Notice) -> None:
        if self._target.startswith(("https://", "http://")):
            _post(self._target, notice)
        else:
            self._run(self._target, notice)

    def _run(self, command: str, notice: Notice) -> None:
        words, pipe = ["sh", "-c", for_shell(command)], subprocess.PIPE
        with subprocess.Popen(
            words, env=_environment(notice), text=True, errors="replace", stdin=pipe, stdout=pipe,
            stderr=pipe, start_new_session=True,
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
