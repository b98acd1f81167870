"""One machine is one host: a copy of its folder, and a folder whose key was lost."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

from tests.real.served import serving, wait_for, worker


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
