"""A bag on twenty pilots of a real Slurm, to which everything happens that happens on clusters."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path

from tests.real.conftest import Folder
from tests.real.slurm import Slurm

PATIENCE_S = 150
PILOTS = 20
TASKS = 40
POOL = """
[pools.cluster]
driver = "command"
start = "sbatch --parsable -J {name} -t {minutes} -o {log} --open-mode=append --wrap {run}"
stop = "scancel -n {name}"
list = "squeue --me -h -o '%i %j'"
look = "2s"
max = 20
cores = 1
lease = "2h"
reliable = false
silent_after = "30s"
"""
BAG = f"""
command = "echo {{n}} >> begun; while [ ! -e go ]; do sleep 0.2; done; echo {{n}} >> done"
repeatable = true
order = "listed"

[parameters]
n = {{ from = 0, to = {TASKS - 1} }}
"""


def test_a_bag_outlives_all_that_happens_to_its_pilots(folder: Folder, slurm: Slurm):
    folder.write("pools.toml", POOL)
    folder.write("bag.toml", BAG)
    run = folder.start("run", "--quiet", SLURM_CONF=slurm.environment["SLURM_CONF"])
    folder.wait_for(lambda: len(lines(folder, "begun")) >= 8, PATIENCE_S)
    assert len(slurm.jobs("R,PD")) == PILOTS
    host = json.loads(folder.tailrace("hosts", "--json").stdout)[0]["host"]
    told = folder.tailrace("explain", host).stdout
    assert 3600 < int(told.partition("Its machine ends in ")[2].split()[0]) <= 7200, told
    where = slurm.jobs()
    cancelled, at_its_limit = [job for job, node in where.items() if node == "od1"]
    slurm.ask("scancel", cancelled)
    slurm.ask("scontrol", "update", f"JobId={at_its_limit}", "EndTime=now+1")
    slurm.fail_node("od2")
    slurm.ask("sbatch", "-p", "evictor", "-w", "spot1", "-n2", "-o", "/dev/null", "--wrap", "true")
    wanted = {"CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"}
    folder.wait_for(lambda: wanted <= slurm.ends(), PATIENCE_S)
    # All six, before a pilot that is just ending finds `go` and finishes its task after all.
    folder.wait_for(lambda: lost_or_preempted(folder) >= 6, PATIENCE_S)
    slurm.start_node("od2")
    (folder.path / "go").touch()
    run.communicate(PATIENCE_S)
    assert run.returncode == 0, run.stderr
    assert all(one["outcome"] == "succeeded" for one in folder.results())
    assert Counter(lines(folder, "done")) == Counter(str(n) for n in range(TASKS))
    ended = outcomes(folder)
    assert ended["succeeded"] == TASKS and ended["lost"] + ended["preempted"] >= 6
    assert ended["preempted"] >= 1, "none was handed back in time"
    assert not ended.keys() - {"succeeded", "lost", "preempted", "cancelled"}
    assert not [job for job in slurm.ask("squeue", "-h", "-o", "%j").split() if "tailrace" in job]


def lines(folder: Folder, name: str) -> list[str]:
    path: Path = folder.path / name
    return path.read_text().splitlines() if path.exists() else []


def lost_or_preempted(folder: Folder) -> int:
    ended = outcomes(folder)
    return ended["lost"] + ended["preempted"]


def outcomes(folder: Folder) -> Counter[str]:
    """Of all attempts that have ended."""
    store = sqlite3.connect(f"file:{folder.path}/.tailrace/store.db?mode=ro", uri=True)
    try:
        rows = store.execute("SELECT outcome FROM attempts WHERE outcome IS NOT NULL")
        return Counter(outcome for (outcome,) in rows)
    finally:
        store.close()
