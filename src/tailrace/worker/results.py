"""Results of attempts, as the work call carries them."""

from __future__ import annotations

import json

from .effects import Json


def about_bytes(result: Json) -> int:
    """Of a result in a call; roughly is enough."""
    size = 500 + sum(len(result.get(name) or "") for name in ("stdout", "stderr", "error"))
    size += 300 * len(result.get("outputs") or ())
    value = result.get("value")
    return size if value is None else size + len(json.dumps(value))


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
        "error": error,
    }
