"""Pools whose commands hang: nobody else waits for them, and nothing is left of what they began."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Iterator

import pytest
from tests.real.cluster import Cluster
from tests.real.conftest import Folder

from tailrace.server.pools.errands import MOST
from tailrace.server.pools.leasing import Act

PATIENCE_S = 150
AT_ONCE = MOST[Act.START]
HOLD = "echo {name} >> asked; while [ ! -e free ]; do sleep 0.05; done"
START = f"{HOLD}; ./cluster start {{name}} {{log}} {{run}}"
HUNG = f"""
[pools.hung]
driver = "command"
start = "{START}"
stop = "./cluster stop {{name}}"
list = "./cluster list"
python = "{sys.executable}"
timeout = "10m"
appear = "0s"
cores = 1
max = {AT_ONCE + 4}
"""


@pytest.fixture
def cluster(folder: Folder) -> Iterator[Cluster]:
    made = Cluster(folder.path, sys.executable)
    yield made
    (folder.path / "free").touch()
    for path in made.folders():
        shutil.rmtree(path)


def asked(folder: Folder) -> list[str]:
    path = folder.path / "asked"
    return path.read_text().split() if path.exists() else []


def test_a_hung_pool_keeps_no_other_from_running_all_tasks(folder: Folder, cluster: Cluster):
    """Starts that were not begun when all was done never are; of those under way, each machine
    that comes of it is stopped."""
    cluster.describe("max = 2")
    pools = folder.path / "pools.toml"
    pools.write_text(HUNG + pools.read_text())
    tasks = [str(number) for number in range(AT_ONCE + 4)]
    run = folder.start("run", "--quiet", "--", "echo {}", ":::", *tasks)
    folder.wait_for(lambda: len(asked(folder)) == AT_ONCE, PATIENCE_S)
    ran = lambda: folder.outcomes().count("succeeded") == len(tasks)  # noqa: E731
    folder.wait_for(ran, PATIENCE_S)
    assert {one["pool"] for one in folder.results()} == {"lab"}
    assert run.poll() is None
    (folder.path / "free").touch()
    run.communicate(PATIENCE_S)
    assert run.returncode == 0, run.stderr
    begun = asked(folder)
    assert len(begun) == len(set(begun)) == AT_ONCE
    stopped = [call.split()[1] for call in cluster.calls if call.startswith("stop")]
    assert set(begun) <= set(stopped) and not cluster.pids()
    assert "known to a lease" in folder.tailrace("pools", "--orphans").stdout


def test_a_server_killed_while_several_machines_start_leaves_none_unknown(
    folder: Folder, cluster: Cluster
):
    """The commands under way come to their end without it; the next server finds their machines,
    starts none of them again, and ends them with the bag."""
    cluster.describe("max = 4", start=START, timeout="10m")
    run = folder.start("run", "--quiet", "--", "echo {}", ":::", *"1234")
    folder.wait_for(lambda: len(asked(folder)) == 4, PATIENCE_S)
    run.send_signal(signal.SIGKILL)
    (folder.path / "free").touch()
    run.communicate(PATIENCE_S)
    folder.wait_for(lambda: len(cluster.pids()) == 4, PATIENCE_S)
    assert sorted(cluster.pids()) == sorted(asked(folder))
    (pool,) = json.loads(folder.tailrace("pools", "--json").stdout)
    assert pool["standing"] == 4
    resumed = folder.tailrace("resume", "1", "--quiet")
    assert resumed.returncode == 0, resumed.stderr
    assert folder.outcomes() == ["succeeded"] * 4
    assert len(asked(folder)) == 4 and not cluster.pids()
    assert "known to a lease" in folder.tailrace("pools", "--orphans").stdout


def test_machines_that_come_after_their_lease_is_over_are_named(folder: Folder, cluster: Cluster):
    """The server was killed while they started; to the next they were neither there nor wanted."""
    cluster.describe("max = 3", start=START, timeout="10m")
    run = folder.start("run", "--quiet", "--", "echo {}", ":::", *"123")
    folder.wait_for(lambda: len(asked(folder)) == 3, PATIENCE_S)
    late = asked(folder)
    run.send_signal(signal.SIGKILL)
    cluster.describe("max = 3")
    other = folder.tailrace("run", "--quiet", "--", "echo other {}", ":::", "1")
    assert other.returncode == 0 and not cluster.pids(), other.stderr
    (folder.path / "free").touch()
    run.communicate(PATIENCE_S)
    folder.wait_for(lambda: sorted(cluster.pids()) == sorted(late), PATIENCE_S)
    told = folder.tailrace("pools", "--orphans", "--stop").stdout
    assert all(f"{name} is told to end" in told for name in late), told
    folder.wait_for(lambda: not cluster.pids(), PATIENCE_S)
