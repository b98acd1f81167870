"""The worker's command line. The token never stands on it: anybody can read command lines."""

from __future__ import annotations

import argparse
import re
from typing import List, Optional, Tuple


def parse(args: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tailrace worker", description="Takes tasks from a tailrace server and runs them here."
    )
    add = parser.add_argument
    add("--server", default=None, metavar="URL", help="where to take tasks from")
    add("--folder", default=None, metavar="DIR", help="the worker's own files; else in /var/tmp")
    add("--pool", default=None, metavar="NAME", help="the pool this machine belongs to")
    add("--lease", type=int, default=None, metavar="N", help="the lease it was started for")
    add("--name", default=None, metavar="NAME", help="the name its machine is known by")
    add("--join", default=None, metavar="FILE", help="file with the join text, for you alone")
    add("--cores", type=float, default=None, metavar="N", help="for tasks; else all")
    add("--memory", type=int, default=None, metavar="BYTES", help="for tasks; else nearly all")
    add("--speed", type=_speed, default=1.0, metavar="X", help="beside other machines; else 1")
    add("--owner", default=None, metavar="NAME", help="whose machine this is; else its user's")
    add("--conf", default=None, metavar="FILE", help="what its owner says; else worker.conf")
    add("--benchmark", type=_patience, default=30.0, metavar="S", help="measured when idle so long")
    add("--gpus", type=int, default=None, metavar="N", help="for tasks; else all")
    add("--has", type=_own, action="append", default=[], metavar="NAME=N", help="own resources")
    add("--cache", type=_bytes, default=10**10, metavar="SIZE", help="of inputs kept; else 10GB")
    add("--tied", type=int, default=None, metavar="FD", help="end when this pipe ends")
    add("--lifetime", type=float, default=None, metavar="S", help="end after this time")
    add("--ends", type=float, default=None, metavar="T", help="end of its lease, by Unix time")
    add("--idle-exit", type=float, default=None, metavar="S", help="end when idle this long")
    add("--idle-cpu", type=float, default=None, metavar="S", help="end when tasks hang this long")
    return parser.parse_args(args)


def _own(text: str) -> Tuple[str, int]:
    """A name and its thousandths."""
    name, equals, count = text.partition("=")
    amount = float(count)
    if not name or not equals or not 0 < amount < 1e9:
        raise ValueError(text)
    return name, round(amount * 1000)


def _bytes(text: str) -> int:
    """`10GB`, `500 MiB`, or a number of bytes."""
    found = re.fullmatch(r"\s*([\d.]+)\s*([kMGT]?)(i?)B?\s*", text)
    if found is None:
        raise ValueError(text)
    number, prefix, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kMGT".index(prefix or " "))


def _patience(text: str) -> Optional[float]:
    """Seconds, or `never`."""
    if text == "never":
        return None
    value = float(text)
    if not 0 <= value < 1e9:
        raise ValueError(text)
    return value


def _speed(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value
