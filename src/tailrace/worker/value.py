"""The value of a task: from `$TAILRACE_RESULT`, by a regex over stdout, or its last line.

The first two are promises, by the task or by its bag: one that cannot be kept is a failure. A last
line that happens to be JSON is a courtesy.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any, Dict, Tuple

from .results import encoded_bytes
from .ring import read_tail, remove
from .searching import Unsearchable, search

VALUE_BYTES = 1 << 20  # as it was written, and as JSON
# A regex is looked for in the end of stdout only: this much.
SEARCHED_BYTES = 1 << 20
_DEPTH = 100  # deeper values would be refused by readers of the result


class Unusable(Exception):
    """Says in one line why there is no value, and whether one was promised."""

    def __init__(self, text: str, promised: bool = True) -> None:
        super().__init__(text)
        self.promised = promised


def value_of(result: Dict[str, Any], path: str, out: int, out_size: int) -> Any:
    """None when there is no value; Unusable when there is one that cannot be used."""
    promised, value = _found(result, path, out, out_size)
    if value is not None:
        size = encoded_bytes(value)
        if size > VALUE_BYTES:
            text = f"the value has {size} bytes as JSON, at most {VALUE_BYTES} are taken"
            raise Unusable(text, promised)
    return value


def _found(result: Dict[str, Any], path: str, out: int, out_size: int) -> Tuple[bool, Any]:
    """Whether it was promised, and what it is."""
    written, value = from_file(path)
    if written or not out_size:
        return written, value
    if result.get("regex"):
        return True, _searched(result["regex"], read_tail(out, out_size, SEARCHED_BYTES))
    line = read_tail(out, out_size, min(VALUE_BYTES, _line_guess(out_size)))
    return False, from_last_line(line)


def _searched(pattern: str, text: str) -> Any:
    try:
        return search(pattern, text)
    except Unsearchable as error:
        raise Unusable(str(error)) from None


def _line_guess(size: int) -> int:
    return size if size < 65536 else VALUE_BYTES


def from_file(path: str) -> Tuple[bool, Any]:
    """Whether there is one, and what is in it; it is removed."""
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False, None
    except OSError as error:
        remove(path)
        raise Unusable(f"$TAILRACE_RESULT cannot be read: {error.strerror}") from None
    size = there.st_size
    try:
        if not stat.S_ISREG(there.st_mode):
            raise Unusable("$TAILRACE_RESULT is not a file")
        if size > VALUE_BYTES:
            raise Unusable(f"$TAILRACE_RESULT has {size} bytes, at most {VALUE_BYTES} are taken")
        with open(path, "rb") as file:
            data = file.read(VALUE_BYTES)
        return True, parse(data.decode("utf-8", "replace"), "$TAILRACE_RESULT")
    except OSError as error:
        raise Unusable(f"$TAILRACE_RESULT cannot be read: {error.strerror}") from None
    finally:
        remove(path)


def from_last_line(text: str) -> Any:
    """The last line with anything on it, if it is a JSON object."""
    stripped = text.rstrip()
    line = stripped[stripped.rfind("\n") + 1 :].strip()
    if not (line.startswith("{") and line.endswith("}")):
        return None
    try:
        return parse(line, "the last line")
    except Unusable:
        return None


def parse(text: str, what: str) -> Any:
    """Strict JSON: without NaN, infinities and half characters, which readers would refuse."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        _check_depth(value, _DEPTH)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Unusable(f"{what} is not JSON: {reason}") from None
    return value


def _check_depth(value: Any, left: int) -> None:
    if left == 0:
        raise RecursionError
    if isinstance(value, dict):
        for item in value.values():
            _check_depth(item, left - 1)
    elif isinstance(value, list):
        for item in value:
            _check_depth(item, left - 1)
