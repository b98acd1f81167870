"""Calls in warm runners, seen from the desk: who makes them, who dies, what a host lacks."""

from __future__ import annotations

import base64
import os
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle

from tailrace.python.pickling import cloudpickle_zip

from .conftest import Worker, alive, wait_for, wait_for_pid
from .scripted_desk import Json, ScriptedDesk

HERE = "{}.{}".format(*sys.version_info)


def function(call: Callable[..., Any], **changed: Any) -> Json:
    """As the terms of a bag have it."""
    return {
        "name": "call", "python": HERE, "interpreter": sys.executable, "path": [], "runners": "",
        "pickled": _text(cloudpickle.dumps(call)), "cloudpickle": _text(cloudpickle_zip()),
        **changed,
    }  # fmt: skip


def order(attempt: int, *arguments: Any) -> Json:
    return {"attempt": attempt, "index": attempt, "item": _text(pickle.dumps(arguments))}


def value(result: Json) -> Any:
    assert result["outcome"] == "succeeded", result.get("error")
    return pickle.loads(base64.b64decode(result["pickled"]))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_zipped_worker_of_another_python_makes_calls_with_the_right_one(
    desk: ScriptedDesk, zipped_worker: Worker
) -> None:
    desk.add(*[order(n, n) for n in range(1, 400)], function=function(lambda x: (x, os.getpid())))
    values = [value(result) for result in desk.wait_for(*range(1, 400), within=60)]
    assert [x for x, _ in values] == list(range(1, 400))
    assert len({pid for _, pid in values}) == 2  # warm: one process for each slot


def test_a_call_tells_how_far_it_is(desk: ScriptedDesk, worker: Worker, tmp_path: Path) -> None:
    go = tmp_path / "go"

    def call(share: str) -> str:
        Path(os.environ["TAILRACE_PROGRESS"]).write_text(share)
        while not go.exists():
            time.sleep(0.05)
        return share

    desk.add(order(1, "1/4"), order(2, "3/4"), function=function(call))
    desk.wait_until(lambda: len(_told(desk)) == 2)
    assert _told(desk) == {1: 0.25, 2: 0.75}
    go.touch()
    assert [value(result) for result in desk.wait_for(1, 2)] == ["1/4", "3/4"]


def _told(desk: ScriptedDesk) -> dict[int, float]:
    return {one["attempt"]: one["done"] for call in desk.calls for one in call["progress"]}


def test_a_python_of_another_version_is_the_hosts_lack_not_the_tasks(
    desk: ScriptedDesk, worker: Worker
) -> None:
    desk.add({**order(1, 1), "bag": 1}, function=function(abs, python="3.1"))
    desk.add(
        {**order(2, 1), "bag": 2}, function=function(abs, interpreter="/no/python", python="2.9")
    )
    wrong, missing = desk.wait_for(1, 2)
    assert (wrong["outcome"], missing["outcome"]) == ("host_failed", "host_failed")
    assert wrong["error"] == f"{sys.executable} is Python {HERE}, the bag needs 3.1"
    assert "neither /no/python nor python2.9" in missing["error"]


def test_a_python_with_another_cloudpickle_uses_the_one_of_the_bag(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    (tmp_path / "cloudpickle").mkdir()
    (tmp_path / "cloudpickle" / "__init__.py").write_text("raise ImportError('of long ago')\n")

    def made(x: int) -> Any:
        return lambda: x + 1

    desk.add(order(1, 41), function=function(made, path=[str(tmp_path)]))
    assert value(desk.wait_for(1)[0])() == 42


def test_calls_die_with_their_worker(
    desk: ScriptedDesk, start: Callable[..., Worker], tmp_path: Path
) -> None:
    def stay(path: str) -> None:
        with open(path, "w") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(600)

    worker = start()
    files = [tmp_path / "a", tmp_path / "b"]
    desk.add(*[order(n, str(file)) for n, file in enumerate(files, 1)], function=function(stay))
    pids = [wait_for_pid(file) for file in files]
    worker.kill()
    wait_for(lambda: not any(map(alive, pids)), within=5)


def test_a_dropped_call_is_ended_and_those_behind_it_are_made(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    def call(x: int) -> int:
        if x == 0:
            with open(tmp_path / "begun", "w") as file:
                file.write(f"{os.getpid()}\n")
            time.sleep(600)
        return x

    desk.add(order(1, 0), *[order(n, n) for n in range(2, 60)], function=function(call))
    pid = wait_for_pid(tmp_path / "begun")
    desk.drop(1)
    assert desk.wait_for(1)[0]["outcome"] == "cancelled"
    assert [value(one) for one in desk.wait_for(*range(2, 60))] == list(range(2, 60))
    wait_for(lambda: not alive(pid))


def test_no_call_is_made_twice_when_runners_die(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    """Every fifth kills its runner, with others handed over behind it."""

    def call(x: int) -> int:
        fd = os.open(tmp_path / "made", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, f"{x}\n".encode())
        os.close(fd)
        if x % 20 == 0:
            os.kill(os.getpid(), 9)
        return x

    numbers = list(range(1, 201))
    desk.add(*[order(n, n) for n in numbers], function=function(call))
    results = desk.wait_for(*numbers, within=60)
    failed = [one["attempt"] for one in results if one["outcome"] == "task_failed"]
    assert failed == [n for n in numbers if n % 20 == 0]
    assert all(one["signal"] == 9 for one in results if one["attempt"] in failed)
    made = sorted(map(int, (tmp_path / "made").read_text().split()))
    assert made == numbers


def test_what_a_call_prints_ends_with_it_also_when_it_dies(
    desk: ScriptedDesk, worker: Worker
) -> None:
    def speak(x: int) -> None:
        print("x" * x)
        if x == 7:
            sys.stdout.flush()
            os._exit(7)

    desk.add(*[order(n, n) for n in range(1, 10)], function=function(speak))
    results = desk.wait_for(*range(1, 10))
    assert [one.get("stdout") for one in results] == ["x" * n + "\n" for n in range(1, 10)]
    assert (results[6]["exit"], results[6]["outcome"]) == (7, "task_failed")
    assert "ended with exit 7 before the call returned" in results[6]["error"]
