"""Results of attempts, as the work call carries them."""

from __future__ import annotations

import json
from typing import Any

from .effects import Json

ERROR_CHARACTERS = 4000
_encode = json.JSONEncoder(separators=(",", ":")).encode
_NUMBERS = (
    "exit", "signal", "run_us", "cpu_us", "memory", "stdout_bytes", "stderr_bytes",
)  # fmt: skip


def encoded_bytes(value: Any) -> int:
    """As JSON. It can be many times what was written: a NUL becomes six characters."""
    return len(_encode(value))


def about_bytes(result: Json) -> int:
    """Of a result in a call; roughly is enough, but of what is really sent."""
    size = 500
    size += len(result.get("pickled") or "")
    for name in ("stdout", "stderr", "error", "outputs", "value"):
        part = result.get(name)
        if part:
            size += encoded_bytes(part)
    return size


def shortened(error: str) -> str:
    return error if len(error) <= ERROR_CHARACTERS else error[:ERROR_CHARACTERS] + " ..."


def without_content(result: Json, error: str) -> Json:
    """How it ended, and nothing of what the task made: in place of one the server refused."""
    bare = unstarted(result["attempt"], result["outcome"], error)
    for name in _NUMBERS:
        number = result.get(name)
        if isinstance(number, int) and 0 <= number < 1 << 63:
            bare[name] = number
    bare["limit"] = result.get("limit")
    return bare


def unstarted(attempt: int, outcome: str, error: str) -> Json:
    """The result of an attempt without a process."""
    return {
        "attempt": attempt,
        "outcome": outcome,
        "exit": None,
        "signal": None,
        "limit": None,
        "run_us": 0,
        "cpu_us": 0,
        "memory": 0,
        "value": None,
        "stdout": "",
        "stderr": "",
        "stdout_bytes": 0,
        "stderr_bytes": 0,
        "outputs": [],
        "error": shortened(error),
    }
