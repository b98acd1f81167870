"""`--setup` and `--secrets`: what a bag file would say, of commands that have none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import tailrace

JOB = """#!/bin/sh
#SBATCH --array=1-1
echo $COLOUR $WORD
"""


def test_every_kind_of_bag_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "opensesame")
    (tmp_path / "prepare.sh").write_text("export COLOUR=blue,green\n")
    (tmp_path / "lines").write_text("echo $COLOUR $WORD\n")
    (tmp_path / "job.sh").write_text(JOB)
    flags = ("run", "--quiet", "--secrets", "WORD", "--setup")
    script = "script=export COLOUR=blue,green"
    ways = (
        (*flags, "prepare.sh", "--", "sh", "-c", "echo $COLOUR $WORD {}", ":::", "1"),
        (*flags, script, "--commands", "lines"),
        (*flags, "prepare.sh", "job.sh"),
    )
    for words in ways:
        done = tailrace(tmp_path, *words)
        assert done.code == 0, done
        told = tailrace(tmp_path, "results", "--columns", "stdout")
        assert told.out.split()[1:3] == ["blue,green", "***"], (words, told)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--setup", "colour=blue"), "tailrace: --setup: unknown key setup.colour"),
        (("--setup", "none.sh"), "none.sh"),
        (("--setup", "image=a", "--setup", "image=b"), "--setup: image is given twice"),
        (("--setup", "engine=podman"), "--setup: engine without an image"),
        (("--secrets", "MISSING"), "the variable MISSING is not set"),
        (("--secrets", "a b"), "--secrets: 'a b' is not a name of a variable"),
    ],
)
def test_what_is_wrong_with_them_is_told_of_the_flag(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = tailrace(tmp_path, "run", *words, "--", "echo", "{}", ":::", "1")
    assert done.code == 2 and said in done.err, done
    assert not (tmp_path / ".tailrace").exists()
