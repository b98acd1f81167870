"""Why a program could not be started, and whose fault that is."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from tailrace.worker import spawn
from tailrace.worker.ring import Ring
from tailrace.worker.surroundings import Gpus

from .conftest import Worker
from .scripted_desk import ScriptedDesk


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
def test_a_host_that_cannot_fork_is_to_blame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def no_fork() -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fork", no_fork)
    program = spawn.Program("/bin/true", ["true"], {}, "", None)
    with pytest.raises(spawn.CannotStart) as caught:
        spawn.fork(program, Ring(str(tmp_path)).take(), os.getpid())
    assert caught.value.outcome == "host_failed"
    assert os.strerror(number) in caught.value.text


def test_where_posix_spawn_cannot_make_a_session_it_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without(*_args: object, setsid: bool = False, **_more: object) -> int:
        raise NotImplementedError("setsid unavailable") if setsid else OSError(errno.ENOENT, "")

    spawn.can_spawn.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(os, "posix_spawn", without)
        assert not spawn.can_spawn()
    spawn.can_spawn.cache_clear()
    assert spawn.can_spawn()


ITS_DEATH_SIGNAL = """import ctypes
number = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(number))
print(number.value)
"""


def test_the_guess_that_tasks_are_short_ends_with_the_first_long_one(
    desk: ScriptedDesk, worker: Worker
) -> None:
    """While it runs, not when it has ended: others start beside it."""
    short = [{"attempt": n, "argv": ["true"]} for n in range(1, 41)]
    says = {"argv": [sys.executable, "-S", "-c", ITS_DEATH_SIGNAL]}
    beside = [{"attempt": n, "argv": ["sleep", "0.05"]} for n in range(43, 48)]
    long = {"attempt": 42, "argv": ["sleep", "20"]}
    desk.add(*short, long, *beside, {"attempt": 48, **says})
    assert desk.wait_for(48)[0]["stdout"] == "9\n" and 42 not in desk.results


@pytest.mark.parametrize(
    ("number", "outcome", "code"),
    [
        (errno.ENOENT, "task_failed", 127),
        (errno.EACCES, "task_failed", 126),
        (errno.E2BIG, "task_failed", 126),
        (errno.ENOMEM, "host_failed", None),
        (errno.EIO, "host_failed", None),
    ],
)
def test_errors_of_exec(number: int, outcome: str, code: int | None) -> None:
    error = spawn.refusal(number, os.strerror(number), "/no/such/program")
    assert (error.outcome, error.exit_code) == (outcome, code)


def test_a_program_is_found_as_a_shell_finds_it(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for folder, mode in ((first, 0o644), (second, 0o755)):
        folder.mkdir()
        (folder / "tool").write_text("")
        (folder / "tool").chmod(mode)
    assert spawn.find("tool", f"{first}:{second}") == str(second / "tool")
    (second / "tool").unlink()
    assert spawn.find("tool", f"{first}:{second}") == str(first / "tool")
    assert spawn.find("./tool", "") == "./tool"


def test_gpus_are_shared_only_by_fractions() -> None:
    gpus = Gpus(3000, visible="4,6,7")
    assert gpus.take(500) == ["4"]
    assert gpus.take(500) == ["4"]
    assert gpus.take(2000) == ["6", "7"]
    gpus.give_back(["4"], 500)
    assert gpus.take(300) == ["4"]
