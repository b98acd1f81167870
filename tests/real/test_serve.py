"""A server that stays: its door, its tokens, and machines that join it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.real.served import serving, tailrace, wait_for, worker

from tailrace.worker.joining import Join
from tailrace.worker.pinned import WrongCertificate


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_an_open_address_without_encryption_is_refused(tmp_path: Path, address: str) -> None:
    done = tailrace(tmp_path, "serve", "--address", address, code=2)
    assert "--tls own" in done.stderr and "--behind-proxy" in done.stderr


def test_tokens_open_what_they_should_and_nothing_else(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ada, lab = server.token("ada", "user"), server.token("lab", "pool")
        root = server.token("root", "admin")
        brief = server.token("brief", "user", "--expires", "1s")
        nobody = ada._replace(token="x" * 43)
        assert server.ask(ada, "GET", "/api/v1/me")[1]["name"] == "ada"
        assert server.ask(ada, "GET", "/api/v1/tokens")[0] == 403
        assert server.ask(root, "GET", "/api/v1/tokens")[0] == 200
        assert server.ask(root, "POST", "/api/v1/work", {})[0] == 403
        assert server.ask(lab, "GET", "/api/v1/bags")[0] == 403
        assert server.ask(nobody, "GET", "/api/v1/bags")[0] == 401
        assert server.ask(nobody, "GET", "/healthz") == (200, {"ok": True, "trouble": ""})
        time.sleep(1)
        assert server.ask(brief, "GET", "/api/v1/me")[0] == 401
        tailrace(tmp_path, "tokens", "revoke", "1")
        assert server.ask(ada, "GET", "/api/v1/me")[0] == 401
        assert b"tailrace_up 1" in server.ask(root, "GET", "/metrics")[1]
        assert server.end() == 0
    listed = tailrace(tmp_path, "tokens").stdout
    assert [word for word in ("revoked", "holds", "expired") if word not in listed] == []
    assert ada.token not in (tmp_path / ".tailrace/store.db").read_bytes().decode("latin-1")


def test_a_token_of_a_pool_speaks_for_no_machine_of_another(tmp_path: Path) -> None:
    call = {
        "protocol": 1, "host": "h", "session": 1, "seq": 1, "pool": "", "kind": "k",
        "capacity": {}, "held": [], "results": [], "wait_s": 0,
    }  # fmt: skip
    with serving(tmp_path) as server:
        lab, den = server.token("lab", "pool"), server.token("den", "pool")
        assert server.ask(lab, "POST", "/api/v1/work", call)[0] == 200
        assert server.ask(lab, "POST", "/api/v1/work", {**call, "pool": "den"})[0] == 403
        assert server.ask(den, "POST", "/api/v1/work", {**call, "seq": 2})[0] == 403
        hosts = server.ask(server.token("root", "admin"), "GET", "/api/v1/hosts")[1]
        assert [host["host"]["row"]["pool"] for host in hosts] == ["lab"]


def test_a_machine_joins_over_tls_by_environment_and_by_file_and_no_other_server(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, "--tls", "own") as server:
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        wrong = lab._replace(fingerprint="0" * 64)
        with pytest.raises(WrongCertificate):
            server.ask(wrong, "GET", "/healthz")

        def hosts() -> int:
            return len(server.ask(root, "GET", "/api/v1/hosts")[1])

        with worker(tmp_path / "a", TAILRACE_JOIN=wrong.text()):
            log = tmp_path / "a" / "log"
            wait_for(lambda: "not 0000" in log.read_text())
            assert hosts() == 0
        with worker(tmp_path / "b", TAILRACE_JOIN=lab.text()):
            wait_for(lambda: hosts() == 1)
        beside = tmp_path / "c" / "worker.join"
        beside.parent.mkdir()
        beside.write_text(lab.text())
        with worker(tmp_path / "c") as refused:
            assert refused.wait(30) == 1
            assert "chmod 600" in (tmp_path / "c" / "log").read_text()
        beside.chmod(0o600)
        with worker(tmp_path / "c") as joined:
            wait_for(lambda: hosts() == 2)
            server.end()
            wait_for(lambda: "no answer" in (tmp_path / "c" / "log").read_text())
            assert joined.poll() is None  # it outlives the server


def test_a_join_text_says_what_it_says_again() -> None:
    from tailrace.worker.joining import BadJoin, parse

    join = Join("https://host.example:8600", "to-ken_", "ab" * 32)
    assert parse(join.text()) == join
    for text in ("", "host:8600", "https://t@h:x", f"http://t@h#{'ab' * 32}", "https://t@h#12"):
        with pytest.raises(BadJoin):
            parse(text)
