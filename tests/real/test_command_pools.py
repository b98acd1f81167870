"""Machines that commands start, stop and list: real workers of real runs, on this machine."""

from __future__ import annotations

import json
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.cluster import Cluster
from tests.real.conftest import Folder, kill

PATIENCE_S = 150
HOLDS = "echo {} >> begun; while [ ! -e go ]; do sleep 0.05; done"


@pytest.fixture
def cluster(folder: Folder) -> Iterator[Cluster]:
    made = Cluster(folder.path, sys.executable)
    yield made
    for path in made.folders():
        shutil.rmtree(path)


def test_a_bag_runs_on_machines_that_commands_start(folder: Folder, cluster: Cluster):
    cluster.describe("max = 2")
    ran = folder.tailrace("run", "--quiet", "--", "sleep 0.{}; echo {}", ":::", *"12345678")
    assert ran.returncode == 0, ran.stderr
    results = folder.results()
    assert {(one["pool"], one["outcome"]) for one in results} == {("lab", "succeeded")}
    assert not cluster.pids() and not cluster.folders()
    started = [call for call in cluster.calls if call.startswith("start")]
    assert len(started) == 2 and all("--lease" in call for call in started)
    join = folder.path / ".tailrace/pools/lab/worker.join"
    assert stat.S_IMODE(join.stat().st_mode) == 0o600
    token = join.read_text().partition("://")[2].partition("@")[0]
    assert len(token) > 20 and not any(token in call for call in cluster.calls)
    (pool,) = json.loads(folder.tailrace("pools", "--json").stdout)
    assert (pool["pool"], pool["driver"], pool["standing"]) == ("lab", "command", 0)
    orphans_are_shown_and_stopped_unless_they_are_others(folder, cluster)


def orphans_are_shown_and_stopped_unless_they_are_others(folder: Folder, cluster: Cluster) -> None:
    assert "known to a lease" in folder.tailrace("pools", "--orphans").stdout
    store = next(iter(folder.path.glob("jobs/*"))).name.split("-")[1]
    names = (f"tailrace-{store}-99", "tailrace-0123456789-7")
    for name in names:
        words = [folder.path / "cluster", "start", name, "/dev/null", "exec sleep 600"]
        subprocess.run(words, check=True)
    told = folder.tailrace("pools", "--orphans").stdout
    rows = dict(line.split(maxsplit=2)[1:] for line in told.splitlines()[1:])
    assert rows == {names[0]: "ours: lease 99 is over", names[1]: "another folder's"}
    stopped = folder.tailrace("pools", "--orphans", "--stop").stdout
    assert f"{names[0]} is told to end" in stopped
    folder.wait_for(lambda: list(cluster.pids()) == [names[1]], PATIENCE_S)
    cluster.kill(names[1])


def test_a_machine_that_vanishes_is_noticed_and_its_task_sent_again(
    folder: Folder, cluster: Cluster
):
    """Of a server that stays, too: its machines come for a bag, and go with it."""
    handed = folder.tailrace("run", "--detach", "--quiet", "--", HOLDS, ":::", "x")
    assert handed.returncode == 0, handed.stderr
    folder.wait_for(lambda: (folder.path / "begun").exists(), PATIENCE_S)
    (pid,) = cluster.pids().values()
    kill_below(pid)
    (folder.path / "go").touch()
    assert folder.tailrace("watch", "--quiet").returncode == 0
    folder.wait_for(lambda: not cluster.pids() and not folder.server_pid(), PATIENCE_S)
    (one,) = folder.results()
    assert (one["outcome"], one["attempts"]) == ("succeeded", 2) and not cluster.pids()


def kill_below(pid: int) -> None:
    """A machine that is switched off: all of it at once."""
    below = [pid]
    for above in below:
        for task in Path(f"/proc/{above}/task").glob("*/children"):
            below += [int(child) for child in task.read_text().split()]
    for one in below:
        kill(one)


def test_what_a_command_says_reaches_its_user(folder: Folder, cluster: Cluster):
    cluster.describe(start="./no-such-batch-system {name}")
    ran = folder.tailrace("run", "--quiet", "--", "true", "{}", ":::", "1")
    assert ran.returncode == 5 and "no-such-batch-system: not found" in ran.stderr
    told = folder.tailrace("pools").stdout
    assert "exit 127" in told and "no-such-batch-system: not found" in told


def test_machines_outlive_a_server_that_is_killed_and_find_the_next(
    folder: Folder, cluster: Cluster
):
    """The next one listens elsewhere; what ran goes on, and nothing is started twice."""
    run = folder.start("run", "--quiet", "--", HOLDS, ":::", "x")
    folder.wait_for(lambda: (folder.path / "begun").exists(), PATIENCE_S)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    before = cluster.pids()
    assert len(before) == 1
    resumed = folder.start("resume", "1", "--quiet")
    log = folder.path / ".tailrace/pools/lab" / f"{next(iter(before))}.log"
    folder.wait_for(lambda: "the server is now" in log.read_text(), PATIENCE_S)
    assert cluster.pids() == before
    (folder.path / "go").touch()
    resumed.communicate()
    assert resumed.returncode == 0, resumed.stderr
    assert (folder.path / "begun").read_text() == "x\n"
    (one,) = folder.results()
    assert (one["outcome"], one["attempts"]) == ("succeeded", 1) and not cluster.pids()


def test_a_check_says_at_which_step_a_pool_fails(folder: Folder, cluster: Cluster):
    good = folder.tailrace("pools", "check", "lab")
    assert good.returncode == 0, good.stderr
    steps = [line.split()[1].rstrip(":") for line in good.stdout.splitlines()]
    assert steps == ["started", "joined", "ran", "ended", "lab"]
    cluster.describe(start="echo the queue is closed >&2; exit 3")
    bad = folder.tailrace("pools", "check", "lab")
    assert bad.returncode == 6 and "exit 3: the queue is closed" in bad.stderr
    cluster.describe(python="echo Python 3.9 or newer is needed;")
    bad = folder.tailrace("pools", "check", "lab")
    assert bad.returncode == 6 and "its machine is not there any more" in bad.stderr
    assert "    Python 3.9 or newer" in bad.stderr and "Perhaps name a newer Python" in bad.stderr
    cluster.describe(start="./cluster start {name} {log} 'exec sleep 600'")
    bad = folder.tailrace("pools", "check", "lab", "--within", "8s")
    assert bad.returncode == 6 and "no call of its worker within 8 s" in bad.stderr
    assert "it should call http://127.0.0.1:" in bad.stderr
    assert not cluster.pids() and not (folder.path / ".tailrace/check").exists()
