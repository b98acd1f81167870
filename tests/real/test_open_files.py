"""A server and a worker may raise their own limit of open files; a task has that of its user."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import ask
from tests.real.served import serving, tailrace, wait_for

SOFT = 400


@pytest.fixture(autouse=True)
def few_files() -> Iterator[None]:
    """For whatever this process starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 10 * SOFT:
        pytest.skip(f"this account may have no more than {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _limit(pid: int) -> int:
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("Max open files"))
    return int(line.split()[3])


def test_tasks_of_a_server_that_raised_its_limit_have_that_of_its_user(tmp_path: Path) -> None:
    notify = 'notify = "ulimit -S -n > told"\n'
    (tmp_path / "tailrace.toml").write_text(notify)
    with serving(tmp_path, "--local") as server:
        wait_for(lambda: _limit(server.process.pid) > SOFT)
        tailrace(tmp_path, "submit", "--", "ulimit -S -n; true", ":::", "1")
        wait_for(lambda: (tmp_path / "told").exists() and (tmp_path / "told").read_text())
        (result,) = ask(tmp_path, "results", "--json").json
        assert server.end() == 0
    assert result["stdout"] == f"{SOFT}\n"
    assert (tmp_path / "told").read_text() == f"{SOFT}\n"


def test_so_do_commands_that_start_machines(tmp_path: Path) -> None:
    """They are copied to where a batch system starts the job."""
    pools = """[pools.far]
driver = "command"
start = "ulimit -S -n > limit; exit 3"
stop = "true"
list = "true"
max = 1
"""
    (tmp_path / "pools.toml").write_text(pools)
    with serving(tmp_path) as server:
        wait_for(lambda: _limit(server.process.pid) > SOFT)
        tailrace(tmp_path, "submit", "--", "true", ":::", "1")
        wait_for(lambda: list(tmp_path.rglob("limit")))
        (found,) = tmp_path.rglob("limit")
        wait_for(found.read_text)
        assert found.read_text() == f"{SOFT}\n"


def test_tasks_of_a_worker_with_hundreds_of_cores_have_that_of_its_user(tmp_path: Path) -> None:
    """Its keeper holds files of each; short tasks would be started without a fork otherwise."""
    words = [str(number) for number in range(60)]
    tailrace(tmp_path, "run", "-q", "--cores", "600", "--", "ulimit -S -n; true", ":::", *words)
    results = ask(tmp_path, "results", "--json").json
    assert {result["stdout"] for result in results} == {f"{SOFT}\n"}
