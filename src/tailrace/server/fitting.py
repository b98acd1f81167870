"""What a worker reports is kept within the limits of its bag, whatever it sends.

An honest one has cut it already, and passes as it is: what it reads as bytes has no more characters
than these, and what it leaves out it says in one line.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tailrace.bag.spec import KEEP_OUTPUT
from tailrace.server.protocol import NULL, WorkResult
from tailrace.worker.attempt import KEEP_AT_MOST
from tailrace.worker.value import VALUE_BYTES

MARK = 100  # characters for the line that says what was left out
MOST_VALUE = 2 * VALUE_BYTES  # as JSON: a mask may be longer than the secret number it hides


def fitted(result: WorkResult, keep_output: int, *, call: bool) -> WorkResult:
    """`call`: of a Python function, whose results are pickled; those of commands are not."""
    keep = min(keep_output or KEEP_OUTPUT, KEEP_AT_MOST)
    found: dict[str, Any] = {}
    for name in ("stdout", "stderr"):
        text = getattr(result, name)
        if len(text) > keep + MARK:
            found[name] = _cut(text, keep)
            found[f"{name}_bytes"] = max(getattr(result, f"{name}_bytes"), len(text))
    size = len(bytes(result.value))
    if size > MOST_VALUE:
        note = f"the value has {size} bytes as JSON, at most {VALUE_BYTES} are taken"
        found.update(value=NULL, error=result.error or note)
    if result.pickled and not call:
        found["pickled"] = ""
    return replace(result, **found) if found else result


def _cut(text: str, keep: int) -> str:
    """The first quarter and the last three quarters, as a worker does."""
    first = keep // 4
    last = len(text) - (keep - first)
    left_out = f"\n[... {last - first} characters left out by the server ...]\n"
    return text[:first] + left_out + text[last:]
