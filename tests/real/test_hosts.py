"""One machine is one host: a copy of its folder, and a folder whose key was lost."""

from __future__ import annotations

import json
import shutil
import signal
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


HELD = "echo {} >> begun; while [ ! -e go ]; do sleep 0.05; done; echo {} >> ended"


def test_a_worker_that_is_ended_says_so_and_others_take_what_it_had(tmp_path: Path) -> None:
    """At once, and not when it has been silent for long."""

    def hosts() -> list[tuple[str, bool]]:
        told = server.ask(root, "GET", "/api/v1/hosts")[1]
        return [(one["host"]["about"]["name"], one["present"]) for one in told]

    def begun() -> list[str]:
        path = tmp_path / "begun"
        return path.read_text().split() if path.exists() else []

    with serving(tmp_path) as server:
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        with worker(tmp_path / "idle", TAILRACE_JOIN=lab.text()) as idle:
            wait_for(lambda: [there for _, there in hosts()] == [True])
            idle.send_signal(signal.SIGTERM)
            assert idle.wait(30) == 0
            assert [there for _, there in hosts()] == [False]
        with worker(tmp_path / "first", TAILRACE_JOIN=lab.text()) as first:
            wait_for(lambda: any(there for _, there in hosts()))
            tailrace(tmp_path, "submit", "-q", "--", "sh", "-c", HELD, ":::", "1", "2", "3", "4")
            wait_for(begun)
            first.send_signal(signal.SIGTERM)
            assert first.wait(30) == 0
            assert not any(there for _, there in hosts())
        states = [one["state"] for one in json.loads(tailrace(tmp_path, "hosts", "--json").stdout)]
        assert [state[:11] for state in states] == ["last noted "] * 2
        with worker(tmp_path / "second", TAILRACE_JOIN=lab.text()):
            wait_for(lambda: len(begun()) == 2)
            (tmp_path / "go").touch()
            tailrace(tmp_path, "watch", "-q")
        results = json.loads(tailrace(tmp_path, "results", "--json").stdout)
    assert [(one["outcome"], one["attempts"]) for one in results][1:] == [("succeeded", 1)] * 3
    assert begun() == ["1", "1", "2", "3", "4"]
    assert (tmp_path / "ended").read_text().split() == ["1", "2", "3", "4"]
