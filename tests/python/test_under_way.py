"""What is under way is waited for, however it was asked for; what cannot be handed in says so."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import tailrace
from tailrace.python.bundle import Bundle


def square(x: int) -> int:
    return x * x


def test_results_of_a_map_are_taken_after_its_executor_was_shut_down() -> None:
    with tailrace.Executor(1) as own:
        whole = own.map(square, range(40))
        partly = own.map(square, itertools.count(), buffersize=10)
    assert list(whole) == [x * x for x in range(40)]
    assert [next(partly) for _ in range(10)] == [x * x for x in range(10)]
    with pytest.raises(RuntimeError, match="after shutdown"):
        next(partly)


def test_a_shutdown_that_cancels_ends_a_map_loudly() -> None:
    own = tailrace.Executor(1)
    results = own.map(time.sleep, [600, 600])
    own.shutdown(cancel_futures=True)
    with pytest.raises(tailrace.Stopped, match="gave it up"):
        next(results)


def test_maps_with_other_options_end_none_that_goes_on() -> None:
    first = tailrace.map(square, itertools.count(), workers=1, retries=1, buffersize=4)
    others = [tailrace.map(square, range(3), workers=1, retries=n) for n in (2, 3)]
    assert [list(other) for other in others] == [[0, 1, 4], [0, 1, 4]]
    assert [next(first) for _ in range(9)] == [x * x for x in range(9)]


def test_a_call_that_cannot_be_handed_in_fails_and_the_next_is_made(
    executor: tailrace.Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    assert executor.submit(square, 2).result(timeout=60) == 4
    with monkeypatch.context() as there:
        there.chdir(gone)
        gone.rmdir()
        failed = [executor.submit(square, n) for n in range(3)]
        errors = [one.exception(timeout=60) for one in failed]
    assert all("current folder is not there" in str(error) for error in errors)
    assert executor.submit(square, 3).result(timeout=60) == 9


def test_a_slow_source_is_not_read_to_its_end_before_the_first_result(
    executor: tailrace.Executor,
) -> None:
    read = itertools.count()

    def slowly() -> Iterator[int]:
        while True:
            time.sleep(0.02)
            yield next(read)

    results = executor.map(square, slowly())
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert next(read) < 3000


def test_large_arguments_are_handed_in_by_their_size(executor: tailrace.Executor) -> None:
    read = itertools.count()
    results = executor.map(len, (bytes(8 << 20) for _ in read))
    assert next(results) == 8 << 20
    results.close()  # type: ignore[attr-defined]
    assert next(read) < 40


def test_a_bag_is_cancelled_once_when_nobody_waits_for_it() -> None:
    asked: list[int] = []
    calls: list[Future[Any]] = [Future() for _ in range(3)]
    bundle = Bundle([(call, "f", b"") for call in calls], lambda _: None)
    bundle.watch(asked.append)
    bundle.taken(7)
    assert calls[0].cancel() and calls[0].cancel()
    calls[1].set_result(None)
    assert asked == []
    calls[2].cancel()
    assert asked == [7]


def test_cancelling_costs_by_the_number_of_futures_not_its_square(
    executor: tailrace.Executor,
) -> None:
    """Of eight times as many: 8 times the steps, twice that if they were handed in meanwhile, or
    64 times."""
    assert _steps_to_cancel(executor, 200) * 30 > _steps_to_cancel(executor, 1600)


def _steps_to_cancel(executor: tailrace.Executor, count: int) -> int:
    blocked = [executor.submit(time.sleep, 600) for _ in range(count)]
    steps = itertools.count()
    sys.setprofile(lambda *_: next(steps) and None)
    try:
        for one in blocked:
            one.cancel()
    finally:
        sys.setprofile(None)
    assert all(one.cancelled() for one in blocked)
    return next(steps)


def test_a_child_made_by_fork_does_not_wait_for_its_parents_calls() -> None:
    import multiprocessing

    with tailrace.Executor(1) as own:
        first = own.submit(time.sleep, 0.5)
        child = multiprocessing.get_context("fork").Process(target=threading.active_count)
        child.start()
        child.join(60)
        assert child.exitcode == 0
        first.result(timeout=60)
