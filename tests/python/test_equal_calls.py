"""Equal calls give equal results: none sees what another has changed in what both were given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import tailrace

CALLS = 6  # on two workers: some process makes several


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def count(self, _: int = 0) -> int:
        self.n += 1
        return self.n

    __call__ = count


def lengthen(items: list[int], _: int = 0) -> int:
    items.append(0)
    return len(items)


def closure() -> Callable[[int], int]:
    n = 0

    def count(_: int) -> int:
        nonlocal n
        n += 1
        return n

    return count


def default() -> Callable[[int], int]:
    return lambda _, items=[]: lengthen(items)  # type: ignore[misc]


def default_by_name() -> Callable[[int], int]:
    return lambda _, *, items=[]: lengthen(items)  # type: ignore[misc]


def of_a_script(source: str) -> Any:
    names = {"__name__": "__main__"}
    exec(source, names)
    return names["call"]


def attribute() -> Any:
    call = of_a_script("def call(_):\n    call.n += 1\n    return call.n")
    call.n = 0
    return call


WITH_STATE = {
    "method": Counter().count,
    "object": Counter(),
    "partial": partial(lengthen, []),
    "closure": closure(),
    "default": default(),
    "default by name": default_by_name(),
    "attribute": attribute(),
    "builtin method": list(range(1, 20)).pop,
}


@pytest.mark.parametrize("call", WITH_STATE.values(), ids=WITH_STATE.keys())
def test_calls_share_nothing_that_they_change(
    executor: tailrace.Executor, call: Callable[[int], int]
) -> None:
    assert list(executor.map(call, [0] * CALLS)) == [1] * CALLS
    futures = [executor.submit(call, 0) for _ in range(CALLS)]
    assert [one.result(timeout=60) for one in futures] == [1] * CALLS


def test_globals_stay_from_call_to_call(executor: tailrace.Executor) -> None:
    call = of_a_script("n = 0\ndef call(_, by=1):\n    global n\n    n += by\n    return n")
    assert max(executor.map(call, [0] * CALLS)) > 1
    futures = [executor.submit(call, 0) for _ in range(CALLS)]
    assert max(one.result(timeout=60) for one in futures) > 1
