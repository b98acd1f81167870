"""Who listens to the server's log: what the product swallows and only logs is heard, too."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from .driver import NoAnswer
from .oracle import Rule, hold

LOG = logging.getLogger("tailrace.server")


class Ear(logging.Handler):
    """Drivers fail here, and disks; nothing else may."""

    def emit(self, record: logging.LogRecord) -> None:
        for one in record.args if isinstance(record.args, tuple) else ():
            expected = not isinstance(one, Exception) or isinstance(one, NoAnswer)
            hold(expected, Rule.SOUND, f"logged: {type(one).__name__}: {one}")


@contextmanager
def listening() -> Iterator[None]:
    ear = Ear()
    LOG.addHandler(ear)
    LOG.propagate = False
    try:
        yield
    finally:
        LOG.propagate = True
        LOG.removeHandler(ear)
