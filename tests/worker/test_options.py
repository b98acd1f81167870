"""What a worker is told on its command line, and cannot do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def said(*words: str) -> str:
    run = [sys.executable, "-m", "tailrace.worker", *words]
    told = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode in (1, 2)
    return told.stdout + told.stderr


@pytest.mark.parametrize(
    ("option", "given", "expected"),
    [
        ("--cores", "0", "a number of cores, 0.001 or more"),
        ("--cores", "nan", "a number of cores, 0.001 or more"),
        ("--memory", "-1", "a number of bytes, 1 or more"),
        ("--lifetime", "-1", "a number of seconds, 0 or more"),
        ("--idle-exit", "-1", "a number of seconds, 0 or more"),
        ("--gpus", "-1", "a number of GPUs, 0 or more"),
        ("--has", "scanner", "a name and an amount of it, such as scanner=2"),
        ("--cache", "1.2.3G", "a size such as 10GB"),
        ("--benchmark", "soon", "a number of seconds, or never"),
    ],
)
def test_what_no_machine_has_is_refused_in_words(
    tmp_path: Path, option: str, given: str, expected: str
) -> None:
    """No server is asked: it ends before."""
    words = ("--server", "http://127.0.0.1:1", "--folder", str(tmp_path))
    assert f"argument {option}: {given!r} is not {expected}" in said(*words, option, given)


def test_a_join_text_on_the_command_line_is_refused_and_not_shown(tmp_path: Path) -> None:
    text = said("--join", "https://SECRET@lab.example:8600", "--folder", str(tmp_path))
    assert "SECRET" not in text
    assert "the join text itself" in text and "in a file" in text and "TAILRACE_JOIN" in text
