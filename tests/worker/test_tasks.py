"""Tasks of every kind, run by a real worker."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Worker, alive, wait_for, wait_for_pid
from .scripted_desk import Json, ScriptedDesk


def run(desk: ScriptedDesk, **order: object) -> Json:
    """One attempt of one bag; what belongs to the bag goes there."""
    of_task = {"argv", "shell", "env", "inputs", "outputs", "params"}
    attempt = 1 + max([0, *desk.results])
    content = {name: value for name, value in order.items() if name in of_task}
    terms = {name: value for name, value in order.items() if name not in of_task}
    desk.add({"attempt": attempt, **content}, **terms)
    return desk.wait_for(attempt)[0]


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_a_task_that_works(desk: ScriptedDesk, worker: Worker) -> None:
    result = run(desk, argv=["sh", "-c", "echo out; echo err >&2"])
    assert result["outcome"] == "succeeded" and result["exit"] == 0 and result["signal"] is None
    assert (result["stdout"], result["stderr"]) == ("out\n", "err\n")
    assert (result["stdout_bytes"], result["stderr_bytes"]) == (4, 4)
    assert result["run_us"] > 0 and result["memory"] > 0 and result["error"] == ""


def test_many_tasks_each_run_once_and_in_few_calls(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    desk.add(*[{"attempt": n, "shell": f"echo {n} >> {log}"} for n in range(1, 401)])
    desk.wait_for(*range(1, 401))
    assert sorted(map(int, log.read_text().split())) == list(range(1, 401))
    assert all(result["outcome"] == "succeeded" for result in desk.results.values())
    assert len(desk.calls) < 200


def test_output_that_grows_as_json_is_cut_further(desk: ScriptedDesk, worker: Worker) -> None:
    code = "head -c 8000000 /dev/zero; echo end; head -c 8000000 /dev/zero >&2"
    result = run(desk, shell=code, keep_output=8 << 20)
    assert result["outcome"] == "succeeded" and result["stdout_bytes"] == 8000004
    assert len(json.dumps(result)) <= 4 << 20
    assert result["stdout"].startswith("\0") and result["stdout"].endswith("\0end\n")
    left_out = re.findall(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n", result["stdout"])
    kept = len(result["stdout"]) - len(f"\n[... {left_out[0]} bytes left out ...]\n")
    assert kept + int(left_out[0]) == 8000004 and kept > 200_000


def test_a_value_that_grows_as_json_is_not_taken(desk: ScriptedDesk, worker: Worker) -> None:
    code = "head -c 500000 /dev/zero; echo x"
    result = run(desk, shell=code, result={"regex": "(?P<a>(?P<b>.*))x"})
    assert result["outcome"] == "task_failed" and result["value"] is None
    assert result["error"] == "the value has 6000015 bytes as JSON, at most 1048576 are taken"


def test_output_of_one_task_never_shows_in_another(desk: ScriptedDesk, worker: Worker) -> None:
    desk.add(*[{"attempt": n, "shell": f"echo {n}"} for n in range(1, 101)])
    for result in desk.wait_for(*range(1, 101)):
        assert result["stdout"] == f"{result['attempt']}\n"


@pytest.mark.parametrize("warm", [False, True], ids=["forked", "spawned"])
def test_programs_that_cannot_be_started(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path, warm: bool
) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo hello $1\n")
    lost = tmp_path / "lost"
    lost.write_text("#!/no/such/interpreter\n")
    lost.chmod(0o755)
    orders = [["no-such-program"], [str(tmp_path / "nowhere")], [str(plain)], [str(lost)], ["a\0b"]]
    before = [{"attempt": n, "argv": ["true"]} for n in range(100, 140)] if warm else []
    desk.add(*before, *[{"attempt": n, "argv": argv} for n, argv in enumerate(orders, 1)])
    unknown, nowhere, unexecutable, interpreter, nul = desk.wait_for(1, 2, 3, 4, 5)
    assert (unknown["outcome"], unknown["exit"]) == ("task_failed", 127)
    assert unknown["error"] == "no such program: no-such-program"
    assert (nowhere["outcome"], nowhere["exit"]) == ("task_failed", 127)
    assert nowhere["error"] == f"no such program: {tmp_path / 'nowhere'}"
    assert (unexecutable["outcome"], unexecutable["exit"]) == ("task_failed", 126)
    assert (interpreter["outcome"], interpreter["exit"]) == ("task_failed", 127)
    assert "interpreter" in interpreter["error"]
    assert nul["outcome"] == "task_failed" and nul["error"]


def test_a_script_without_a_first_line_runs_as_under_a_shell(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("echo hello $1\n")
    script.chmod(0o755)
    assert run(desk, argv=[str(script), "you"])["stdout"] == "hello you\n"


def test_a_task_that_fails(desk: ScriptedDesk, worker: Worker) -> None:
    result = run(desk, shell="echo no >&2; exit 7")
    assert (result["outcome"], result["exit"], result["stderr"]) == ("task_failed", 7, "no\n")


def test_a_task_that_kills_itself(desk: ScriptedDesk, worker: Worker) -> None:
    result = run(desk, shell="kill -SEGV $$")
    assert (result["outcome"], result["signal"], result["exit"]) == ("task_failed", 11, None)
    assert "SIGSEGV" in result["error"]


def test_a_hundred_megabytes_are_cut_to_head_and_tail(desk: ScriptedDesk, worker: Worker) -> None:
    code = "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last"
    result = run(desk, shell=code, keep_output=4000)
    assert result["outcome"] == "succeeded"
    assert result["stdout_bytes"] == 100_000_012
    assert result["stdout"].startswith("first\nxxx") and result["stdout"].endswith("x\nlast\n")
    assert f"[... {100_000_012 - 4000} bytes left out ...]" in result["stdout"]
    assert len(result["stdout"]) < 4100
    # Nothing of it stays, neither on disk nor in the next task's output.
    assert run(desk, shell="echo next")["stdout"] == "next\n"
    assert sum(file.stat().st_size for file in (worker.folder / "ring").iterdir()) == 0


def test_endless_output_ends_with_the_time_limit_and_fills_no_disk(
    desk: ScriptedDesk, worker: Worker
) -> None:
    free = os.statvfs(worker.folder.parent)
    result = run(desk, argv=["yes"], limits={"time_us": 1_500_000}, grace_s=0)
    assert (result["outcome"], result["limit"]) == ("over_limit", "time")
    assert result["stdout_bytes"] > 64 << 20
    assert result["stdout"].startswith("y\ny\n") and result["stdout"].endswith("y\n")
    now = os.statvfs(worker.folder.parent)
    assert (free.f_bavail - now.f_bavail) * free.f_frsize < 1 << 30


def test_bytes_that_are_no_text_are_replaced(desk: ScriptedDesk, worker: Worker) -> None:
    assert run(desk, shell="printf 'a\\377b'")["stdout"] == "a\ufffdb"


@pytest.mark.parametrize("how", ["sleep 600 &", "setsid sleep 600 &", "env -i setsid sleep 600 &"])
def test_children_left_behind_are_killed(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path, how: str
) -> None:
    file = tmp_path / "pid"
    result = run(desk, shell=f"{how} echo $! > {file}; exit 0")
    assert result["outcome"] == "succeeded"
    child = wait_for_pid(file)
    wait_for(lambda: not alive(child), within=3)


def test_a_daemon_of_a_running_task_lives_until_the_task_ends(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    file, go_on = tmp_path / "pid", tmp_path / "go_on"
    daemon = f"(setsid sh -c 'echo $$ > {file}; exec sleep 600' &)"
    desk.add({"attempt": 1, "shell": f"{daemon}; while [ ! -e {go_on} ]; do sleep 0.05; done"})
    child = wait_for_pid(file)
    desk.add({"attempt": 2, "shell": "true"}, {"attempt": 3, "shell": "setsid true"})
    desk.wait_for(2, 3)
    assert alive(child)
    go_on.touch()
    assert desk.wait_for(1)[0]["outcome"] == "succeeded"
    wait_for(lambda: not alive(child), within=3)


def test_a_task_over_its_time_gets_term_first(desk: ScriptedDesk, worker: Worker) -> None:
    code = "trap 'echo bye; exit 3' TERM; while :; do sleep 0.05; done"
    result = run(desk, shell=code, limits={"time_us": 300_000}, grace_s=10)
    assert (result["outcome"], result["limit"], result["exit"]) == ("over_limit", "time", 3)
    assert result["stdout"] == "bye\n"


def test_a_task_that_ignores_term_is_killed(desk: ScriptedDesk, worker: Worker) -> None:
    code = "trap '' TERM; while :; do sleep 0.05; done"
    result = run(desk, shell=code, limits={"time_us": 200_000}, grace_s=0.3)
    assert (result["outcome"], result["limit"], result["signal"]) == ("over_limit", "time", 9)


def test_a_task_over_its_memory_is_killed(desk: ScriptedDesk, worker: Worker) -> None:
    code = "import time; x = bytearray(200 << 20); time.sleep(60)"
    result = run(desk, argv=["sh", "-c", f'{sys.executable} -S -c "{code}"; true'],
                 limits={"memory": 100 << 20})  # fmt: skip
    assert (result["outcome"], result["limit"]) == ("over_limit", "memory")
    assert result["memory"] > 100 << 20
    assert re.match(r"used \d{3}\.\d MiB of memory, its limit is 100.0 MiB; ", result["error"])


def test_memory_that_processes_share_counts_once(desk: ScriptedDesk, worker: Worker) -> None:
    code = """
import os, time
x = b"x" * (60 << 20)
for _ in range(4):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
for _ in range(4):
    os.wait()
"""
    result = run(desk, argv=python(code), limits={"memory": 150 << 20})
    assert result["outcome"] == "succeeded"


@pytest.mark.parametrize("staged", [False, True], ids=["here", "staged"])
def test_a_task_over_its_disk_is_killed(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path, staged: bool
) -> None:
    code = "dd if=/dev/zero of=big bs=1M count=40 2>/dev/null; sync; sleep 60"
    files = {"files": "staged", "scratch": str(tmp_path / "scratch")} if staged else {}
    result = run(desk, shell=code, folder=str(tmp_path), limits={"disk": 20 << 20}, **files)
    assert (result["outcome"], result["limit"]) == ("over_limit", "disk")


WRITE = "f = open('big{}', 'wb'); f.write(bytes({} << 20)); f.flush(); import time; time.sleep(1.2)"


def test_what_a_child_has_written_counts_once(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    """It is looked at before it ends, and its parent afterwards."""
    code = f'{sys.executable} -S -c "{WRITE.format(1, 15)}"; sleep 1.2; echo fine'
    result = run(desk, shell=code, folder=str(tmp_path), limits={"disk": 18 << 20})
    assert (result["outcome"], result["stdout"]) == ("succeeded", "fine\n")


def test_what_children_have_written_counts_together(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    write = f'{sys.executable} -S -c "{WRITE}"; '
    code = write.format(1, 12) + write.format(2, 12) + "sleep 600"
    result = run(desk, shell=code, folder=str(tmp_path), limits={"disk": 18 << 20})
    assert (result["outcome"], result["limit"]) == ("over_limit", "disk")
    told = r"used \d+\.\d MiB of disk, its limit is 18.0 MiB; raise `limits.disk`, or how far .*"
    assert re.fullmatch(told, result["error"]), result["error"]


def test_a_missing_folder_is_the_hosts_failure(desk: ScriptedDesk, worker: Worker) -> None:
    result = run(desk, argv=["true"], folder="/no/such/folder")
    assert result["outcome"] == "host_failed" and "/no/such/folder" in result["error"]


def test_an_order_without_sense_ends_one_attempt_only(desk: ScriptedDesk, worker: Worker) -> None:
    desk.add({"attempt": 100, "argv": ["sleep", "600"]})
    assert run(desk, argv=["true"], files="staged", scratch=None)["outcome"] == "host_failed"
    assert run(desk, argv=["true"], env={"A": 5})["outcome"] != "succeeded"
    assert run(desk, argv=["true"])["outcome"] == "succeeded"
    assert 100 in desk.believed


def test_tasks_run_in_the_folder_of_their_bag(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    assert run(desk, argv=["pwd"], folder=str(tmp_path))["stdout"] == f"{tmp_path}\n"
    assert run(desk, argv=["pwd"], folder="/")["stdout"] == "/\n"


def test_the_environment(desk: ScriptedDesk, worker: Worker) -> None:
    result = run(desk, argv=["env"], env={"B": "task", "OMP_NUM_THREADS": "7"},
                 needs={"cores": 2000}, keep_output=100_000)  # fmt: skip
    seen = dict(line.split("=", 1) for line in result["stdout"].splitlines() if "=" in line)
    assert seen["B"] == "task" and seen["PATH"] == os.environ["PATH"]
    assert seen["OMP_NUM_THREADS"] == "7" and seen["MKL_NUM_THREADS"] == "2"
    assert seen["TAILRACE_ATTEMPT"] == seen["TAILRACE_TASK"] == str(result["attempt"])
    assert "TAILRACE_TOKEN" not in seen and "secret" not in result["stdout"]
    assert "CUDA_VISIBLE_DEVICES" not in seen


def test_the_bags_environment_is_below_the_tasks(desk: ScriptedDesk, worker: Worker) -> None:
    desk.add({"attempt": 1, "shell": "echo $A $B", "env": {"B": "task"}},
             env={"A": "bag", "B": "bag"})  # fmt: skip
    assert desk.wait_for(1)[0]["stdout"] == "bag task\n"


def test_gpus_are_handed_out(desk: ScriptedDesk, start: object) -> None:
    start("--gpus", "2")  # type: ignore[operator]
    shell = "echo $CUDA_VISIBLE_DEVICES; sleep 0.3"
    desk.add(*[{"attempt": n, "shell": shell} for n in (1, 2)],
             needs={"cores": 1000, "gpus": 1000})  # fmt: skip
    seen = sorted(result["stdout"] for result in desk.wait_for(1, 2))
    assert seen == ["0\n", "1\n"]


def test_stdin_is_empty_and_signals_are_default(
    desk: ScriptedDesk, start: Callable[..., Worker]
) -> None:
    """Also below a shell that ignores some, as a script does for what it starts with `&`."""
    ignoring = "trap '' INT QUIT USR1; exec \"$@\""
    start(command=["sh", "-c", ignoring, "sh", sys.executable, "-m", "tailrace.worker"])
    assert run(desk, argv=["cat"])["outcome"] == "succeeded"
    ignored = "grep SigIgn /proc/self/status"
    found = int(run(desk, argv=["sh", "-c", ignored])["stdout"].split()[1], 16)
    assert found & 0x7FFFFFFF == 0  # 32 and 33 are the C library's own, and left as they are found
    assert run(desk, shell="yes | head -1")["stdout"] == "y\n"


@pytest.mark.parametrize("warm", [False, True], ids=["forked", "spawned"])
def test_tasks_inherit_no_other_files(desk: ScriptedDesk, worker: Worker, warm: bool) -> None:
    before = [{"attempt": n, "argv": ["true"]} for n in range(100, 140)] if warm else []
    desk.add(*before, {"attempt": 1, "argv": ["ls", "/proc/self/fd"]})
    assert desk.wait_for(1)[0]["stdout"].split() == ["0", "1", "2", "3"]  # the last is its own


def test_a_task_that_needs_more_than_the_host_has(desk: ScriptedDesk, worker: Worker) -> None:
    result = run(desk, argv=["true"], needs={"cores": 64_000})
    assert result["outcome"] == "host_failed" and "64000" in result["error"]


def test_never_more_at_once_than_fit(desk: ScriptedDesk, worker: Worker, tmp_path: Path) -> None:
    shell = f"echo + >> {tmp_path}/log; sleep 0.02; echo - >> {tmp_path}/log"
    desk.add(*[{"attempt": n, "shell": shell} for n in range(1, 61)])
    desk.wait_for(*range(1, 61))
    running = most = 0
    for mark in (tmp_path / "log").read_text().split():
        running += 1 if mark == "+" else -1
        most = max(most, running)
    assert most == 2


def test_dropping_a_running_and_a_queued_attempt(desk: ScriptedDesk, worker: Worker) -> None:
    desk.add(*[{"attempt": n, "argv": ["sleep", "600"]} for n in (1, 2, 3)])
    desk.wait_until(lambda: set(desk.calls[-1]["held"]) == {1, 2, 3} if desk.calls else False)
    desk.drop(3)
    desk.drop(1)
    assert desk.wait_for(1)[0]["outcome"] == "cancelled"
    desk.wait_until(lambda: desk.calls[-1]["held"] == [2])
    assert 3 not in desk.results
