"""`map` through its public door, on real workers."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import tailrace
from tailrace.errors import BadInput


def square(x: int) -> int:
    return x * x


def slow_then_fail(seconds: float) -> None:
    time.sleep(seconds)
    raise RuntimeError(f"after {seconds}")


def test_results_come_in_order_whatever_takes_longer(executor: tailrace.Executor) -> None:
    def late(x: int) -> int:
        time.sleep(0.3 if x == 0 else 0)
        return x

    assert list(executor.map(late, range(200))) == list(range(200))


def test_many_small_calls_share_few_processes(executor: tailrace.Executor) -> None:
    pids = list(executor.map(lambda _: os.getpid(), range(3000)))
    assert len(pids) == 3000
    assert len(set(pids)) <= 2


def test_several_iterables_go_side_by_side_to_the_shortest(executor: tailrace.Executor) -> None:
    assert list(executor.map(pow, [2, 3, 4], itertools.repeat(2))) == [4, 9, 16]
    assert list(executor.map(square, [])) == []


def test_closures_and_classes_of_the_caller_travel(executor: tailrace.Executor) -> None:
    factor = 3

    class Pair:
        def __init__(self, x: int) -> None:
            self.x = x

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Pair) and other.x == self.x

    found = list(executor.map(lambda pair: Pair(pair.x * factor), [Pair(1), Pair(2)]))
    assert found == [Pair(3), Pair(6)]
    assert all(type(one) is Pair for one in found)


def test_an_exception_is_the_calls_own_with_its_traceback_there(
    executor: tailrace.Executor,
) -> None:
    def divide(x: int) -> float:
        return 1 / (x - 2)

    results = executor.map(divide, range(5))
    assert [next(results), next(results)] == [-0.5, -1.0]
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        next(results)
    cause = caught.value.__cause__
    assert isinstance(cause, tailrace.RemoteTraceback)
    assert "return 1 / (x - 2)" in str(cause)
    assert "tailrace runner" not in str(cause)
    with pytest.raises(StopIteration):
        next(results)


def test_a_stop_iteration_of_a_call_is_not_the_end_of_the_results(
    executor: tailrace.Executor,
) -> None:
    def first_below_4(x: int) -> int:
        return next(one for one in range(x, 4))

    with pytest.raises(RuntimeError, match="raised StopIteration") as caught:
        list(executor.map(first_below_4, range(10)))
    cause = caught.value.__cause__
    assert isinstance(cause, StopIteration)
    assert isinstance(cause.__cause__, tailrace.RemoteTraceback)
    future = executor.submit(first_below_4, 4)
    assert isinstance(future.exception(timeout=60), StopIteration)


class Unready:
    """Pickling it raises what would pass for the end."""

    def __reduce__(self) -> Any:
        return next(iter(()))


def test_a_stop_iteration_while_pickling_is_not_the_end_of_the_results(
    executor: tailrace.Executor,
) -> None:
    results = executor.map(str, [1, 2, Unready()], buffersize=2)
    assert next(results) == "1"
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(results)


def test_a_source_that_raises_ends_the_map(executor: tailrace.Executor) -> None:
    def source() -> Any:
        yield from range(3)
        raise OSError("the disk is gone")

    results = executor.map(square, source(), buffersize=2)
    assert next(results) == 0
    with pytest.raises(OSError, match="the disk is gone"):
        list(results)
    assert list(results) == []
    with pytest.raises(OSError, match="the disk is gone"):
        executor.map(square, source())


def test_a_hundred_exceptions_alike_pause_nothing(executor: tailrace.Executor) -> None:
    futures = [executor.submit(square, "text") for _ in range(100)]  # type: ignore[arg-type]
    assert all(isinstance(one.exception(timeout=60), TypeError) for one in futures)


def test_what_cannot_be_pickled_is_said_before_anything_runs(executor: tailrace.Executor) -> None:
    lock = threading.Lock()
    with pytest.raises(BadInput, match=r"cannot be pickled.*\n.*inside the function"):
        executor.map(lambda x: lock.acquire(timeout=x), range(3))
    assert isinstance(executor.submit(print, lock).exception(timeout=60), TypeError)


def test_a_result_that_cannot_be_pickled_fails_its_call_alone(executor: tailrace.Executor) -> None:
    good, bad = executor.submit(square, 3), executor.submit(threading.Lock)
    assert good.result(timeout=60) == 9
    with pytest.raises(TypeError, match="cannot pickle"):
        bad.result(timeout=60)


def test_a_large_result_and_a_large_argument_travel(executor: tailrace.Executor) -> None:
    large = bytes(range(256)) * (24 << 12)  # 24 MiB
    (found,) = executor.map(lambda data: data[::-1], [large])
    assert found == large[::-1]


def test_a_result_that_no_call_can_carry_says_what_to_do(executor: tailrace.Executor) -> None:
    for calls in (executor.map(bytes, [45 << 20]), [executor.submit(bytes, 45 << 20).result]):
        with pytest.raises(tailrace.TaskFailed) as caught:
            [call() if callable(call) else call for call in calls]
        told = str(caught.value)
        assert "returned 471859" in told and "at most 46137344 are taken" in told
        assert "write a file and return its name" in told and "unpickled" not in told


def test_an_endless_generator_is_read_only_as_far_as_results_are_taken(
    executor: tailrace.Executor,
) -> None:
    read = itertools.count()
    results = executor.map(square, read, buffersize=50)
    assert [next(results) for _ in range(120)] == [x * x for x in range(120)]
    results.close()  # type: ignore[attr-defined]
    assert next(read) <= 121 + 50


def test_a_timeout_ends_the_map_and_what_runs_of_it(
    executor: tailrace.Executor, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"

    def stays(_: int) -> None:
        pid.write_text(str(os.getpid()))
        time.sleep(600)

    with pytest.raises(TimeoutError):
        list(executor.map(stays, [1], timeout=2))
    _wait_for(lambda: not Path(f"/proc/{pid.read_text()}").exists())


def test_the_plain_map_keeps_its_processes_for_the_next() -> None:
    first = set(tailrace.map(lambda _: os.getpid(), range(50), workers=1))
    assert first == set(tailrace.map(lambda _: os.getpid(), range(50), workers=1))
    assert os.getpid() not in first


def test_a_map_over_nothing_is_refused(executor: tailrace.Executor) -> None:
    with pytest.raises(BadInput, match="nothing to go over"):
        executor.map(square)


def test_calls_run_in_the_folder_of_their_caller_with_its_modules(
    executor: tailrace.Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside_the_caller.py").write_text("def cube(x):\n    return x ** 3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with tailrace.Executor(1) as own:
        import beside_the_caller  # type: ignore[import-not-found]

        assert list(own.map(beside_the_caller.cube, [2, 3])) == [8, 27]
        assert list(own.map(lambda _: os.getcwd(), [0])) == [str(tmp_path)]


def test_importing_tailrace_loads_none_of_it() -> None:
    import subprocess

    code = "import sys, tailrace; print([m for m in sys.modules if 'numpy' in m or 'msgspec' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert {"map", "Executor", "results"} <= set(dir(tailrace))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tailrace.nothing  # noqa: B018


def _wait_for(true: Any, within: float = 20.0) -> None:
    until = time.monotonic() + within
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)
