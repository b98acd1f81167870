"""Times, sizes and counts as Slurm writes them. All raise ValueError that says what is wrong."""

from __future__ import annotations

import re

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", re.ASCII)
_SIZE = re.compile(r"(\d+)([KMGTP]?)B?", re.ASCII | re.IGNORECASE)
_MIB = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
_ENDLESS = ("0", "-1", "UNLIMITED", "INFINITE")


def seconds(text: str) -> int | None:
    """`90` (minutes), `30:00`, `2:00:00`, `1-12`, `1-12:30`, `1-12:30:15`; None: without end."""
    if text.upper() in _ENDLESS:
        return None
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} is not a time: write minutes, minutes:seconds, hours:minutes:seconds, "
            "or days-hours:minutes:seconds"
        )
    days, *parts = (int(part) if part else 0 for part in found.groups())
    if found[1] is None and found[3] is None:  # minutes alone
        parts = [0, parts[0], 0]
    elif found[1] is None and found[4] is None:  # minutes and seconds
        parts = [0, parts[0], parts[1]]
    hours, minutes, rest = parts
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def size(text: str) -> int:
    """Bytes; a bare number is of MiB."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a size such as 4G, 4096M, or 4096 (of MiB)")
    return int(int(found[1]) * _MIB[found[2].upper()] * 1024**2)


def count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 10**9:
        raise ValueError(f"{text!r} is not a number from 1")
    return int(text)


def amount(text: str) -> int:
    """Also none."""
    return 0 if text.isascii() and text.isdigit() and not int(text) else count(text)


def nodes(text: str) -> int:
    """The least of `2`, or of `1-4`."""
    return count(text.partition("-")[0])


def gpus(text: str) -> int:
    """`2`, `a100:2`, `a100:1,v100:1`, `0`."""
    return sum(amount(part.rpartition(":")[2]) for part in text.split(","))


def gres(text: str) -> tuple[int, list[str]]:
    """GPUs of `gpu:a100:2,tmp:10G`, and what else is asked for."""
    found, others = 0, []
    for part in text.split(","):
        name, *words = part.removeprefix("gres:").removeprefix("gres/").split(":")
        if name == "gpu":
            found += amount(words[-1]) if words and words[-1].isdigit() else 1
        elif name != "none":
            others.append(part)
    return found, others
