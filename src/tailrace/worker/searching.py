"""A bag's regex, looked for in what a task printed, without keeping the machine.

Some regexes take for ever on some texts, and nothing can interrupt them. One that cannot take long
is looked for here; any other in a child, which is ended when it has used its time.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections import deque
from typing import Any, Dict, List, Optional, Pattern, Tuple

LIMIT_S = 2.0  # of the child's own time
NEXT_LIMIT_S = 0.1  # when the same regex has passed it before
STEPS = 2_000_000  # as many are taken in some hundredths of a second
_compiled: Dict[str, Pattern[str]] = {}
_costs: Dict[str, Optional[Tuple[int, int]]] = {}
_slow: Dict[str, None] = {}


class Unsearchable(Exception):
    """Says why."""


def search(pattern: str, text: str) -> Any:
    """The first group of the last match, or its named groups; None when there is no match."""
    if _is_quick(pattern, len(text)):
        return by_regex(pattern, text)
    return _in_child(pattern, text)


def by_regex(pattern: str, text: str) -> Any:
    try:
        regex = _compiled.get(pattern) or _compiled.setdefault(pattern, re.compile(pattern, re.M))
    except (re.error, RecursionError, OverflowError) as error:
        raise Unsearchable(f"the result's regex cannot be used: {error}") from None
    matches = deque(regex.finditer(text), maxlen=1)
    if not matches:
        return None
    last = matches[0]
    if regex.groupindex:
        return {name: number_or_text(found) for name, found in last.groupdict().items()}
    return number_or_text(last.group(1 if regex.groups else 0))


def number_or_text(text: Any) -> Any:
    if text is None:
        return None
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if abs(number) < float("inf") and "_" not in text else text
    return text


# ---- how long it can take -----------------------------------------------------------------------


def _is_quick(pattern: str, size: int) -> bool:
    """With k repeats one behind another, no more than the power k + 1 of the text's length."""
    if pattern not in _costs:
        _costs[pattern] = _cost(pattern)
    cost = _costs[pattern]
    if cost is None:
        return False
    repeats, options = cost
    steps: int = (size + 1) ** (repeats + 1) * 2**options
    return steps <= STEPS


def _cost(pattern: str) -> Optional[Tuple[int, int]]:
    """Its repeats and its choices; None when a repeat is inside another, or cannot be told."""
    try:
        from re import _parser as parser  # type: ignore[attr-defined]
    except ImportError:
        import sre_parse as parser
    try:
        return _counted(parser.parse(pattern), parser.SubPattern)
    except re.error:
        return 0, 0  # it is refused when it is compiled
    except Exception:
        return None


def _counted(tree: Any, kind: Any) -> Optional[Tuple[int, int]]:
    repeats = options = 0
    for name, argument in tree:
        inner = [_counted(one, kind) for one in _inside(argument, kind)]
        found = [one for one in inner if one is not None]
        if len(found) < len(inner):
            return None
        repeats += sum(one[0] for one in found)
        options += sum(one[1] for one in found) + max(len(found) - 1, 0)
        if "REPEAT" in str(name):
            if argument[1] == 1:
                options += 1
            elif any(one != (0, 0) for one in found):
                return None
            else:
                repeats += 1
    return repeats, options


def _inside(argument: Any, kind: Any) -> List[Any]:
    """The parts of a pattern that stand anywhere in this one."""
    if isinstance(argument, kind):
        return [argument]
    if isinstance(argument, (list, tuple)):
        return [part for one in argument for part in _inside(one, kind)]
    return []


# ---- in a child ---------------------------------------------------------------------------------


def _in_child(pattern: str, text: str) -> Any:
    limit = NEXT_LIMIT_S if pattern in _slow else LIMIT_S
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(write, pattern, text, limit)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        told = file.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM:
        _slow[pattern] = None
        raise Unsearchable(f"the result's regex was not found in {limit:g} s: make it simpler")
    if not told:
        raise Unsearchable("the process that looked for the result's regex died")
    value, error = json.loads(told)
    if error:
        raise Unsearchable(error)
    return value


def _answer(fd: int, pattern: str, text: str, limit: float) -> None:
    """What ends it is the system: no code of Python runs while a regex is looked for."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        try:
            told = [by_regex(pattern, text), ""]
        except Unsearchable as error:
            told = [None, str(error)]
        with os.fdopen(fd, "w") as file:
            json.dump(told, file)
    finally:
        os._exit(0)
