"""Machines of ours among thousands of others: `list` prints far more than a message."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.real.cluster import Cluster
from tests.real.conftest import Folder

from tailrace.drivers.shell import MOST_PRINTED

PATIENCE_S = 150
LOOKS = 3
HOLDS = "echo {} >> begun; while [ ! -e go ]; do sleep 0.05; done"
OTHERS = "seq -f 'job %06.0f of somebody else waits' 4000"
ENDLESS = f"if [ -e much ]; then head -c {MOST_PRINTED + 1} /dev/zero; fi"


@pytest.fixture
def cluster(folder: Folder) -> Iterator[Cluster]:
    made = Cluster(folder.path, sys.executable)
    yield made
    for path in made.folders():
        shutil.rmtree(path)


def looks(cluster: Cluster, more: int, folder: Folder) -> None:
    """So many times it is asked which machines stand."""
    before = cluster.calls.count("list")
    folder.wait_for(lambda: cluster.calls.count("list") >= before + more, PATIENCE_S)


def starts(cluster: Cluster) -> int:
    return sum(call.startswith("start") for call in cluster.calls)


def test_a_machine_behind_thousands_of_others_stands_and_is_ended(folder: Folder, cluster: Cluster):
    assert len(subprocess.check_output(["sh", "-c", OTHERS])) > 100_000
    cluster.describe("max = 1", list=f"{OTHERS}; ./cluster list")
    run = folder.start("run", "--quiet", "--", HOLDS, ":::", "x")
    folder.wait_for(lambda: (folder.path / "begun").exists(), PATIENCE_S)
    looks(cluster, LOOKS, folder)
    assert starts(cluster) == 1 and len(cluster.pids()) == 1
    (folder.path / "go").touch()
    run.communicate(PATIENCE_S)
    assert run.returncode == 0, run.stderr
    (one,) = folder.results()
    assert (one["outcome"], one["attempts"], starts(cluster)) == ("succeeded", 1, 1)
    assert not cluster.pids()
    _an_orphan_there_is_named(folder, cluster)
    assert folder.tailrace("pools", "check", "lab").returncode == 0
    assert not cluster.pids()


def _an_orphan_there_is_named(folder: Folder, cluster: Cluster) -> None:
    store = next(iter(folder.path.glob("jobs/*"))).name.split("-")[1]
    name = f"tailrace-{store}-99"
    words = [folder.path / "cluster", "start", name, "/dev/null", "exec sleep 600"]
    subprocess.run(words, check=True)
    told = folder.tailrace("pools", "--orphans", "--stop").stdout
    assert f"{name} is told to end" in told
    folder.wait_for(lambda: not cluster.pids(), PATIENCE_S)


def test_a_list_beyond_all_measure_tells_of_no_machine_that_it_has_gone(
    folder: Folder, cluster: Cluster
):
    cluster.describe("max = 1", list=f"{ENDLESS}; ./cluster list")
    run = folder.start("run", "--quiet", "--", HOLDS, ":::", "x")
    folder.wait_for(lambda: (folder.path / "begun").exists(), PATIENCE_S)
    (folder.path / "much").touch()
    looks(cluster, LOOKS, folder)
    orphans = folder.tailrace("pools", "--orphans")
    assert orphans.returncode == 6 and "at most 64 MiB are read" in orphans.stderr
    (folder.path / "much").unlink()
    (folder.path / "go").touch()
    run.communicate(PATIENCE_S)
    assert run.returncode == 0, run.stderr
    (one,) = folder.results()
    assert (one["outcome"], one["attempts"], starts(cluster)) == ("succeeded", 1, 1)
    assert not cluster.pids()
