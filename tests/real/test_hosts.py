"""One machine is one host: a copy of its folder, and a folder whose key was lost."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

from tests.real.served import serving, tailrace, wait_for, worker


def test_a_worker_whose_place_was_taken_ends_and_says_so(tmp_path: Path) -> None:
    """A folder brought to another machine while the first still runs."""
    first, second = tmp_path / "first", tmp_path / "second"
    with serving(tmp_path) as server:
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        with worker(first, TAILRACE_JOIN=lab.text()) as old:
            wait_for(lambda: server.ask(root, "GET", "/api/v1/hosts")[1])
            assert stat.S_IMODE((first / "files/key").stat().st_mode) == 0o600
            shutil.copytree(first / "files", second / "files")
            with worker(second, TAILRACE_JOIN=lab.text()) as new:
                assert old.wait(30) == 0
                assert "has taken its place" in (first / "log").read_text()
                assert new.poll() is None


def test_a_worker_that_lost_its_key_is_told_what_to_do(tmp_path: Path) -> None:
    far = tmp_path / "far"
    with serving(tmp_path) as server:
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        with worker(far, TAILRACE_JOIN=lab.text()):
            wait_for(lambda: server.ask(root, "GET", "/api/v1/hosts")[1])
        (far / "files/key").unlink()
        with worker(far, TAILRACE_JOIN=lab.text()) as back:
            assert back.wait(30) == 2
        assert "known by another key" in (far / "log").read_text()
        shutil.rmtree(far / "files")
        with worker(far, TAILRACE_JOIN=lab.text()):
            wait_for(lambda: len(server.ask(root, "GET", "/api/v1/hosts")[1]) == 2)


def test_who_has_let_a_machine_join_sees_whether_it_is_there(tmp_path: Path) -> None:
    """From elsewhere and in the server's folder; without a server nobody knows."""

    def states(**asked: str) -> list[str]:
        shown = tailrace(tmp_path, "hosts", "--json", **asked).stdout
        return [one["state"] for one in json.loads(shown)] if shown.startswith("[") else []

    with serving(tmp_path) as server:
        lab = server.token("lab", "pool")
        ada = {"TAILRACE_SERVER": server.token("ada", "user").text()}
        with worker(tmp_path / "far", TAILRACE_JOIN=lab.text()):
            wait_for(lambda: states() == ["idle"])
            assert states(**ada) == ["idle"]
            assert "idle" in tailrace(tmp_path, "hosts", **ada).stdout
    assert [one[:11] for one in states()] == ["last noted "]
