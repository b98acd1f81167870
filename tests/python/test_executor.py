"""The contract of `concurrent.futures`, and what happens when processes die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, as_completed, wait
from pathlib import Path

import pytest

import tailrace
from tailrace.errors import BadInput


def square(x: int) -> int:
    return x * x


def test_futures_complete_in_any_order_and_call_back(executor: tailrace.Executor) -> None:
    def sleep(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    called: list[float] = []
    futures = [executor.submit(sleep, s) for s in (1.0, 0.0)]
    for future in futures:
        future.add_done_callback(lambda one: called.append(one.result()))
    assert [one.result() for one in as_completed(futures, timeout=60)] == [0.0, 1.0]
    done, left = wait(futures, timeout=60, return_when=FIRST_COMPLETED)
    assert (len(done), len(left)) == (2, 0)
    assert called == [0.0, 1.0]


def test_arguments_by_name_and_methods_are_called(executor: tailrace.Executor) -> None:
    assert executor.submit(int, "ff", base=16).result(timeout=60) == 255
    assert executor.submit("a-b".split, "-").result(timeout=60) == ["a", "b"]


def test_a_future_that_is_not_done_in_time_says_so(executor: tailrace.Executor) -> None:
    future = executor.submit(time.sleep, 2)
    with pytest.raises(TimeoutError):
        future.result(timeout=0.05)
    assert future.result(timeout=60) is None


@pytest.mark.parametrize("death", ["os._exit(3)", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_a_process_that_dies_costs_only_its_call(executor: tailrace.Executor, death: str) -> None:
    def die(code: str) -> None:
        print("about to die")
        exec(code)

    bad = executor.submit(die, "import sys, os; sys.stderr.write('farewell'); " + death)
    good = [executor.submit(square, x) for x in range(50)]
    with pytest.raises(tailrace.TaskFailed, match=r"before the call returned|SIGKILL") as caught:
        bad.result(timeout=60)
    assert caught.value.outcome == "task_failed"
    assert [one.result(timeout=60) for one in good] == [x * x for x in range(50)]


def test_a_call_is_made_again_if_that_is_asked_for(tmp_path: Path) -> None:
    tried = tmp_path / "tried"

    def once_only() -> str:
        if not tried.exists():
            tried.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return "the second time"

    with tailrace.Executor(1, retries=1) as patient:
        assert patient.submit(once_only).result(timeout=60) == "the second time"


def test_limits_end_a_call_and_spare_the_next() -> None:
    def hold(megabytes: int) -> int:
        data = b"x" * (megabytes << 20)
        time.sleep(0.1 if megabytes < 100 else 30)
        return len(data)

    with tailrace.Executor(1, time_limit=3.0, memory_limit="300MiB") as strict:
        slow, large, fine = (
            strict.submit(time.sleep, 30), strict.submit(hold, 600), strict.submit(hold, 1),
        )  # fmt: skip
        with pytest.raises(tailrace.OverLimit, match="limit of time"):
            slow.result(timeout=60)
        with pytest.raises(tailrace.OverLimit, match="limit of memory"):
            large.result(timeout=60)
        assert fine.result(timeout=60) == 1 << 20


def test_a_cancelled_call_is_ended_also_while_it_runs(
    executor: tailrace.Executor, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"

    def stay(path: Path) -> None:
        path.write_text(str(os.getpid()))
        time.sleep(600)

    future = executor.submit(stay, begun)
    _wait_until(begun.exists)
    assert future.cancel()
    assert future.cancelled()
    with pytest.raises(CancelledError):
        future.result()
    pid = begun.read_text()
    _wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert executor.submit(square, 5).result(timeout=60) == 25


def test_a_long_call_keeps_no_short_one_waiting(executor: tailrace.Executor) -> None:
    """Short calls are handed to a process ahead: those behind a long one are taken back."""
    list(executor.map(square, range(2000)))
    began = time.monotonic()
    long = executor.submit(time.sleep, 20)
    short = [executor.submit(square, x) for x in range(300)]
    assert [one.result(timeout=15) for one in short] == [x * x for x in range(300)]
    assert not long.done(), time.monotonic() - began
    long.cancel()


def test_what_calls_print_is_kept_by_call(kept: Path, executor: tailrace.Executor) -> None:
    def speak(x: int) -> int:
        print(f"out {x}")
        print(f"err {x}", file=sys.stderr)
        return x

    list(executor.map(speak, range(20)))
    found = tailrace.records(folder=kept)
    assert [one["stdout"] for one in found] == [f"out {x}\n" for x in range(20)]
    assert [one["stderr"] for one in found] == [f"err {x}\n" for x in range(20)]


def test_after_shutdown_nothing_is_taken_and_nothing_is_left() -> None:
    with tailrace.Executor(1) as own:
        pid = own.submit(os.getpid).result(timeout=60)
        last = own.submit(square, 7)
    assert last.result() == 49
    with pytest.raises(RuntimeError, match="after shutdown"):
        own.submit(square, 1)
    with pytest.raises(RuntimeError, match="after shutdown"):
        own.map(square, [1])
    own.shutdown()
    assert not Path(f"/proc/{pid}").exists()


def test_shutdown_can_cancel_what_has_not_ended() -> None:
    own = tailrace.Executor(1)
    futures = [own.submit(time.sleep, 600) for _ in range(3)]
    own.shutdown(cancel_futures=True)
    assert all(one.cancelled() for one in futures)


def test_a_program_that_forgets_to_shut_down_ends_by_itself() -> None:
    code = """
    import tailrace
    def f(x): return x + 1
    executor = tailrace.Executor(1)
    future = executor.submit(f, 1)
    print(list(tailrace.map(f, range(3), workers=1)))
    future.add_done_callback(lambda one: print("done", one.result()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100
    )
    assert (done.stdout, done.returncode) == ("[1, 2, 3]\ndone 2\n", 0), done.stderr


def test_wrong_options_are_named() -> None:
    with pytest.raises(TypeError, match="'time_limits' is no rule"):
        tailrace.Executor(time_limits=3)
    with pytest.raises(BadInput, match="workers is 0"):
        tailrace.Executor(0)
    with pytest.raises(BadInput, match="memory"):
        tailrace.Executor(memory_limit="much")


def _wait_until(true: object, within: float = 20.0) -> None:
    until = time.monotonic() + within
    while not true():  # type: ignore[operator]
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)
