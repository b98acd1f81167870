"""The value of a task: from `$TAILRACE_RESULT`, by a regex over stdout, or its last line.

The first two are promises, by the task or by its bag: one that cannot be kept is a failure. A last
line that happens to be JSON is a courtesy, also to programs that print NaN and infinities, which
JSON has not: they are null, and a note says which.
"""

from __future__ import annotations

import json
import math
import os
import stat
from typing import Any, Dict, List, NamedTuple, Tuple

from .results import encoded_bytes
from .ring import read_tail, remove
from .searching import Unsearchable, search

VALUE_BYTES = 1 << 20  # as it was written, and as JSON
# A regex is looked for in the end of stdout only: this much.
SEARCHED_BYTES = 1 << 20
_DEPTH = 100  # deeper values would be refused by readers of the result


_NAMED = 3  # of the numbers that are null now


class Value(NamedTuple):
    value: Any
    note: str = ""


class Unusable(Exception):
    """Says in one line why there is no value, and whether one was promised."""

    def __init__(self, text: str, promised: bool = True) -> None:
        super().__init__(text)
        self.promised = promised


def value_of(result: Dict[str, Any], path: str, out: int, out_size: int) -> Value:
    """None when there is no value; Unusable when there is one that cannot be used."""
    promised, found = _found(result, path, out, out_size)
    if found.value is not None:
        size = encoded_bytes(found.value)
        if size > VALUE_BYTES:
            text = f"the value has {size} bytes as JSON, at most {VALUE_BYTES} are taken"
            raise Unusable(text, promised)
    return found


def _found(result: Dict[str, Any], path: str, out: int, out_size: int) -> Tuple[bool, Value]:
    """Whether it was promised, and what it is."""
    written, value = from_file(path)
    if written or not out_size:
        return written, Value(value)
    if result.get("regex"):
        return True, Value(_searched(result["regex"], read_tail(out, out_size, SEARCHED_BYTES)))
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


def from_last_line(text: str) -> Value:
    """The last line with anything on it, if it is a JSON object."""
    stripped = text.rstrip()
    line = stripped[stripped.rfind("\n") + 1 :].strip()
    if not (line.startswith("{") and line.endswith("}")):
        return Value(None)
    try:
        return Value(parse(line, "the last line"))
    except Unusable:
        return _with_nulls(line)


def _with_nulls(line: str) -> Value:
    nulls: List[str] = []
    try:
        value = json.loads(line)
        _check_depth(value, _DEPTH)
        return Value(parse(json.dumps(_finite(value, "", nulls)), "it"), _note(nulls))
    except (Unusable, ValueError, RecursionError):
        return Value(None)


def _finite(value: Any, place: str, nulls: List[str]) -> Any:
    """Tells the places of the numbers that are null now."""
    if isinstance(value, float) and not math.isfinite(value):
        nulls.append(place)
        return None
    if isinstance(value, dict):
        dot = "." if place else ""
        return {name: _finite(item, f"{place}{dot}{name}", nulls) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item, f"{place}[{n}]", nulls) for n, item in enumerate(value)]
    return value


def _note(nulls: List[str]) -> str:
    more = f" and {len(nulls) - _NAMED} more" if len(nulls) > _NAMED else ""
    places = ", ".join(place[:100] for place in nulls[:_NAMED])
    return f"not a finite number, so null in the value: {places}{more}"


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
