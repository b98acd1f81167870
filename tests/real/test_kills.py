"""Kill -9 of the server, the worker, its keeper, everything, at random moments under load."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections import Counter

import pytest
from tests.real.conftest import Folder, kill

# Each task marks its begin and its end under a lock of its own: a second execution at the same time
# would find the lock taken, and say so.
TASK = (
    "exec 9> locks/{n}; flock -n 9 || echo {n} twice at once >> faults; "
    "echo $TAILRACE_ATTEMPT {n} >> begun; sleep 0.0{pause}; echo {n} >> ended; echo value {n}"
)
BAG = (
    f"command = '''{TASK.replace('{', '{{').replace('}', '}}')}'''\n"
    'zip = [["n", "pause"]]\n'
    "[parameters]\nn = {}\npause = {}\n"
)
TASKS = 150
SEEDS = int(os.environ.get("TAILRACE_KILL_SEEDS", "3"))  # `make soak` takes many


def _victims(folder: Folder, what: str) -> list[int]:
    server = folder.server_pid()
    found = folder.processes()
    workers = [pid for pid, text in found.items() if "tailrace.worker.client" in text]
    keepers = [pid for pid, text in found.items() if "tailrace.worker.keeper" in text]
    chosen = {
        "server": [server] if server else [],
        "worker": workers,
        "keeper": keepers,
        "worker and keeper": workers + keepers,
        "everything": ([server] if server else []) + workers + keepers,
    }
    return [pid for pid in chosen[what] if pid != os.getpid()]


def _begun(folder: Folder) -> list[tuple[int, int]]:
    """Attempt and task of each execution."""
    lines = (folder.path / "begun").read_text().splitlines()
    return [(int(attempt), int(task)) for attempt, task in map(str.split, lines)]


def _accepted(folder: Folder) -> set[tuple[int, int]]:
    """Attempt and task of each accepted result."""
    link = sqlite3.connect(folder.path / ".tailrace/store.db")
    found = set(link.execute("SELECT attempt, idx FROM results"))
    link.close()
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_bag_survives_kills_at_random_moments(folder: Folder, seed: int) -> None:
    chance = random.Random(seed)
    (folder.path / "locks").mkdir()
    pauses = [chance.randint(1, 9) for _ in range(TASKS)]
    folder.write("bag.toml", BAG.format(list(range(TASKS)), pauses))
    run = folder.start("run", "--quiet", "bag.toml")
    for _ in range(8):
        time.sleep(chance.uniform(0.2, 1.2))
        what = chance.choice(["server", "worker", "keeper", "worker and keeper", "everything"])
        for pid in _victims(folder, what):
            kill(pid)
        if run.poll() is not None or what in ("server", "everything"):
            run.communicate(timeout=30)
            if run.returncode == 0:
                break
            run = folder.start("resume", "--quiet")
    out, err = run.communicate(timeout=120)
    for _ in range(3):  # nobody kills any more: it comes to its end
        if run.returncode not in (0, 1):
            run = folder.start("resume", "--quiet")
            out, err = run.communicate(timeout=120)
    assert run.returncode == 0, (out, err)
    found = folder.results()
    assert [result["outcome"] for result in found] == ["succeeded"] * TASKS
    assert [result["stdout"] for result in found] == [f"value {n}\n" for n in range(TASKS)]
    assert not (folder.path / "faults").exists(), (folder.path / "faults").read_text()
    begun = _begun(folder)
    again = [
        attempt for attempt, times in Counter(number for number, _ in begun).items() if times > 1
    ]
    assert not again, "an attempt was executed twice"
    accepted = _accepted(folder)
    assert len(accepted) == TASKS
    assert accepted <= set(begun), "a result was accepted of an attempt that did not run"
    assert folder.tailrace("replay").returncode == 0


def test_attempts_are_counted_from_one_also_after_a_restart(folder: Folder) -> None:
    """In the store, each life of it has its own range of long numbers."""
    task = "echo it has begun; echo $TAILRACE_ATTEMPT >> begun; until [ -e go ]; do sleep 0.1; done"
    folder.write("jobs", f"{task}\n")
    run = folder.start("run", "--quiet", "--commands", "jobs")
    folder.wait_for((folder.path / "begun").exists, patience_s=60)
    for pid in _victims(folder, "everything"):
        kill(pid)
    run.communicate()
    folder.wait_for(lambda: not folder.processes(), patience_s=60)
    (folder.path / "begun").unlink()
    run = folder.start("resume", "--quiet")
    folder.wait_for((folder.path / "begun").exists, patience_s=60)
    folder.wait_for(lambda: (folder.path / "begun").read_text().strip(), patience_s=60)
    long = (folder.path / "begun").read_text().strip()
    assert len(long) > 9
    now = folder.tailrace("explain", "1/0").stdout
    assert "An attempt is out on" in now and "\nAttempt 2 was sent to" in now and long not in now
    folder.write("go", "")
    run.communicate()
    assert run.returncode == 0
    told = folder.tailrace("logs", "0").stdout
    assert "\nattempt 1, sent" in told and "\nattempt 2, sent" in told and long not in told
    for number in ("2", long):
        one = folder.tailrace("logs", "0", "--attempt", number).stdout
        assert "attempt 2, sent" in one and "attempt 1, sent" not in one and "it has begun" in one
    refused = folder.tailrace("logs", "0", "--attempt", "3")
    assert refused.returncode == 2 and "Its attempts are: 1, 2." in refused.stderr
    then = folder.tailrace("simulate", "--until", "1h").stdout
    assert "attempt 2 of task 1/0" in then and long not in then


# The last process of each is a child of its first: a task that `sh` does not become.
LONG = ["echo $$ > first; sleep 300; echo", "echo $$ > second; setsid sleep 300; echo"]


@pytest.mark.parametrize("short", [0, 40], ids=["forked", "spawned"])
def test_no_task_outlives_everything_killed_at_once(folder: Folder, short: int) -> None:
    """After many short tasks the next are started in a way of which the kernel kills none."""
    folder.write("jobs", "\n".join(["true"] * short + LONG) + "\n")
    run = folder.start("run", "--quiet", "--cores", "2", "--commands", "jobs")
    for name in ("first", "second"):
        folder.wait_for((folder.path / name).exists, patience_s=60)
    victims = _victims(folder, "everything")
    assert len(victims) >= 3, folder.processes()
    for number in (signal.SIGSTOP, signal.SIGKILL):  # none notices the death of another
        for pid in victims:
            os.kill(pid, number)
    run.communicate(timeout=60)
    folder.wait_for(lambda: not folder.processes(), patience_s=60)


def test_tasks_die_with_a_killed_run(folder: Folder) -> None:
    folder.write("jobs", "echo $$ > pid; setsid sleep 300 & sleep 300\n")
    folder.start("run", "--quiet", "--commands", "jobs")
    folder.wait_for((folder.path / "pid").exists)
    time.sleep(0.3)
    server = folder.server_pid()
    assert server
    kill(server)
    until = time.monotonic() + 10
    while folder.processes() and time.monotonic() < until:
        time.sleep(0.05)
    assert folder.processes() == {}
