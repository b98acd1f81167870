"""How TLS fails: cut in the middle of a record, expired, another's certificate, a server killed.

Nothing is lost, nothing is sent to somebody else, and each is said in clear words.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import ask
from tests.real.certificates import Authority
from tests.real.cutting import Cutting, cutting
from tests.real.served import Server, serving, tailrace, wait_for, worker

from tailrace.server.people.secretfile import keep

TASKS = 30
LINE = "echo {} >> begun; sleep 0.1; echo value {}"
NUMBERS = [str(n) for n in range(TASKS)]


def _port(server: Server) -> str:
    return server.owner.address.rpartition(":")[2]


def _all_came(folder: Path) -> None:
    """Each task has one result, of one attempt, and began no second time."""
    tailrace(folder, "watch", "-q")
    found = json.loads(tailrace(folder, "results", "--json").stdout)
    assert [one["stdout"] for one in found] == [f"value {n}\n" for n in NUMBERS]
    assert [(one["outcome"], one["attempts"]) for one in found] == [("succeeded", 1)] * TASKS
    begun = (folder / "begun").read_text().split()
    assert sorted(begun, key=int) == NUMBERS


@pytest.mark.parametrize("reset", [False, True], ids=["quietly", "by a reset"])
def test_answers_cut_in_the_middle_of_a_record_lose_no_task(tmp_path: Path, reset: bool) -> None:
    with serving(tmp_path, "--tls", "own") as server, cutting(server.owner.address) as line:
        line.reset = reset
        lab = server.token("lab", "pool")._replace(url=line.url)
        with worker(tmp_path / "a", TAILRACE_JOIN=lab.text()):
            tailrace(tmp_path, "submit", "-q", "--", LINE, ":::", *NUMBERS)
            wait_for(lambda: (tmp_path / "begun").exists())
            for _ in range(3):
                _cut_some(tmp_path, line)
            assert line.cuts >= 2
            _all_came(tmp_path)
            log = (tmp_path / "a" / "log").read_text()
            assert "Traceback" not in log and "_ssl.c" not in log, log


def _cut_some(folder: Path, line: Cutting) -> None:
    """Two answers; and the next is only cut when there was work in between, for a worker that gets
    none tries again less and less often."""
    before = line.cuts
    line.cut(2)
    wait_for(lambda: line.cuts == before + 2 or _is_over(folder))
    line.cut(0)
    _await_more(folder)


def _is_over(folder: Path) -> bool:
    return len((folder / "begun").read_text().split()) == TASKS


def test_a_command_whose_answer_is_cut_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, "--tls", "own") as server, cutting(server.owner.address) as line:
        ada = server.token("ada", "user")._replace(url=line.url)
        keep(tmp_path / "ada.join", ada.text())
        line.cut(1)
        told = ask(tmp_path, "explain", "1", "--server", "ada.join")
        assert line.cuts == 1 and told.code == 6, told
        assert "does not answer: " in told.err and "_ssl.c" not in told.err


def test_an_expired_certificate_is_named_as_that_and_a_renewed_one_taken(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    authority.issue(days=-1)
    with serving(tmp_path, "--tls", authority.option) as server:
        lab, ada = (
            server.token(name, kind)._replace(url=server.owner.address)
            for name, kind in (("lab", "pool"), ("ada", "user"))
        )
        keep(tmp_path / "ada.join", ada.text())
        told = tailrace(
            tmp_path, "status", "--server", "ada.join", code=6, **authority.trusting
        ).stderr
        assert "the server's certificate has expired; nothing was sent" in told
        assert "within a minute" in told and "firewall" not in told
        strange = tailrace(tmp_path, "status", "--server", "ada.join", code=6).stderr
        assert "not one that this machine knows" in strange
        log = tmp_path / "a" / "log"
        with worker(tmp_path / "a", TAILRACE_JOIN=lab.text(), **authority.trusting):
            wait_for(lambda: log.exists() and "certificate has expired" in log.read_text())
            tailrace(tmp_path, "submit", "-q", "--", LINE, ":::", *NUMBERS)
            authority.issue()
            server.process.send_signal(1)  # SIGHUP
            _all_came(tmp_path)
        assert "the server answers again" in log.read_text()


def test_a_certificate_that_changed_is_sent_nothing_and_the_old_one_is_taken_up_again(
    tmp_path: Path,
) -> None:
    log, runs = tmp_path / "a" / "log", tmp_path / ".tailrace"
    line = LINE.replace("sleep 0.1", "until [ -e go ]; do sleep 0.05; done")
    with serving(tmp_path, "--tls", "own") as first:
        port, lab = _port(first), first.token("lab", "pool")
        keep(tmp_path / "ada.join", first.token("ada", "user").text())
        with worker(tmp_path / "a", TAILRACE_JOIN=lab.text()):
            tailrace(tmp_path, "submit", "-q", "--", line, ":::", *NUMBERS)
            wait_for(lambda: (tmp_path / "begun").exists())
            first.process.kill()
            first.process.wait()
            shutil.move(runs / "tls", tmp_path / "kept")
            (tmp_path / "go").touch()
            with serving(tmp_path, "--port", port, "--tls", "own") as second:
                wait_for(lambda: second.owner.fingerprint != lab.fingerprint)
                wait_for(lambda: f"not {lab.fingerprint}; nothing was sent" in log.read_text())
                told = ask(tmp_path, "status", "--server", "ada.join")
                assert told.code == 6 and "is not the server that you know" in told.err
                assert "new join text" in told.err and "firewall" not in told.err
                results = ask(tmp_path, "results", "--json").json
                assert not any(one["outcome"] for one in results), "the worker keeps what it has"
                assert second.end() == 0
            shutil.rmtree(runs / "tls")
            shutil.move(tmp_path / "kept", runs / "tls")
            with serving(tmp_path, "--port", port, "--tls", "own"):
                _all_came(tmp_path)
            assert "the server answers again" in log.read_text()


def test_a_server_killed_again_and_again_behind_tls_loses_nothing(tmp_path: Path) -> None:
    log = tmp_path / "a" / "log"
    with serving(tmp_path, "--tls", "own") as server:
        port, lab = _port(server), server.token("lab", "pool")
        with worker(tmp_path / "a", TAILRACE_JOIN=lab.text()):
            tailrace(tmp_path, "submit", "-q", "--", LINE, ":::", *NUMBERS)
            wait_for(lambda: (tmp_path / "begun").exists())
            server.process.kill()
            server.process.wait()
            wait_for(lambda: "no answer from the server, trying again" in log.read_text())
            for _ in range(2):
                with serving(tmp_path, "--port", port, "--tls", "own") as again:
                    _await_more(tmp_path)
                    again.process.kill()
                    again.process.wait()
            with serving(tmp_path, "--port", port, "--tls", "own"):
                _all_came(tmp_path)
    assert "_ssl.c" not in log.read_text()


def _await_more(folder: Path) -> None:
    def begun() -> int:
        return len((folder / "begun").read_text().split())

    before = begun()
    wait_for(lambda: begun() > before or before == TASKS)
