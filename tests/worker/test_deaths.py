"""Workers that are killed, or told to end: no task outlives them, no result is lost."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tailrace.worker import begun

from .conftest import Worker, alive, wait_for, wait_for_pid
from .scripted_desk import ScriptedDesk

Start = Callable[..., Worker]


def family(desk: ScriptedDesk, folder: Path) -> list[int]:
    """Starts a task with a child in its group, a child of its own session, and a lost grandchild;
    their process ids."""
    files = [folder / name for name in ("main", "child", "session", "lost")]
    main, child, session, lost = files
    stay = "exec sleep 600"
    shell = (
        f"echo $$ > {main}; sh -c 'echo $$ > {child}; {stay}' & "
        f"setsid sh -c 'echo $$ > {session}; {stay}' & "
        f"(env -i setsid sh -c 'echo $$ > {lost}; {stay}' &) ; wait"
    )
    desk.add({"attempt": 1, "shell": shell})
    return [wait_for_pid(file) for file in files]


def wait_until_noted(worker: Worker, attempt: int) -> None:
    """A task may be under way a moment before its keeper has noted that it began."""
    wait_for(lambda: attempt in begun.read(str(worker.folder / "begun")))


def test_all_processes_of_a_task_die_with_the_client(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    pids = family(desk, tmp_path)
    keeper = worker.keeper()
    worker.kill()
    wait_for(lambda: not any(map(alive, pids)), within=2)
    wait_for(lambda: not alive(keeper), within=2)


def test_all_processes_of_a_task_die_with_the_keeper_and_the_client_goes_on(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path
) -> None:
    pids = family(desk, tmp_path)
    wait_until_noted(worker, 1)
    os.kill(worker.keeper(), signal.SIGKILL)
    wait_for(lambda: not any(map(alive, pids)), within=2)
    result = desk.wait_for(1)[0]
    assert result["outcome"] == "host_failed" and "keeper" in result["error"]
    desk.add({"attempt": 2, "argv": ["echo", "again"]})
    assert desk.wait_for(2)[0]["stdout"] == "again\n"


def test_what_a_dead_keeper_had_not_begun_is_handed_back(
    desk: ScriptedDesk, start: Start, tmp_path: Path
) -> None:
    worker = start()
    desk.add({"attempt": 1, "argv": ["sleep", "600"]})
    wait_until_noted(worker, 1)
    os.kill(worker.keeper(), signal.SIGSTOP)
    desk.add({"attempt": 2, "shell": f"touch {tmp_path}/never"})
    desk.wait_until(lambda: 2 in desk.calls[-1]["held"])
    os.kill(worker.keeper(), signal.SIGKILL)
    first, second = desk.wait_for(1, 2)
    assert (first["outcome"], second["outcome"]) == ("host_failed", "cancelled")
    assert second["run_us"] == 0 and "not started" in second["error"]
    desk.add({"attempt": 3, "argv": ["true"]})
    assert desk.wait_for(3)[0]["outcome"] == "succeeded"
    assert not (tmp_path / "never").exists()


def kill_at_once(pids: Sequence[int]) -> None:
    """Stopped first, so that none can notice the death of another."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)


@pytest.mark.parametrize(
    "killed", [("client", "keeper"), ("client", "guard"), ("guard", "keeper"), ("guard",)]
)
def test_who_is_left_of_client_guard_and_keeper_ends_all_processes_of_a_task(
    desk: ScriptedDesk, worker: Worker, tmp_path: Path, killed: tuple[str, ...]
) -> None:
    pids = family(desk, tmp_path)
    wait_until_noted(worker, 1)
    three = {"client": worker.process.pid, "guard": worker.guard(), "keeper": worker.keeper()}
    kill_at_once([three[name] for name in killed])
    wait_for(lambda: not any(map(alive, pids)), within=60)
    wait_for(lambda: not alive(three["guard"]) and not alive(three["keeper"]), within=60)
    if "client" not in killed:  # it goes on with a new pair
        assert desk.wait_for(1)[0]["outcome"] == "host_failed"
        desk.add({"attempt": 2, "argv": ["echo", "again"]})
        assert desk.wait_for(2)[0]["stdout"] == "again\n"


def test_the_guard_is_not_found_by_the_name_or_the_group_of_the_others(
    desk: ScriptedDesk, worker: Worker
) -> None:
    desk.add({"attempt": 1, "argv": ["true"]})
    desk.wait_for(1)
    guard, keeper = worker.guard(), worker.keeper()
    assert Path(f"/proc/{guard}/cmdline").read_bytes().rstrip(b"\0") == b"task-guard"
    assert Path(f"/proc/{guard}/comm").read_text() == "task-guard\n"
    assert "tailrace.worker.keeper" in Path(f"/proc/{keeper}/cmdline").read_text()
    assert len({os.getpgid(pid) for pid in (worker.process.pid, guard, keeper)}) == 3


def test_the_first_process_of_a_task_dies_when_all_three_are_killed_at_once(
    desk: ScriptedDesk, start: Start, tmp_path: Path
) -> None:
    worker = start()
    pids = family(desk, tmp_path)
    kill_at_once([worker.process.pid, worker.guard(), worker.keeper()])
    worker.process.wait(60)
    wait_for(lambda: not alive(pids[0]), within=60)
    # What the kernel cannot reach, the next worker in the folder ends, if it can be recognised.
    start()
    wait_for(lambda: not any(map(alive, pids[:3])), within=60)
    if alive(pids[3]):
        os.kill(pids[3], signal.SIGKILL)


def test_a_second_worker_waits_until_the_first_and_its_keeper_are_gone(
    desk: ScriptedDesk, start: Start, tmp_path: Path
) -> None:
    first = start()
    desk.add({"attempt": 1, "argv": ["sleep", "600"]})
    desk.wait_until(lambda: 1 in desk.believed)
    first.keeper()
    second = start()
    first.kill()
    desk.wait_until(lambda: desk.calls[-1]["session"] == 2, within=60)  # else the dead may get it
    desk.add({"attempt": 2, "argv": ["true"]})
    desk.wait_for(2)
    assert desk.calls[-1]["session"] == 2
    assert second.process.poll() is None


def test_a_busy_folder_is_an_error_after_a_while(tmp_path: Path) -> None:
    from tailrace.worker.folder import Folder, FolderBusy

    first = Folder(str(tmp_path))
    with pytest.raises(FolderBusy, match="another worker runs in"):
        Folder(str(tmp_path), patience_s=0.1)
    os.close(first.lock_fd)
    again = Folder(str(tmp_path), patience_s=0.1)
    assert again.host() == first.host()
    assert (again.next_session(), again.next_session()) == (1, 2)


def test_sigterm_preempts_reports_and_exits_cleanly(desk: ScriptedDesk, worker: Worker) -> None:
    desk.add(*[{"attempt": n, "argv": ["sleep", "600"]} for n in (1, 2, 3)])
    desk.wait_until(lambda: bool(desk.calls) and set(desk.calls[-1]["held"]) == {1, 2, 3})
    wait_until_noted(worker, 1)
    wait_until_noted(worker, 2)
    assert worker.end() == 0
    results = desk.wait_for(1, 2, 3)
    assert [result["outcome"] for result in results] == ["preempted", "preempted", "cancelled"]
    assert results[0]["signal"] == 15 and "not started" in results[2]["error"]
    assert "ended: SIGTERM" in worker.said


def test_sigterm_without_a_server_keeps_results_for_the_next_session(
    desk: ScriptedDesk, start: Start, tmp_path: Path
) -> None:
    worker, ready = start(), tmp_path / "ready"
    task = f"trap 'echo saved; exit 4' TERM; : > {ready}; while :; do sleep .05; done"
    desk.add({"attempt": 1, "shell": task}, grace_s=30)
    desk.wait_until(lambda: bool(desk.calls) and desk.calls[-1]["held"] == [1])
    wait_for(ready.exists)
    desk.down()
    assert worker.end() == 0
    desk.up()
    start()
    result = desk.wait_for(1)[0]
    assert (result["outcome"], result["stdout"], result["exit"]) == ("preempted", "saved\n", 4)
    assert desk.arrived_after_ack == []


def test_a_worker_told_to_stop_ends(desk: ScriptedDesk, worker: Worker) -> None:
    desk.add({"attempt": 1, "argv": ["sleep", "600"]})
    desk.wait_until(lambda: bool(desk.calls) and desk.calls[-1]["held"] == [1])
    wait_until_noted(worker, 1)
    desk.tell_to_stop("not needed any more")
    assert desk.wait_for(1)[0]["outcome"] == "preempted"
    assert worker.process.wait(10) == 0
    assert "not needed any more" in worker.said


def test_a_tied_worker_ends_with_its_run(desk: ScriptedDesk, start: Start, tmp_path: Path) -> None:
    read, write = os.pipe()
    worker = start("--tied", str(read), pass_fds=[read])
    os.close(read)
    pids = family(desk, tmp_path)
    worker.process.send_signal(signal.SIGINT)  # not its business: the run decides
    worker.process.send_signal(signal.SIGHUP)
    os.close(write)
    assert worker.process.wait(10) == 0
    assert not any(map(alive, pids))


def test_an_idle_worker_ends_itself(desk: ScriptedDesk, start: Start) -> None:
    worker = start("--idle-exit", "0.5")
    desk.add({"attempt": 1, "argv": ["sleep", "1"]})
    assert worker.process.wait(20) == 0
    assert desk.results[1]["outcome"] == "succeeded"
    assert "ended: idle" in worker.said


def test_at_its_end_of_life_a_worker_preempts_and_reports(desk: ScriptedDesk, start: Start) -> None:
    worker = start("--lifetime", "3")
    desk.add({"attempt": 1, "argv": ["sleep", "600"]}, grace_s=0.1)
    assert worker.process.wait(20) == 0
    assert desk.results[1]["outcome"] == "preempted"
    assert "end of life" in worker.said


def test_a_worker_whose_tasks_hang_ends_itself_if_asked(desk: ScriptedDesk, start: Start) -> None:
    worker = start("--idle-cpu", "1")
    desk.add({"attempt": 1, "argv": [sys.executable, "-c", "while True: pass"]},
             limits={"time_us": 2_000_000}, grace_s=0)  # fmt: skip
    assert desk.wait_for(1)[0]["outcome"] == "over_limit"
    assert worker.process.poll() is None
    desk.add({"attempt": 2, "argv": ["sleep", "600"]})
    assert worker.process.wait(20) == 0
    assert "next to no CPU" in worker.said and desk.results[2]["outcome"] == "preempted"


def test_a_wrong_token_ends_the_worker_with_a_clear_text(desk: ScriptedDesk, start: Start) -> None:
    worker = start(env={"TAILRACE_TOKEN": "wrong"})
    assert worker.process.wait(10) == 2
    assert "token" in worker.said


def test_the_token_can_come_from_a_file_only_its_owner_can_read(
    desk: ScriptedDesk, start: Start, tmp_path: Path
) -> None:
    join = tmp_path / "join"
    join.write_text("secret\n")
    join.chmod(0o644)
    refused = start("--join", str(join))
    assert refused.process.wait(10) == 1 and "chmod 600" in refused.said
    join.chmod(0o600)
    start("--join", str(join), env={"TAILRACE_TOKEN": ""})
    desk.add({"attempt": 1, "argv": ["true"]})
    desk.wait_for(1)
