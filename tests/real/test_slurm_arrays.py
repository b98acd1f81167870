"""The same scripts through `sbatch` of a real Slurm and through `tailrace run --array`: the same
files come out."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
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


@pytest.mark.parametrize("flag", ["-l", "-le"])
def test_a_plain_shell_that_reads_a_profile_finds_the_steps_of_its_job(
    tmp_path: Path, flag: str
) -> None:
    """Debian's `sh` reads nothing after its profile, and knows no functions of bash's."""
    (tmp_path / ".profile").write_text("PATH=/usr/bin:/bin\nexport MINE=read\n")
    text = f"""#!/bin/sh {flag}
#SBATCH -o out-%a.log
echo $MINE "$0" "$#" "$1"
srun -n1 echo hi $PATH
srun -n1 sh -c 'exit 7' || exit 3
"""
    (tmp_path / "l.sh").write_text(text)
    env = {**os.environ, "HOME": str(tmp_path)}
    words = [sys.executable, "-m", "tailrace"]
    run = [*words, "run", "--quiet", "--no-report", "--retries", "0", "--array", "1-1", "l.sh"]
    told = subprocess.run([*run, "a b"], cwd=tmp_path, env=env, timeout=PATIENCE_S)
    assert told.returncode == 1
    first, hi = (tmp_path / "out-1.log").read_text().splitlines()
    assert first.startswith("read /") and first.endswith("/l.sh 1 a b")
    assert hi.startswith("hi /") and hi.endswith("/bin:/usr/bin:/bin"), "the profile was read"
    again = [*words, "reproduce", "array=1"]
    shown = subprocess.run(again, cwd=tmp_path, env=env, timeout=PATIENCE_S, capture_output=True)
    assert shown.returncode == 3 and b"\nhi /" in shown.stdout, shown


@pytest.mark.parametrize("step", ["srun", "exec srun", "env srun"])
def test_a_login_shell_finds_the_steps_of_its_job(tmp_path: Path, step: str) -> None:
    """Its profile sets PATH anew, as that of many systems does."""
    (tmp_path / ".bash_profile").write_text("PATH=/usr/bin:/bin\n")
    (tmp_path / "mine.bash").write_text("export MINE=kept\n")
    job = f"#!/bin/bash -l\n#SBATCH -o out-%a.log\necho $MINE\n{step} -n1 echo hi $PATH\n"
    (tmp_path / "l.sh").write_text(job)
    words = [sys.executable, "-m", "tailrace", "run", "--quiet", "--no-report"]
    env = {**os.environ, "HOME": str(tmp_path), "BASH_ENV": str(tmp_path / "mine.bash")}
    subprocess.run([*words, "--array", "1-1", "l.sh"], cwd=tmp_path, env=env, check=True,
                   timeout=PATIENCE_S)  # fmt: skip
    kept, hi = (tmp_path / "out-1.log").read_text().splitlines()
    assert kept == "kept" and hi.startswith("hi ")
    assert "/usr/bin:/bin" in hi, "the profile was read"
