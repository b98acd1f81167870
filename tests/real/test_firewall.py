"""Three ways through a firewall, with real walls: a port, `ssh -R`, a server on the login node."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.networks import Networks, missing, wait_for

from tailrace.worker.zipped import write

SERVE = (sys.executable, "-m", "tailrace", "serve", "--tls", "own", "--port", "8600", "--address")
TASKS = ("--quiet", "--", "echo {}", ":::", "1", "2", "3")
POOL = r"""
[pools.far]
driver = "command"
start = "ssh -F CONFIG -n -f -R 8601:127.0.0.1:{port} far {run} > {log} 2>&1"
stop = "ssh -F CONFIG -n far kill {id}"
list = '''ssh -F CONFIG -n far "pgrep -af 'worker.pyz.*--name' || test \$? = 1"'''
python = "PYTHON"
url = "http://127.0.0.1:8601"
look = "2s"
cores = 1
"""


@pytest.fixture
def networks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Networks]:
    if missing():
        pytest.skip(missing())
    made = Networks(tmp_path_factory.mktemp("lab"))
    try:
        yield made
    finally:
        made.end()


def test_a_port_is_enough_for_machines_that_nobody_may_call(networks: Networks, tmp_path: Path):
    server, machine = networks.machine("a"), networks.machine("b")
    networks.cable(server, machine, "10.77.0")
    networks.wall(server, 8600)
    networks.wall(machine)
    serve(networks, server, tmp_path, "10.77.0.1")
    networks.tailrace(server, tmp_path, "tokens", "add", "lab", "--pool", "--write", "lab.join")
    work(networks, machine, tmp_path, "lab.join")
    assert networks.holds_back(server, machine, "10.77.0.2")
    networks.tailrace(server, tmp_path, "submit", *TASKS)
    networks.tailrace(server, tmp_path, "watch", "--quiet")
    assert pools(networks, server, tmp_path) == ["lab"] * 3


def serve(networks: Networks, space: str, folder: Path, address: str) -> None:
    networks.start(space, folder, *SERVE, address)
    wait_for(lambda: (folder / ".tailrace/server.json").exists())


def work(networks: Networks, space: str, folder: Path, join: str) -> None:
    write(str(folder / "worker.pyz"))
    words = (str(folder / "worker.pyz"), "--join", str(folder / join), "--folder")
    networks.start(space, folder, sys.executable, *words, str(folder / "machine"))


def pools(networks: Networks, space: str, folder: Path, *more: str) -> list[str]:
    told = networks.tailrace(space, folder, "results", "--columns", "pool", *more)
    return told.split()[1:]


def test_ssh_carries_the_calls_of_machines_that_reach_nothing(networks: Networks, tmp_path: Path):
    """The server listens on loopback alone; commands start the machine and end it, by ssh."""
    mine, far = networks.machine("a"), networks.machine("b")
    networks.cable(mine, far, "10.77.0")
    networks.wall(mine)
    networks.wall(far, 2222)
    config = networks.sshd(far, "10.77.0.2")
    text = POOL.replace("CONFIG", str(config)).replace("PYTHON", sys.executable)
    (tmp_path / "pools.toml").write_text(text)
    networks.tailrace(mine, tmp_path, "run", *TASKS)
    assert pools(networks, mine, tmp_path) == ["far"] * 3
    assert networks.holds_back(far, mine, "10.77.0.1")
    told = networks.tailrace(mine, tmp_path, "pools", "--orphans")
    assert "Every machine that stands is known" in told or _all_of_others(told), told


def test_the_login_node_is_reached_by_its_nodes_and_by_its_users(
    networks: Networks, tmp_path: Path
):
    home, login, node = (networks.machine(name) for name in "hln")
    networks.cable(home, login, "10.77.1")
    networks.cable(login, node, "10.77.2")
    networks.wall(home)
    config = networks.sshd(login, "10.77.1.2")
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    serve(networks, login, there, "10.77.2.1")
    for name, kind in (("lab", "--pool"), ("ada", "--user")):
        networks.tailrace(login, there, "tokens", "add", name, kind, "--write", f"{name}.join")
    work(networks, node, there, "lab.join")
    assert not networks.reaches(home, "10.77.2.1", 8600)
    carry = ("ssh", "-F", str(config), "-N", "-L", "8600:10.77.2.1:8600", "far")
    networks.start(home, here, *carry)
    wait_for(lambda: networks.reaches(home, "127.0.0.1", 8600))
    mine = here / "ada.join"
    mine.touch(0o600)
    mine.write_text((there / "ada.join").read_text().replace("10.77.2.1", "127.0.0.1"))
    networks.tailrace(home, here, "submit", "--server", str(mine), *TASKS)
    networks.tailrace(home, here, "watch", "--quiet", "--server", str(mine))
    assert pools(networks, home, here, "--server", str(mine)) == ["lab"] * 3


def _all_of_others(told: str) -> bool:
    """Processes are those of the whole machine, where other tests may run workers just now."""
    rows = [line for line in told.splitlines() if line.startswith("far ")]
    return bool(rows) and all(line.endswith("another folder's") for line in rows)
