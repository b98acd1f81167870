"""Machines with owners: a real worker, a real server, and what both say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import ask
from tests.real.served import serving, wait_for, worker

from tailrace.worker import processor

CONF = 'Owner = alice\nHostRequirements = BOT.Owner ==\n  "alice"\nHostRank = 3\n'


def test_a_machine_is_shown_with_its_owner_its_processor_and_its_speed(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "worker.conf").write_text(CONF)
    with serving(tmp_path) as server:
        lab = server.token("lab", "pool")
        with worker(far, "--benchmark", "0.1", TAILRACE_JOIN=lab.text()):
            wait_for(lambda: "benchmark" in _told(tmp_path))
        told = _told(tmp_path)
        assert (told["owner"], told["cpu"]) == ("alice", processor.model())
        assert told["says"] == {"host_requirements": 'BOT.Owner ==\n  "alice"', "host_rank": "3"}
        shown = ask(tmp_path, "hosts").out
        assert (
            "alice" in shown and processor.model() in shown and f"{told['benchmark']:.2f}" in shown
        )
        explained = ask(tmp_path, "explain", told["host"]).out
        assert f"Its owner: alice; its processor: {processor.model()}; its speed" in explained
        assert 'Its owner says HostRequirements: BOT.Owner == "alice"' in explained


def _told(folder: Path) -> dict[str, Any]:
    found = json.loads(ask(folder, "hosts", "--json").out)
    return dict(found[0]) if found else {}


def test_a_worker_whose_owner_wrote_nonsense_is_told_so_and_the_server_goes_on(
    tmp_path: Path,
) -> None:
    far, other = tmp_path / "far", tmp_path / "other"
    far.mkdir()
    (far / "worker.conf").write_text("HostRank = BOT.Spede\n")
    with serving(tmp_path) as server:
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        with worker(far, TAILRACE_JOIN=lab.text()) as refused:
            assert refused.wait(60) == 2
        assert "HostRank, column 1: there is no attribute BOT.Spede" in (far / "log").read_text()
        with worker(other, TAILRACE_JOIN=lab.text()):
            wait_for(lambda: server.ask(root, "GET", "/api/v1/hosts")[1])
