"""A server that stays: its door, its tokens, and machines that join it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.docs.pages import ROOT
from tests.real.served import environment, serving, tailrace, wait_for, worker

from tailrace.cli.commands import watch
from tailrace.errors import BadInput
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.people.secretfile import keep
from tailrace.server.submission import Submission, checked
from tailrace.server.tables.lock import alive
from tailrace.worker.joining import Join, parse
from tailrace.worker.pinned import WrongCertificate


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_an_open_address_without_encryption_is_refused(tmp_path: Path, address: str) -> None:
    done = ask(tmp_path, "serve", "--address", address)
    assert done.code == 2 and "--tls own" in done.err and "--behind-proxy" in done.err


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
        assert ask(tmp_path, "tokens", "revoke", "1").code == 0
        assert server.ask(ada, "GET", "/api/v1/me")[0] == 401
        assert b"tailrace_up 1" in server.ask(root, "GET", "/metrics")[1]
        assert server.end() == 0
    listed = ask(tmp_path, "tokens").out
    assert [word for word in ("revoked", "holds", "expired") if word not in listed] == []
    assert ada.token not in (tmp_path / ".tailrace/store.db").read_bytes().decode("latin-1")


def test_a_token_of_a_pool_speaks_for_no_machine_of_another(tmp_path: Path) -> None:
    call = {
        "protocol": 2, "key": "k" * 32,
        "host": "h", "session": 1, "seq": 1, "pool": "", "kind": "k",
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


def test_two_users_do_not_see_each_other_and_an_admin_sees_both(tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    with serving(tmp_path, "--local", "-j", "1") as server:
        for name, kind in (("ada", "user"), ("bob", "user"), ("root", "admin")):
            file = str(away / f"{name}.join")
            assert ask(tmp_path, "tokens", "add", name, f"--{kind}", "--write", file).code == 0

        def as_(name: str, *words: str, code: int = 0) -> str:
            done = ask(away, *words, TAILRACE_SERVER=str(away / f"{name}.join"))
            assert done.code == code, done
            return done.out + done.err

        assert as_("ada", "submit", "-q", "--", "echo {}; test {} != b", ":::", "a", "b") == "1\n"
        as_("bob", "submit", "--name", "bobs", "--", "echo {}", ":::", "x")
        as_("ada", "watch", "-q", code=1)
        as_("bob", "watch", "-q")
        assert [bag["name"] for bag in json.loads(as_("root", "status", "--json"))["bags"]] == [
            "echo", "bobs"]  # fmt: skip
        assert "bobs" not in as_("ada", "status")
        for words in (
            ("results", "2"),
            ("logs", "0", "--bag", "2"),
            ("cancel", "2", "--yes"),
            ("retry", "2"),
        ):
            assert "there is no" in as_("ada", *words, code=2)
        results = json.loads(as_("ada", "results", "--json"))
        assert [one["outcome"] for one in results] == ["succeeded", "task_failed"]
        assert as_("ada", "logs", "0", "--stdout") == "a\n"
        assert "failed for good" in as_("ada", "explain", "1/1")
        (host,) = json.loads(as_("bob", "hosts", "--json"))
        assert host["attempts"] == 1  # of his own
        assert "only an admin" in as_("bob", "explain", host["host"], code=2)
        assert "1 task of bag 1" in as_("ada", "retry")
        ada = parse((away / "ada.join").read_text())
        bob = parse((away / "bob.join").read_text())
        for path in ("", "/events", "/results", "/details", "/failures", "/failed", "/tasks/0"):
            assert server.ask(ada, "GET", f"/api/v1/bags/1{path}")[0] == 200
            assert server.ask(bob, "GET", f"/api/v1/bags/1{path}")[0] == 404
        change = {"change": "cancel"}
        assert server.ask(bob, "POST", "/api/v1/bags/1/change", change)[0] == 404
        assert server.ask(bob, "GET", "/api/v1/explain?subject=task+1%2F0")[0] == 404


SPEC = {"name": "b", "folder": "/tmp", "command": "true", "axes": []}
ROWS = {"type": "rows", "columns": ["x"], "kinds": ["int"], "count": 1}


@pytest.mark.parametrize(
    "body",
    [
        {"spec": {**SPEC, "command": "echo {nowhere}"}},
        {"spec": {**SPEC, "needs": {"cores": -1}}},
        {"spec": {**SPEC, "folder": "relative"}},
        {"spec": {**SPEC, "files": "staged", "inputs": [{"name": "a", "place": "a"}]}},
        {"spec": {**SPEC, "matching": {"name": "none"}}},
        {"spec": {**SPEC, "order": "nowhere"}},
        {"spec": {**SPEC, "axes": [[]]}},
        {"spec": {**SPEC, "axes": [[{"type": "range", "name": "x", "start": "0", "step": "1/0",
                                     "count": 5}]]}},
        {"spec": {**SPEC, "axes": [[ROWS]]}},
        {"spec": {**SPEC, "axes": [[ROWS]]}, "chunks": ["kZGhYQ=="]},
        {"spec": {**SPEC, "axes": [[{**ROWS, "kinds": []}]]}, "chunks": ["kZGhMQ=="]},
        {"spec": {**SPEC, "axes": [[{**ROWS, "count": 10**12}]]}, "chunks": ["kZGhMQ=="]},
        {"spec": {**SPEC, "retries": {"lost": -1}}},
        {"spec": SPEC, "chunks": ["kA=="]},
        {"spec": {"name": "b"}},
        [],
    ],
)  # fmt: skip
def test_a_bag_that_could_not_run_is_refused(body: Any) -> None:
    """As a client of another make might send it: never would it reach the scheduler."""
    from msgspec import ValidationError, convert

    with pytest.raises((BadInput, ValidationError)):
        checked(convert(body, Submission), Principal(Kind.USER, "ada"))


def test_a_budget_that_would_bind_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text('command = "true"\nbudget = "3 EUR"\n')
    with serving(tmp_path, "--local", "-j", "1", "--price", "1 USD/h"):
        told = ask(tmp_path, "submit", "bag.toml")
        assert told.code == 2 and "bag.toml: the budget of 3 EUR does not bind" in told.err
        assert "Give the budget in USD." in told.err
        assert ask(tmp_path, "submit", "-q", "bag.toml", "--budget", "3 USD").out == "1\n"


def test_a_good_bag_from_another_make_of_client_runs(tmp_path: Path) -> None:
    command = "echo {x}; sleep 0.1"
    spec = {**SPEC, "command": command, "folder": str(tmp_path), "axes": [[ROWS]]}
    with serving(tmp_path, "--local", "-j", "1") as server:
        ada = server.token("ada", "user")
        body = {"spec": spec, "chunks": ["kZGhNw=="]}
        status, told = server.ask(ada, "POST", "/api/v1/bags", body)
        assert (status, told) == (200, {"bag": 1, "name": "b", "count": 1, "taken": 0})
        path, after = "/api/v1/bags/1", 0
        for _ in range(20):
            items = server.ask(ada, "GET", f"{path}/events?after={after}&wait=20")[1]
            after = items[-1]["n"] if items else after
            if server.ask(ada, "GET", path)[1]["phase"] == "finished":
                break
        (told,) = server.ask(ada, "GET", f"{path}/results")[1]
        assert (told["result"]["stdout"], told["result"]["params"]) == ("7\n", {"x": 7})
        assert (
            "tailrace submit" in tailrace(tmp_path, "run", "--", "true", ":::", "1", code=6).stderr
        )
        huge = b"x" * (1024 * 1024 + 1)
        assert server.ask(ada, "POST", f"{path}/change", huge.decode())[0] == 413
        assert server.ask(ada, "GET", "/api/v1/tokens")[0] == 403


ENDED_WHILE_IT_BEGINS = """
import os, signal
from tailrace.server.world import World
announce = World.announce
def announced(self, owner):
    announce(self, owner)
    os.kill(os.getpid(), signal.SIGTERM)
World.announce = announced
from tailrace.cli.main import main
main()
"""


def test_a_server_that_is_ended_as_soon_as_it_is_known_ends_well(tmp_path: Path) -> None:
    """Who reads its address may end it at once."""
    command = [sys.executable, "-c", ENDED_WHILE_IT_BEGINS, "serve", "--port", "0"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment({}), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].endswith("ended")


def test_a_run_in_the_background_goes_on_alone_and_its_server_ends(tmp_path: Path) -> None:
    tailrace(tmp_path, "run", "--detach", "-j", "1", "--", "echo {} > out{}", ":::", "1", "2")
    tailrace(tmp_path, "watch", "-q")
    assert (tmp_path / "out2").read_text() == "2\n"
    wait_for(lambda: alive(tmp_path / ".tailrace") is None)


def test_the_description_names_every_route_and_nothing_it_does_not_explain(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        told = server.ask(server.token("ada", "user"), "GET", "/api/v1/openapi.json")[1]
    text = json.dumps(told)
    named = set(re.findall(r"#/components/schemas/([^\"]+)", text))
    assert named and named <= set(told["components"]["schemas"])
    page = (ROOT / "docs/reference/api.md").read_text()
    routes = {f"{m.upper()} {path}" for path, ways in told["paths"].items() for m in ways}
    assert routes == set(re.findall(r"^\| `([A-Z]+ [^`]+)`", page, re.MULTILINE))


def test_a_machine_that_has_the_join_text_of_a_user_is_told_what_it_needs(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ada = server.token("ada", "user")
        with worker(tmp_path / "a", TAILRACE_JOIN=ada.text()) as refused:
            assert refused.wait(60) == 2
    (said,) = (tmp_path / "a" / "log").read_text().splitlines()
    assert "ended: the server does not take this worker (403): its token is of user ada" in said
    assert "`tailrace tokens add NAME --pool`" in said


def test_a_join_text_says_what_it_says_again() -> None:
    from tailrace.worker.joining import BadJoin

    join = Join("https://host.example:8600", "to-ken_", "ab" * 32)
    assert parse(join.text()) == join
    for text in ("", "host:8600", "https://t@h:x", f"http://t@h#{'ab' * 32}", "https://t@h#12"):
        with pytest.raises(BadJoin):
            parse(text)


def test_a_server_started_again_goes_on_with_machines_that_stayed(tmp_path: Path) -> None:
    """Its tasks see no secret of the worker's; the bag ends on the second server."""
    lines = "env > env.txt; while [ ! -e go ]; do sleep 0.05; done; touch past"
    with serving(tmp_path) as first:
        lab, port = first.token("lab", "pool"), first.owner.address.rpartition(":")[2]
        with worker(tmp_path / "a", TAILRACE_JOIN=lab.text()):
            tailrace(tmp_path, "submit", "-q", "--", lines, ":::", "1")
            wait_for(lambda: (tmp_path / "env.txt").exists())
            assert first.end() == 0
            (tmp_path / "go").touch()
            wait_for(lambda: (tmp_path / "past").exists())
            with serving(tmp_path, "--port", port, "--log", "json"):
                tailrace(tmp_path, "watch", "-q")
            (done,) = json.loads(tailrace(tmp_path, "results", "--json").stdout)
    assert (done["outcome"], done["attempts"], done["pool"]) == ("succeeded", 1, "lab")
    assert lab.token not in (tmp_path / "env.txt").read_text()
    said = [line for line in (tmp_path / "log").read_text().splitlines() if line[:1] == "{"]
    assert json.loads(said[-1])["message"] == "ended"


def test_a_watch_outlives_the_server_it_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []
    look = watch._took_news

    def counted(here: Any, bag: int, progress: Any) -> bool:
        asked.append(progress.after)
        return look(here, bag, progress)

    monkeypatch.setattr(watch, "_took_news", counted)
    with serving(tmp_path, "--local") as first:
        port = first.owner.address.rpartition(":")[2]
        keep(tmp_path / "ada.join", first.token("ada", "user").text())
        line = f": {{}}; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
        given = ("--server", str(tmp_path / "ada.join"))
        tailrace(tmp_path, "submit", "-q", *given, "--", line, ":::", "1")
        with ThreadPoolExecutor(1) as thread:
            watching = thread.submit(watch.command.main, ["-q", *given], standalone_mode=False)
            wait_for(lambda: len(asked) > 1)
            first.end()
            before = len(asked)
            wait_for(lambda: len(asked) > before + 1)
            with serving(tmp_path, "--local", "--port", port):
                (tmp_path / "go").touch()
                assert watching.result(60) == 0
    assert asked == sorted(asked)
    assert "trying again" in capsys.readouterr().err
