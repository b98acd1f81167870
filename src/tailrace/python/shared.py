"""`tailrace.map`: the `map` of an Executor that is kept for the next one, with its warm runners."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from tailrace.python.executor import Executor

T = TypeVar("T")
MOST = 2  # kept while nothing goes on in them, each with processes of its own

_kept: dict[tuple[Any, ...], Executor] = {}
_guard = threading.Lock()


def map(
    function: Callable[..., T],
    *iterables: Iterable[Any],
    timeout: float | None = None,
    buffersize: int | None = None,
    **options: Any,
) -> Iterator[T]:
    """`function` of each item, or of the items of several iterables side by side; results in order.

    An exception of a call is raised where its result would come, with its traceback in the other
    process as the cause, and ends the rest. `options` are those of `tailrace.Executor`.
    """
    executor = _executor(options)
    return executor.map(function, *iterables, timeout=timeout, buffersize=buffersize)


def _executor(options: dict[str, Any]) -> Executor:
    key = (os.getpid(), os.getcwd(), *sorted((name, str(value)) for name, value in options.items()))  # noqa: PTH109
    with _guard:
        found = _kept.pop(key, None)
        if found is None or not found.usable:
            found = Executor(**options)
        _kept[key] = found
        surplus = [_kept.pop(old) for old in _idle(list(_kept)[:-MOST])]
    for executor in surplus:
        executor.shutdown(wait=False)
    return found


def _idle(keys: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Results of the others are still being taken."""
    return [key for key in keys if _kept[key].idle]
