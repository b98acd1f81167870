"""The terminal of a run, which may go away before it."""

from __future__ import annotations

import os
import signal

STDOUT, STDERR = 1, 2


class Terminals:
    """Of the standard streams, those that end with the terminal: files and pipes stay what they
    are."""

    def __init__(self) -> None:
        # Asked now: a terminal that is gone says that it is none.
        self._streams = [stream for stream in (STDOUT, STDERR) if os.isatty(stream)]

    def catch_hangup(self) -> None:
        """It ends what is shown there, and nothing else. `nohup` has it ignored, and it stays so:
        its standard error may still be a terminal that is there."""
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, lambda *_: self.let_go())

    def let_go(self) -> None:
        """Nothing can be written there any more."""
        for stream in self._streams:
            hush(stream)


def hush(stream: int) -> None:
    """What is written to it from now on goes nowhere, and is no error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream)
    os.close(nowhere)
