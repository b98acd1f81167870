"""A certificate that is renewed while the server runs: shown at once, and nobody is shut out."""

from __future__ import annotations

import asyncio
import shutil
import signal
from pathlib import Path

import pytest
from tests.cli.conftest import ask
from tests.real.certificates import EC, RSA, Authority, shown
from tests.real.served import serving, tailrace, wait_for, worker

from tailrace.server.serving import Serving
from tailrace.server.web import renewing
from tailrace.server.web.door import Door
from tailrace.server.web.tls import certificate


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.mark.parametrize("kind", [EC, RSA], ids=["same kind of key", "another"])
def test_a_renewed_certificate_is_shown_and_those_who_are_here_stay(
    tmp_path: Path, authority: Authority, kind: tuple[str, ...]
) -> None:
    log = tmp_path / "log"
    line = f"echo {{}} >> {tmp_path}/begun; until [ -e {tmp_path}/go{{}} ]; do sleep 0.05; done"
    first = authority.issue()
    with serving(tmp_path, "--tls", authority.option) as server:
        url = server.owner.address
        lab = server.token("lab", "pool")._replace(url=url)
        assert shown(url) == first == server.owner.fingerprint and not lab.fingerprint
        with worker(tmp_path / "a", TAILRACE_JOIN=lab.text(), **authority.trusting):
            tailrace(tmp_path, "submit", "-q", "--", line, ":::", "1", "2")
            wait_for(lambda: (tmp_path / "begun").exists())
            second = authority.issue(kind=kind)
            assert second != first
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: "was renewed, and is shown from now on" in log.read_text())
            assert shown(url) == second == server.owner.fingerprint
            for number in (1, 2):
                (tmp_path / f"go{number}").touch()
            tailrace(tmp_path, "watch", "-q")
        assert tailrace(tmp_path, "results", "--columns", "outcome").stdout.count("succeeded") == 2
        assert "no answer" not in (tmp_path / "a" / "log").read_text()
        assert server.end() == 0


def test_workers_of_the_server_itself_greet_the_new_one(
    tmp_path: Path, authority: Authority
) -> None:
    """They know it by its fingerprint, for its name may be another; files need a new connection."""
    (tmp_path / "input").write_text("x" * 3_000_000)
    (tmp_path / "bag.toml").write_text(
        'command = "wc -c < input"\ninputs = ["input"]\nfiles = "staged"\n'
    )
    authority.issue()
    log = tmp_path / "log"
    with serving(tmp_path, "--tls", authority.option, "--local", "-j", "1") as server:
        keeps = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo {{}}"
        tailrace(tmp_path, "submit", "-q", "--", keeps, ":::", "1")
        wait_for(lambda: ask(tmp_path, "hosts", "--json").json)
        authority.issue()
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "is shown from now on" in log.read_text())
        tailrace(tmp_path, "submit", "-q", "bag.toml", "--server", _joined(tmp_path, authority))
        (tmp_path / "go").touch()
        tailrace(tmp_path, "watch", "1", "-q")
        tailrace(tmp_path, "watch", "2", "-q")
        assert tailrace(tmp_path, "logs", "2/0", "--stdout").stdout.strip() == "3000000"
        assert (tmp_path / ".tailrace/workers/worker.join").stat().st_mode & 0o077 == 0


def _joined(folder: Path, authority: Authority) -> str:
    """Ada's file, as she has it: she trusts nobody but by fingerprint here."""
    done = ask(folder, "tokens", "add", "ada", "--user", "--write", "ada.join")
    assert done.code == 0, done
    text = (folder / "ada.join").read_text().strip()
    (folder / "ada.join").write_text(f"{text}#{_fingerprint(authority)}\n")
    return "ada.join"


def _fingerprint(authority: Authority) -> str:
    return certificate(authority.option, authority.folder).fingerprint


def test_a_pair_that_does_not_fit_is_told_and_the_old_one_stays(
    tmp_path: Path, authority: Authority
) -> None:
    log = tmp_path / "log"
    first = authority.issue()
    shutil.copy(authority.key, tmp_path / "first.key")
    with serving(tmp_path, "--tls", authority.option) as server:
        url = server.owner.address

        def looks(after: str) -> None:
            before = log.read_text().count(after)
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: log.read_text().count(after) > before)

        authority.issue()
        right = authority.key.read_bytes()
        shutil.copy(tmp_path / "first.key", authority.key)
        looks("the key is that of another certificate; the one from before is shown")
        assert shown(url) == first == server.owner.fingerprint
        authority.cert.unlink()
        looks("No such file")
        authority.cert.write_text("no certificate")
        looks("cannot be used")
        assert shown(url) == first
        last = authority.issue()
        assert right != authority.key.read_bytes()
        looks("is shown from now on")
        assert shown(url) == last
        assert ask(tmp_path, "status").code == 0


@pytest.mark.parametrize(
    ("days", "told"),
    [(9, "expires in 9d:"), (60, ""), (-1, "expired 1d ago"), (14, "expires in 14d:")],
)
def test_the_log_warns_of_a_certificate_that_expires(
    tmp_path: Path, authority: Authority, days: int, told: str
) -> None:
    authority.issue(days)
    with serving(tmp_path, "--tls", authority.option) as server:
        log = tmp_path / "log"
        if told:
            wait_for(lambda: told in log.read_text())
        else:
            assert ask(tmp_path, "status").code == 0
            assert server.end() == 0
            assert "expires" not in log.read_text()


def test_files_are_looked_at_from_time_to_time(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewing, "EVERY_S", 0.05)
    first = authority.issue()

    async def renewed() -> list[str]:
        door = Door(certificate=certificate(authority.option, tmp_path))
        async with Serving(tmp_path / "runs", (), door) as server:
            seen = [await asyncio.to_thread(shown, server.address)]
            second = await asyncio.to_thread(authority.issue)
            async with asyncio.timeout(60):
                while seen[-1] != second:
                    seen.append(await asyncio.to_thread(shown, server.address))
            return [*dict.fromkeys(seen)]

    found = asyncio.run(renewed())
    assert found[0] == first and len(found) == 2
