"""The server goes away and comes back; the worker dies in between; the spool is damaged."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.worker.spool import Spool

from .conftest import Worker, wait_for
from .scripted_desk import Json, ScriptedDesk


def test_tasks_go_on_while_the_server_is_gone_and_results_arrive_once(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    shell = f"echo x >> {tmp_path}/log; sleep 0.05"
    desk.add(*[{"attempt": n, "shell": shell} for n in range(1, 41)])
    desk.wait_for(2)
    desk.down()
    wait_for(lambda: (tmp_path / "log").read_text().count("x") == 40)
    desk.up()
    desk.wait_for(*range(1, 41))
    assert (tmp_path / "log").read_text().count("x") == 40
    assert desk.arrived_after_ack == []
    assert "no answer from the server" in worker.said
    wait_for(lambda: "answers again" in worker.said)


def test_a_server_that_cannot_commit_is_asked_again(desk: ScriptedDesk, worker: Worker) -> None:
    desk.fail_with = 503
    desk.add({"attempt": 1, "argv": ["true"]})
    wait_for(lambda: "status 503" in worker.said)
    desk.fail_with = None
    desk.wait_for(1)


def test_results_of_a_killed_worker_are_reported_by_the_next(
    desk: ScriptedDesk, start: Callable[..., Worker], tmp_path: Path
) -> None:
    worker = start()
    shell = f"sleep 0.3; echo x >> {tmp_path}/log"
    desk.add(*[{"attempt": n, "shell": shell} for n in (1, 2)])
    desk.wait_until(lambda: len(desk.believed) == 2)
    desk.down()
    spool = worker.folder / "spool"
    wait_for(lambda: spool.exists() and spool.read_bytes().count(b"\n") == 2)
    worker.kill()
    with open(spool, "ab") as file:
        file.write(b'{"attempt": 3, "outc')  # torn
    desk.up()
    start()
    assert [result["outcome"] for result in desk.wait_for(1, 2)] == ["succeeded"] * 2
    assert desk.arrived_after_ack == []
    assert (tmp_path / "log").read_text() == "x\nx\n"
    wait_for(lambda: spool.read_bytes() == b"")


def line(attempt: int, **more: object) -> bytes:
    return json.dumps({"attempt": attempt, "outcome": "succeeded", **more}).encode()


def loaded(path: Path) -> list[Json]:
    copy = path.with_name("copy")  # opening a spool tidies it
    copy.write_bytes(path.read_bytes())
    return Spool(str(copy), lambda _text: None).results


def test_a_spool_keeps_what_is_not_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    spool = Spool(str(path), pytest.fail)
    spool.keep({1: line(1), 2: line(2)})
    spool.forget([1])
    spool.keep({3: line(3)})
    assert [result["attempt"] for result in loaded(path)] == [2, 3]
    spool.forget([2, 3])
    assert path.read_bytes() == b""


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_torn_last_line_costs_only_itself(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "spool"
    Spool(str(path), pytest.fail).keep({1: line(1), 2: line(2)})
    path.write_bytes(path.read_bytes()[: -1 - cut])
    spool = Spool(str(path), pytest.fail)
    assert [result["attempt"] for result in spool.results] == [1]
    spool.keep({4: line(4)})
    assert [result["attempt"] for result in loaded(path)] == [1, 4]


def test_a_spool_of_acknowledged_results_does_not_grow(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    spool = Spool(str(path), pytest.fail)
    spool.keep({0: line(0)})
    for attempt in range(1, 100):
        spool.keep({attempt: line(attempt, stdout="x" * 100_000)})
        spool.forget([attempt])
    assert path.stat().st_size < 2 << 20
    assert [result["attempt"] for result in loaded(path)] == [0]


def test_a_full_disk_is_said_and_survived(tmp_path: Path) -> None:
    said: list[str] = []
    path = tmp_path / "spool"
    spool = Spool(str(path), said.append)
    spool._fd = os.open("/dev/full", 1)
    spool.keep({1: line(1)})
    assert spool.lines == {1: line(1)} and "No space left" in said[0]


def test_a_rewrite_that_fails_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    spool = Spool(str(tmp_path / "spool"), said.append)
    spool.keep({1: line(1)})

    def full(_fd: int, _data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        spool._rewrite()
    assert len(os.listdir("/proc/self/fd")) == before and "No space left" in said[0]
    spool.keep({2: line(2)})
    assert [result["attempt"] for result in loaded(tmp_path / "spool")] == [1, 2]


def test_a_spool_that_cannot_be_emptied_still_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    spool = Spool(str(tmp_path / "spool"), said.append)
    spool.keep({1: line(1)})

    def broken(_fd: int, _size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", broken)
    spool.forget([1])
    assert "Input/output error" in said[0]
    assert loaded(tmp_path / "spool") == []


def test_a_token_that_expires_costs_no_task(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    command = f"touch {began}; until [ -e {go} ]; do sleep 0.05; done; echo done"
    desk.add({"attempt": 1, "shell": command})
    wait_for(began.exists, within=60)
    desk.token, known = "another", desk.token
    go.touch()
    wait_for(lambda: "401" in worker.said, within=60)
    desk.token = known
    assert desk.wait_for(1, within=60)[0]["outcome"] == "succeeded"
    assert worker.process.poll() is None
