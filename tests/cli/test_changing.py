"""Retry, cancel and watch, with a server and without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Live, ask, clean_environment, interrupt_half_way, tailrace


def test_retry_without_a_server_reopens_and_resume_runs(copied: Path) -> None:
    paid = ask(copied, "results", "--json").json[0]["cost"]
    told = ask(copied, "retry", "--match", "seed 0.2")
    assert told.code == 0 and "1 task of bag 1 will be tried again" in told.out
    assert "tailrace resume 1" in told.out
    bag = ask(copied, "status", "--json").json["bags"][0]
    assert (bag["failed"], bag["left"], bag["state"]) == (1, 1, "interrupted")
    assert tailrace(copied, "resume", "--quiet", "--price", "0").code == 1
    rows = ask(copied, "results", "--json").json
    assert rows[0]["cost"] == paid, "a run at another price leaves earlier bills as they were"
    assert rows[4]["attempts"] == 4 and rows[1]["attempts"] == 2
    assert ask(copied, "replay").out.endswith("identical.\n")


def test_retry_of_named_tasks_only(copied: Path) -> None:
    assert "1 task" in ask(copied, "retry", "1", "alpha=0.1,seed=2").out
    told = ask(copied, "retry", "1", "0")
    assert told.code == 2 and "task 0 of bag 1 has not failed" in told.err


def test_a_number_that_is_a_bag_and_a_failed_task_is_told_as_both(tmp_path: Path) -> None:
    for _ in range(2):
        tailrace(tmp_path, "run", "--quiet", "--", "exit {}", ":::", "1", "1")
    told = ask(tmp_path, "retry", "1").out
    assert "2 tasks of bag 1 will be tried again" in told
    assert "(task 1: `tailrace retry 2/1`)" in told
    assert "(task" not in ask(tmp_path, "retry", "2/1").out


def test_retry_that_matches_nothing_says_what_there_is(copied: Path) -> None:
    told = ask(copied, "retry", "--match", "disk full")
    assert told.code == 2
    assert "none of the 2 failed tasks says 'disk full'" in told.err and "luck" in told.err


def test_cancel_asks_or_is_told(halfway: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(halfway, tmp_path / "copy")
    told = ask(tmp_path / "copy", "cancel")
    assert told.code == 2 and "--yes" in told.err
    assert "is cancelled" in ask(tmp_path / "copy", "cancel", "--yes").out
    assert ask(tmp_path / "copy", "status", "--json").json["bags"][0]["phase"] == "cancelled"
    assert "cancelled already" in ask(tmp_path / "copy", "cancel", "--yes").out


def test_resume_passes_by_what_was_cancelled_unless_it_is_named(tmp_path: Path) -> None:
    """The newer bag is given up while the older one waits; then both are."""
    interrupt_half_way(tmp_path)
    words = ("--name", "late", "--retries", "0", "--", "test -e {}", ":::", "go")
    assert tailrace(tmp_path, "run", "--quiet", *words).code == 1
    assert ask(tmp_path, "retry", "2").code == 0
    assert "bag 2 (late) is cancelled" in ask(tmp_path, "cancel", "--yes").out
    steps = ask(tmp_path, "status").out
    assert "resume 1  " in steps and "take it up again, with the 1 left" in steps
    assert "`tailrace resume 2` takes it up again" in ask(tmp_path, "explain", "2").out
    assert ask(tmp_path, "watch").out.startswith("bag 1 ")
    assert ask(tmp_path, "cancel", "--yes").out.startswith("bag 1 ")
    told = tailrace(tmp_path, "resume", "--quiet")
    assert told.code == 2 and "cancelled are left: 1 (jobs), 2 (late)\n" in told.err
    assert "`tailrace resume 2`" in told.err
    (tmp_path / "go").touch()
    assert tailrace(tmp_path, "resume", "2", "--quiet").code == 0


def test_watch_without_a_server_says_so(copied: Path) -> None:
    ask(copied, "retry")
    told = ask(copied, "watch")
    assert told.code == 6
    assert "no server runs here now" in told.err and "tailrace resume 1" in told.out


def test_beside_a_server_everything_can_be_asked(live: Live) -> None:
    bag = ask(live.folder, "status", "--json").json
    assert bag["server"]["pid"] == live.process.pid and "token" not in bag["server"]
    assert bag["bags"][0]["state"] == "running"
    assert "Attempt" in ask(live.folder, "explain", "4", "--bag", "1").out
    assert ask(live.folder, "results", "--json").json[4]["outcome"] is None
    assert ask(live.folder, "report").code == 0
    assert ask(live.folder, "replay").code == 0


def test_watch_follows_to_the_end_with_the_runs_exit_code(live: Live) -> None:
    words = [sys.executable, "-m", "tailrace.cli.main", "watch"]
    watching = subprocess.Popen(
        words, cwd=live.folder, env=clean_environment({}), stdout=subprocess.PIPE, text=True
    )
    (live.folder / "go").touch()
    out, _ = watching.communicate(timeout=30)
    assert watching.returncode == 1 and "4 succeeded, 1 failed" in out
    assert live.process.wait(30) == 1


def test_retry_and_cancel_through_the_server(live: Live) -> None:
    live.wait_until(done=3)
    for _ in range(100):
        if ask(live.folder, "status", "--json").json["bags"][0]["failed"]:
            break
    told = ask(live.folder, "retry", "--match", "nothing works")
    assert told.code == 0 and "by the server that runs" in told.out
    told = ask(live.folder, "cancel", "--yes")
    assert told.code == 0 and "the server ends its tasks" in told.out
    assert live.process.wait(30) == 1
    assert ask(live.folder, "status", "--json").json["bags"][0]["phase"] == "cancelled"


def test_a_second_run_beside_a_server_is_refused_with_its_address(live: Live) -> None:
    told = tailrace(live.folder, "resume", "--quiet")
    address = ask(live.folder, "status", "--json").json["server"]["address"]
    assert told.code == 6 and address in told.err


def test_a_resumed_run_tells_of_failures_before_it(copied: Path) -> None:
    assert ask(copied, "retry", "1", "4").code == 0
    told = tailrace(copied, "resume", "--price", "0")
    assert told.code == 1
    (line,) = (line for line in told.out.splitlines() if "task failed, exit 4" in line)
    assert line.startswith("  2 failed: ") and line.endswith("(task 1, 4)")


def test_a_folder_that_was_moved_can_be_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    interrupt_half_way(tmp_path / "old", last="[ -e go ] || sleep 60")
    (tmp_path / "old").rename(tmp_path / "new")
    told = tailrace(tmp_path / "new", "resume", "--quiet")
    assert told.code == 2 and f"runs in {tmp_path}/old, which is not there any more" in told.err
    remedy = f"ln -s {tmp_path}/new {tmp_path}/old"
    assert remedy in told.err
    subprocess.run(remedy, shell=True, check=True)
    (tmp_path / "new" / "go").touch()
    assert tailrace(tmp_path / "new", "resume", "--quiet").code == 0
