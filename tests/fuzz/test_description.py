"""Calls of every form that the server's own description allows, and many that it does not, made by
schemathesis: answered as described, and nobody sees what is another's. A few of them with every
run of the tests, always the same; many with `make fuzz`."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.database import Database
from tests.fuzz.stage import HERS, Stage, staged
from tests.real.served import environment

AT_LENGTH = os.environ.get("TAILRACE_FUZZ_EXAMPLES", "")  # examples for each route: `make fuzz`
EXAMPLES = AT_LENGTH or "2"
# The corners of every schema are hundreds of calls, and minutes.
PHASES = "coverage,fuzzing" if AT_LENGTH else "fuzzing"
HERE = Path(__file__).parent
WANTED = "it needs schemathesis: pip install -c constraints.txt -e '.[dev]'"


pytestmark = pytest.mark.skipif(find_spec("schemathesis") is None, reason=WANTED)
callers = pytest.mark.parametrize("kind", ["user", "pool", "admin"])


@callers
def test_every_call_is_answered_as_described(tmp_path: Path, kind: str) -> None:
    _call_in_every_form(tmp_path, kind)


@callers
@pytest.mark.skipif(not AT_LENGTH, reason="`make fuzz` does it with both stores: some minutes")
def test_so_it_is_with_the_store_in_postgresql(
    tmp_path: Path, kind: str, database: Database
) -> None:
    """Which refuses what SQLite takes, such as a NUL in a text."""
    _call_in_every_form(tmp_path, kind, "--store", database.url())


def _call_in_every_form(tmp_path: Path, kind: str, *words: str) -> None:
    with staged(tmp_path, kind, *words) as stage:
        done = _fuzzed(stage, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert stage.server.end() == 0
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log and "Exception" not in log, log


def _fuzzed(stage: Stage, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [
        "--config-file", str(HERE / "schemathesis.toml"), "run",
        f"{stage.url}/api/v1/openapi.json", "--header", f"Authorization: Bearer {stage.token}",
        "--phases", PHASES, "--max-examples", EXAMPLES, "--seed", "1",
        "--request-timeout", "60", "--continue-on-failure", "--no-color", "--warnings", "off",
    ]  # fmt: skip
    told = {
        "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks", "TAILRACE_FUZZ_HERS": HERS,
        "TAILRACE_FUZZ_BLOBS": " ".join(stage.blobs), "TAILRACE_FUZZ_KIND": stage.kind,
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), *sys.path]),
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", *words],
        cwd=folder, env=environment(told), capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
