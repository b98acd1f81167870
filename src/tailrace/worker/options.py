"""The worker's command line. The token never stands on it: anybody can read command lines."""

from __future__ import annotations

import argparse
import re
from typing import Callable, List, Optional, Tuple

MOST = 1e18


def parse(args: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tailrace worker", description="Takes tasks from a tailrace server and runs them here."
    )
    add = parser.add_argument
    add("--server", default=None, metavar="URL", help="where to take tasks from")
    add("--folder", default=None, metavar="DIR", help="the worker's own files; else in /var/tmp")
    add("--pool", default=None, metavar="NAME", help="the pool this machine belongs to")
    add("--lease", type=_lease, default=None, metavar="N", help="the lease it was started for")
    add("--name", default=None, metavar="NAME", help="the name its machine is known by")
    add("--join", default=None, metavar="FILE", help="file with the join text, for you alone")
    add("--cores", type=_cores, default=None, metavar="N", help="for tasks; else all")
    add("--memory", type=_memory, default=None, metavar="BYTES", help="for tasks; else nearly all")
    add("--speed", type=_speed, default=1.0, metavar="X", help="beside other machines; else 1")
    add("--owner", default=None, metavar="NAME", help="whose machine this is; else its user's")
    add("--conf", default=None, metavar="FILE", help="what its owner says; else worker.conf")
    add("--benchmark", type=_patience, default=30.0, metavar="S", help="measured when idle so long")
    add("--gpus", type=_gpus, default=None, metavar="N", help="for tasks; else all")
    add("--has", type=_own, action="append", default=[], metavar="NAME=N", help="own resources")
    add("--cache", type=_bytes, default=10**10, metavar="SIZE", help="of inputs kept; else 10GB")
    add("--tied", type=int, default=None, metavar="FD", help="end when this pipe ends")
    add("--lifetime", type=_seconds, default=None, metavar="S", help="end after this time")
    add("--ends", type=_moment, default=None, metavar="T", help="end of its lease, by Unix time")
    add("--idle-exit", type=_seconds, default=None, metavar="S", help="end when idle this long")
    add("--idle-cpu", type=_seconds, default=None, metavar="S", help="end if tasks hang this long")
    return parser.parse_args(args)


def _number(kind: Callable[[str], float], least: float, what: str) -> Callable[[str], float]:
    """What is less would be no machine, or an end that has passed."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            raise _is_not(text, what) from None
        if not least <= value < MOST:
            raise _is_not(text, what)
        return value

    return read


def _is_not(text: str, what: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError("%r is not %s" % (text, what))


def _own(text: str) -> Tuple[str, int]:
    """A name and its thousandths."""
    name, equals, count = text.partition("=")
    try:
        amount = float(count)
    except ValueError:
        amount = 0.0
    if not name or not equals or not 0 < amount < 1e9:
        raise _is_not(text, "a name and an amount of it, such as scanner=2")
    return name, round(amount * 1000)


def _bytes(text: str) -> int:
    """`10GB`, `500 MiB`, or a number of bytes."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kMGT]?)(i?)B?\s*", text)
    if found is None:
        raise _is_not(text, "a size such as 10GB, 500MiB, or a number of bytes")
    number, prefix, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kMGT".index(prefix or " "))


def _patience(text: str) -> Optional[float]:
    """Seconds, or `never`."""
    return None if text == "never" else _number(float, 0, "a number of seconds, or never")(text)


_lease = _number(int, 1, "the number of a lease")
_cores = _number(float, 0.001, "a number of cores, 0.001 or more")
_memory = _number(int, 1, "a number of bytes, 1 or more")
_gpus = _number(int, 0, "a number of GPUs, 0 or more")
_seconds = _number(float, 0, "a number of seconds, 0 or more")
_moment = _number(float, 0, "a moment in seconds of Unix time")
_speed = _number(float, 1e-9, "a factor above 0, such as 1.5")
