"""Real short runs, made once, and the command asked about them through its own door."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# A scenario: cheap machines that fail, and a dear one.
GRID = """
name = "grid"
stop = { time = "1d" }

[pools.spot]
machines = 4
up = { law = "exponential", mean = "2h" }
down = { law = "exponential", mean = "10m" }
detection = "reported"

[pools.dear]
max = 1
price = "0.10 USD/h"

[bags.small]
tasks = 60
length = { law = "exponential", mean = "10m" }
retries = { lost = 20 }
"""
SWEEP = """
name = "sweep"
command = "sh work.sh {alpha} {seed}"
inputs = ["work.sh"]
outputs = {"out.txt" = "results/{alpha}/{seed}.txt"}

[parameters]
alpha = [0.1, 0.2]
seed = {from = 1, to = 3}

[env]
GREETING = "hello {seed}"

[limits]
time = "1m"
"""
WORK = """
echo "$GREETING" > out.txt
if [ "$2" = 2 ]; then printf 'seed %s: \\033[31mno [bold]luck[/]\\033[0m\\n' "$1" >&2; exit 4; fi
echo '{"score": '"$2"'}'
"""


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.out)
        except json.JSONDecodeError:
            said = f"no JSON but {self.out!r}, exit code {self.code}, and said: {self.err}"
            raise AssertionError(said) from None


@pytest.fixture(scope="session", autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nobody's settings are read, and what commands keep for their user goes when the tests go."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.delenv("XDG_CONFIG_DIRS", raising=False)
        temporary = str(tmp_path_factory.mktemp("tmp"))
        patch.setenv("TMPDIR", temporary)
        patch.setattr(tempfile, "tempdir", temporary)  # asked for before, it is remembered
        yield


def clean_environment(extra: dict[str, str]) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TAILRACE_")}
    return {**kept, "TAILRACE_REPORT": "false", **extra}


def tailrace(folder: Path, *words: str, **env: str) -> Answer:
    """As a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tailrace.cli.main", *words],
        cwd=folder,
        env=clean_environment(env),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Answer(done.returncode, done.stdout, done.stderr)


def ask(folder: Path, *words: str, **env: str) -> Answer:
    """The same `main`, inside this process, where a command starts none: much faster."""
    from tailrace.cli.main import main

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.StringIO()
    before, argv, environment = Path.cwd(), sys.argv, dict(os.environ)
    heard = {number: signal.getsignal(number) for number in ENDING}
    os.environ.clear()
    os.environ.update(clean_environment(env))
    os.chdir(folder)
    sys.argv = ["tailrace", *words]
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            main()
    finally:
        os.chdir(before)
        sys.argv = argv
        os.environ.clear()
        os.environ.update(environment)
        for number, handler in heard.items():  # who ignores them has children that do, too
            signal.signal(number, handler)
    buffer = out.buffer
    assert isinstance(buffer, io.BytesIO)
    return Answer(int(end.value.code or 0), buffer.getvalue().decode(), err.getvalue())


def write_sweep(folder: Path) -> None:
    (folder / "bag.toml").write_text(SWEEP)
    (folder / "work.sh").write_text(WORK)


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six tasks, of which those with seed 2 fail, on a machine that costs money."""
    folder = tmp_path_factory.mktemp("swept")
    write_sweep(folder)
    done = tailrace(folder, "run", "--quiet", "--price", "0.60 USD/min", "bag.toml")
    assert done.code == 1, done.err
    return folder


@pytest.fixture
def copied(swept: Path, tmp_path: Path) -> Path:
    """The same store, to change at will; its bag still speaks of the folder it ran in."""
    shutil.copytree(swept, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    """A folder with a scenario."""
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path


class Live(NamedTuple):
    folder: Path
    process: subprocess.Popen[bytes]

    def wait_until(self, *words: str, done: int) -> None:
        for _ in range(300):
            told = ask(self.folder, "status", "--json")
            if told.code == 0 and told.json["bags"] and told.json["bags"][-1]["succeeded"] >= done:
                return
            time.sleep(0.05)
        raise AssertionError("the run does not come on")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A run under way: three tasks end at once, one fails, the last waits for a file."""
    lines = ["true", "true", "true", "echo nothing works >&2; false",
             "while [ ! -e go ]; do sleep 0.05; done"]  # fmt: skip
    (tmp_path / "jobs.txt").write_text("\n".join(lines))
    words = [sys.executable, "-m", "tailrace.cli.main", "run", "--commands", "jobs.txt", "--quiet"]
    process = subprocess.Popen(words, cwd=tmp_path, env=clean_environment({}))
    one = Live(tmp_path, process)
    try:
        one.wait_until(done=3)
        yield one
    finally:
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
            if process.poll() is None:
                process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)


def interrupt_half_way(folder: Path, last: str = "sleep 60") -> Path:
    """Interrupted once, politely, with one task to go."""
    (folder / "jobs.txt").write_text(f"echo one\necho two\n{last}\n")
    words = [sys.executable, "-m", "tailrace.cli.main", "run", "--commands", "jobs.txt", "--quiet"]
    process = subprocess.Popen(words, cwd=folder, env=clean_environment({}), stderr=-3)
    Live(folder, process).wait_until(done=2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    return folder


@pytest.fixture(scope="session")
def halfway(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For all tests: to be read, and copied where a test changes something."""
    return interrupt_half_way(tmp_path_factory.mktemp("halfway"))
