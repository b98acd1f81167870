"""`tailrace run --array`: a Slurm user's script, unchanged, through the command."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.cli.conftest import Answer, ask, tailrace

JOB = """#!/bin/bash
#SBATCH --job-name=squares
#SBATCH --array=2-8:3
#SBATCH --partition=long
#SBATCH --time=10:00
#SBATCH -c 1
echo "task $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT in job $SLURM_ARRAY_JOB_ID: $*"
cd "$SLURM_SUBMIT_DIR" && touch "$SLURM_TMPDIR/scratch" && basename "$0"
echo "$SLURM_TMPDIR" > "tmp.$SLURM_ARRAY_TASK_ID"
srun -n 1 --cpus-per-task=1 sh -c 'echo to stderr >&2'
exit $(( SLURM_ARRAY_TASK_ID == 5 ))
"""


def run(folder: Path, *words: str) -> Answer:
    return tailrace(folder, "run", *words)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    folder = tmp_path_factory.mktemp("array")
    (folder / "job.sh").write_text(JOB)
    return folder, run(folder, "--retries", "0", "job.sh", "--alpha", "0.5")


def test_a_script_runs_as_it_is(ran: tuple[Path, Answer]) -> None:
    folder, told = ran
    assert told.code == 1 and "squares: 2 of 3 tasks succeeded, 1 failed" in told.out, told
    assert sorted(path.name for path in folder.glob("slurm-*")) == [
        "slurm-1_2.out", "slurm-1_5.out", "slurm-1_8.out",
    ]  # fmt: skip
    text = "task 8 of 3 in job 1: --alpha 0.5\njob.sh\nto stderr\n"
    assert (folder / "slurm-1_8.out").read_text() == text


def test_options_that_mean_nothing_here_are_named(ran: tuple[Path, Answer]) -> None:
    assert "job.sh: not heeded: --partition=long (line 4)" in ran[1].err


def test_output_is_in_the_results_too(ran: tuple[Path, Answer]) -> None:
    results = ask(ran[0], "results", "--json").json
    assert [result["params"] for result in results] == [{"array": n} for n in (2, 5, 8)]
    assert results[0]["stdout"].startswith("task 2 of 3") and not results[0]["stderr"]
    assert "to stderr" in ask(ran[0], "results", "--failed").out
    assert "task 5 of 3" in ask(ran[0], "logs", "array=5").out


def test_a_folder_for_passing_things_goes_with_its_task(ran: tuple[Path, Answer]) -> None:
    folder = ran[0]
    names = [path.read_text().strip() for path in folder.glob("tmp.*")]
    until = time.monotonic() + 60  # the worker may outlive the command by a moment
    while any(Path(name).exists() for name in names) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(set(names)) == 3 and not any(Path(name).exists() for name in names)


def test_a_task_of_an_array_can_be_reproduced(ran: tuple[Path, Answer]) -> None:
    told = tailrace(ran[0], "reproduce", "array=5")
    assert told.code == 1 and told.out.startswith("task 5 of 3 in job 1: --alpha 0.5\njob.sh\n")


def test_the_flag_wins_and_only_so_many_run_at_once(tmp_path: Path) -> None:
    job = """#!/usr/bin/env python3
#SBATCH --array=1-99
#SBATCH --open-mode=append --output=all.log
#SBATCH --error=err.%a
import os, sys
there = os.path.exists("here")
open("here", "w").close()
print("two at once" if there else "alone", *sys.argv[1:])
os.unlink("here")
print('{"n": %s}' % os.environ["SLURM_ARRAY_TASK_ID"])
"""
    (tmp_path / "job.py").write_text(job)
    (tmp_path / "all.log").write_text("before\n")
    told = run(tmp_path, "--array", "4-30:2%1", "--quiet", "job.py", "-j", "2")
    assert (told.code, told.err) == (0, "")
    lines = (tmp_path / "all.log").read_text().splitlines()
    assert lines[0] == "before" and lines.count("alone -j 2") == 14 and len(lines) == 29
    assert len(list(tmp_path.glob("err.*"))) == 14
    results = ask(tmp_path, "results", "--json").json
    assert [result["value"] for result in results] == [{"n": n} for n in range(4, 31, 2)]
    assert results[3]["stdout"] == 'alone -j 2\n{"n": 10}\n'


def test_the_script_may_be_edited_while_it_runs(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/sh\necho old\necho 'echo new' > job.sh\n")
    assert run(tmp_path, "--array=1-2%1", "--quiet", "--", "job.sh").code == 0
    assert (tmp_path / "slurm-1_2.out").read_text() == "old\n"


def test_output_that_cannot_be_written_fails_the_task(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SBATCH -o out-%a/log\ntrue\n")
    told = run(tmp_path, "--array", "1", "job.sh")
    assert told.code == 1 and "its output cannot be written to out-1/log" in told.out


def test_a_dry_run_says_what_would_run(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(JOB)
    told = ask(tmp_path, "run", "--dry-run", "--array", "1-6000%200", "job.sh", "a b")
    assert told.code == 0 and "squares: 6,000 tasks, from job.sh" in told.out
    assert "job.sh 'a b'" in told.out and "200 at a time" in told.out
    assert "note: not heeded: --partition=long (line 4)" in told.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--array", "9-1", "job.sh"), "--array: the array '9-1'"),
        (("--array", "1-3"), "no script is named"),
        (("--array", "1-3", "none.sh"), "there is no such file"),
        (("--array", "1-3", "wide.sh"), "wide.sh:2: --nodes=2 asks for several machines"),
        (("--array", "1-3", "text.sh"), "text.sh:1: this is not a batch script"),
    ],
)
def test_what_cannot_be_run(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "job.sh").write_text(JOB)
    (tmp_path / "wide.sh").write_text("#!/bin/sh\n#SBATCH -N 2\n")
    (tmp_path / "text.sh").write_text("echo hello\n")
    told = ask(tmp_path, "run", *words)
    assert told.code == 2 and said in told.err
    assert not (tmp_path / ".tailrace").exists()
