"""What is handed in on a command line is told apart without reading what is none of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Answer, ask

JOB = "#!/bin/sh\n#SBATCH --array=1-3\necho $SLURM_ARRAY_TASK_ID\n"


def through_a_pipe(folder: Path, text: str, *words: str) -> Answer:
    """As from `<(…)` in bash, behind the words: what is read of it once is gone."""
    ours, theirs = os.pipe()
    os.write(theirs, text.encode())
    os.close(theirs)
    try:
        return ask(folder, *words, f"/dev/fd/{ours}")
    finally:
        os.close(ours)


def test_commands_that_come_through_a_pipe_are_run_from_the_first_on(tmp_path: Path) -> None:
    lines = "".join(f"echo {number}\n" for number in range(1, 1001))
    told = through_a_pipe(tmp_path, lines, "run", "--dry-run", "--commands")
    assert told.code == 0 and "1,000 tasks" in told.out and "echo 1\n" in told.out, told


def test_a_bag_file_may_come_through_a_pipe(tmp_path: Path) -> None:
    told = through_a_pipe(tmp_path, 'name = "piped"\ncommand = "true"\n', "run", "--dry-run")
    assert told.code == 0 and "piped: 1 task" in told.out, told


@pytest.mark.parametrize("words", [
    "run --dry-run --name p -- echo ::: 1", "submit --name p -- echo ::: 1",
    "run --dry-run --name p bag.toml", "run --dry-run bag.toml --name p",
])  # fmt: skip
def test_a_pipe_that_is_named_is_not_read_to_find_out_what_it_is(
    tmp_path: Path, words: str
) -> None:
    os.mkfifo(tmp_path / "p")
    (tmp_path / "bag.toml").write_text('command = "true"\n')
    pipe = os.open(tmp_path / "p", os.O_RDWR | os.O_NONBLOCK)
    os.write(pipe, b"still there")
    told = ask(tmp_path, *words.split(), XDG_CONFIG_HOME=str(tmp_path))
    assert "bag" in told.out or "no server is named" in told.err, told
    assert os.read(pipe, 100) == b"still there"
    os.close(pipe)


@pytest.mark.parametrize("name", ["--name job.sh", "--name=job.sh"])
def test_a_batch_script_as_the_value_of_an_option_is_none_to_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.sh").write_text(JOB)
    (tmp_path / "bag.toml").write_text('command = "true"\n')
    told = ask(tmp_path, "run", *name.split(), "bag.toml", "--dry-run")
    assert told.code == 0 and "job.sh: 1 task" in told.out, told


def test_options_behind_a_batch_script_are_its_own_and_those_before_are_not(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(JOB)
    told = ask(tmp_path, "run", "-j", "1", "--dry-run", "--name", "x", "job.sh", "--name", "y")
    assert told.code == 0 and "x: 3 tasks" in told.out and "job.sh --name y" in told.out, told
