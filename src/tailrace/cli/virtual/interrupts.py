"""Ctrl-C and SIGTERM while simulations run: the first ends them, any more change nothing."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Heard within its `with`; after one was heard, also from then on, to the end of the process:
    what is done shall be printed, whoever presses Ctrl-C again."""

    def __init__(self, *, at_once: bool) -> None:
        """Not at once: whoever asks finds that one was `heard`, and no fork is cut short."""
        self.heard = False
        self._at_once = at_once
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        self._before = {number: signal.signal(number, self._hear) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        """Ignored outright, since Python forgets handlers before its end, and would be killed."""
        self.wait()
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self.heard else handler)

    def wait(self) -> None:
        """From now on none interrupts at once."""
        self._at_once = False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        first, self.heard = not self.heard, True
        if first and self._at_once:
            raise KeyboardInterrupt
