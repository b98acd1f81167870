"""How an errand went, and how far one may go."""

from __future__ import annotations

import msgspec

MOST_CPU_S = 120
MOST_S = 600.0  # of the clock, on a busy machine
MOST_BYTES = 4 * 2**30
TOO_LARGE = f"this takes more than {MOST_BYTES >> 30} GiB of memory: hand in a smaller bag"
TOO_LONG = f"this takes more than {MOST_CPU_S} seconds of computing: hand in a smaller bag"


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    bad: str = ""  # what is wrong with what was sent
    undone: str = ""  # why it could not be done, which may pass


class Undone(Exception):
    """Ask again: it is no fault of what was asked."""
