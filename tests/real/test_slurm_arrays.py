"""The same scripts through `sbatch` of a real Slurm and through `tailrace run --array`: the same
files come out."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.real.slurm import Slurm

PATIENCE_S = 120
ARRAYS = ("1,3,5-7%2", "20-28:4")
JOB = """#!/bin/bash
#SBATCH --job-name=squares
#SBATCH -c 2 --time=5
#SBATCH -o out-%x-%4a.log
echo "task $SLURM_ARRAY_TASK_ID: $#: $*"
env | grep -E '^(SLURM_ARRAY_TASK|SLURM_JOB_NAME|SLURM_CPUS|SLURM_NNODES|ENVIRON)' | sort
env | grep -E '^(SLURM_JOB_(NUM|CPUS|USER|UID)|SLURM_(SUBMIT_HOST|TASKS_PER|PROCID))' | sort
srun -n 1 echo a step >&2
[ "$PWD" = "$SLURM_SUBMIT_DIR" ] && echo "in the folder of submission"
"""


def test_a_script_leaves_the_same_files_here_and_under_slurm(tmp_path: Path, slurm: Slurm):
    there, here = tmp_path / "there", tmp_path / "here"
    for folder in (there, here):
        folder.mkdir()
        (folder / "job.sh").write_text(JOB)
    for array in ARRAYS:
        words = ["sbatch", "--array", array, "job.sh", "two words"]
        subprocess.run(words, cwd=there, env=slurm.environment, check=True, capture_output=True)
        words = [sys.executable, "-m", "tailrace", "run", "--quiet", "--no-report", *words[1:]]
        subprocess.run(words, cwd=here, check=True, timeout=PATIENCE_S)
    until = time.monotonic() + PATIENCE_S
    while slurm.ask("squeue", "-h").strip() and time.monotonic() < until:
        time.sleep(0.2)
    told = {path.name: path.read_text() for path in here.glob("out-*")}
    assert len(told) == 8 and "task 24: 1: two words" in told["out-squares-0024.log"]
    assert told == {path.name: path.read_text() for path in there.glob("out-*")}
