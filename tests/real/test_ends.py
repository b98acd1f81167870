"""The end of a run is told where it can be told, whatever signal comes between."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.real.conftest import MARK, TAILRACE, Folder

PATIENCE_S = 60
JOBS = "echo begun > begun; while [ ! -e go ]; do sleep 0.05; done\nfalse\n"


@contextmanager
def started(folder: Folder, *words: str, before: tuple[str, ...] = (), out: int, err: int,
            **env: str) -> Iterator[subprocess.Popen[bytes]]:  # fmt: skip
    process = subprocess.Popen(
        [*before, *TAILRACE, *words, "--commands", str(folder.write("jobs", JOBS))],
        cwd=folder.path,
        env={**os.environ, "TERM": "xterm", MARK: str(folder.path), **env},
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )
    try:
        folder.wait_for((folder.path / "begun").exists, PATIENCE_S)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def ends(folder: Folder, process: subprocess.Popen[bytes]) -> int:
    folder.write("go", "")
    return process.wait(PATIENCE_S)


@pytest.mark.parametrize("before", [(), ("nohup",)], ids=["plain", "nohup"])
def test_a_log_is_written_to_its_end_after_a_hangup(folder: Folder, before: tuple[str]) -> None:
    with (
        open(folder.path / "log", "wb") as log,
        started(folder, "run", before=before, out=log.fileno(), err=log.fileno()) as run,
    ):
        run.send_signal(signal.SIGHUP)
        assert ends(folder, run) == 1
    assert "1 of 2 tasks succeeded" in (folder.path / "log").read_text()


def test_a_terminal_that_goes_away_takes_only_what_was_shown_there(folder: Folder) -> None:
    """It is no terminal of its session, so the kernel sends no hangup: the test does."""
    ours, theirs = pty.openpty()
    with (
        open(folder.path / "out", "wb") as out,
        started(folder, "run", out=out.fileno(), err=theirs) as run,
    ):
        os.close(theirs)
        os.read(ours, 1)  # the live view is there
        os.close(ours)
        run.send_signal(signal.SIGHUP)
        assert ends(folder, run) == 1
    assert "1 of 2 tasks succeeded" in (folder.path / "out").read_text()


class Drawing:
    """A report that is being drawn for as long as we like: Matplotlib reads its settings from a
    pipe of ours."""

    def __init__(self, folder: Folder) -> None:
        self.settings = folder.path / "matplotlibrc"
        os.mkfifo(self.settings)

    def begun(self) -> int | None:
        """When somebody reads there."""
        try:
            return os.open(self.settings, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None


def drawn(folder: Folder, number: int, *words: str) -> tuple[int, str]:
    """A run that gets this signal while its report is drawn."""
    drawing = Drawing(folder)
    rc = {"MATPLOTLIBRC": str(drawing.settings)}
    with (
        open(folder.path / "out", "wb") as out,
        started(folder, "run", "--report", *words, out=out.fileno(), err=out.fileno(), **rc) as run,
    ):
        folder.write("go", "")
        pipe = folder.wait_for(drawing.begun, PATIENCE_S)
        said = (folder.path / "out").read_text()
        assert words or "1 of 2 tasks succeeded" in said, "told before it is drawn"
        run.send_signal(number)
        os.close(pipe)  # it goes on: Python hears no signal between its last look and its read
        code = run.wait(PATIENCE_S)
    return code, (folder.path / "out").read_text()


def page(folder: Folder) -> Path:
    return folder.path / ".tailrace/reports/1-jobs.html"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_skips_the_report_and_nothing_else(folder: Folder, number: int) -> None:
    code, said = drawn(folder, number)
    assert code == 1
    assert "report:  tailrace report" in said.replace("tailrace report 1", "tailrace report")
    assert not page(folder).exists()


def test_a_hangup_does_not_even_skip_the_report(folder: Folder) -> None:
    code, said = drawn(folder, signal.SIGHUP)
    assert code == 1 and str(page(folder)) in said and page(folder).exists()


def test_json_is_printed_without_the_report_that_was_skipped(folder: Folder) -> None:
    code, said = drawn(folder, signal.SIGINT, "--json")
    end = json.loads(said)
    assert (code, end["exit"], end["report"]) == (1, 1, None)


def test_a_shell_that_differs_from_that_of_the_run_is_told_by_names(folder: Folder) -> None:
    folder.write("jobs", "echo begun > begun; while [ ! -e go ]; do sleep 0.05; done\n")
    run = folder.start("run", "--quiet", "--commands", "jobs", COLOUR="red", SSH_TTY="a")
    folder.wait_for((folder.path / "begun").exists, PATIENCE_S)
    run.send_signal(signal.SIGINT)
    run.communicate()
    folder.write("go", "")
    again = folder.tailrace("resume", "--quiet", COLOUR="green", SSH_TTY="b", EXTRA="1")
    assert again.returncode == 0
    assert again.stderr == "tailrace: this shell differs from the run's in COLOUR, EXTRA\n"
