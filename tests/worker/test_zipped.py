"""The worker as one file, run by the oldest Python it promises."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tailrace.worker import zipped

from .conftest import Worker, alive, wait_for
from .scripted_desk import ScriptedDesk
from .test_deaths import family

SOURCES = sorted(Path(zipped.__file__).parent.glob("*.py"))


def test_the_same_sources_give_the_same_bytes() -> None:
    assert zipped.build() == zipped.build()
    assert str(Path.cwd()).encode() not in zipped.build()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_sources_have_the_syntax_of_3_9_and_import_the_standard_library_only(source: Path) -> None:
    tree = ast.parse(source.read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        else:
            continue
        assert all(module.split(".")[0] in sys.stdlib_module_names for module in modules), modules


def test_the_agent_has_no_clock_no_system_and_no_randomness() -> None:
    for name in ("agent", "life", "line", "results", "room", "effects"):
        tree = ast.parse((Path(zipped.__file__).parent / f"{name}.py").read_text())
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        assert not imported & {"os", "time", "random", "threading", "socket", "uuid", "datetime"}


def test_the_zipped_worker_runs_tasks(
    desk: ScriptedDesk, zipped_worker: Worker, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    given.write_text("given\n")
    desk.add(*[{"attempt": n, "shell": f"echo {n}"} for n in range(10, 60)])
    desk.add({"attempt": 2, "shell": "cat in > out; echo '{\"x\": 1}' > $TAILRACE_RESULT",
              "inputs": [{"name": "in", "path": str(given)}],
              "outputs": [{"name": "out", "required": True}]},
             files="staged", scratch=str(tmp_path / "scratch"))  # fmt: skip
    desk.add({"attempt": 3, "argv": ["no-such-program"]})
    desk.add({"attempt": 4, "argv": ["sleep", "60"]}, limits={"time_us": 300_000}, grace_s=1)
    for result in desk.wait_for(*range(10, 60), within=30):
        assert result["stdout"] == f"{result['attempt']}\n"
    staged, unknown, slow = desk.wait_for(2, 3, 4, within=30)
    assert staged["value"] == {"x": 1} and staged["outputs"][0]["size"] == 6
    assert (unknown["exit"], slow["limit"]) == (127, "time")
    desk.believed.pop(1, None)
    pids = family(desk, tmp_path)
    zipped_worker.kill()
    wait_for(lambda: not any(map(alive, pids)), within=3)
