"""A server that stays, and a PostgreSQL that does not: silent for a while, or taken over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.database import Database
from tests.real.served import Server, serving, wait_for, worker

from tailrace.worker.joining import Join
from tailrace.worker.pinned import connect

CALLS = 40
CALL = {
    "protocol": 2, "key": "k" * 32, "host": "h", "session": 1, "seq": 1, "pool": "", "kind": "k",
    "capacity": {}, "held": [], "results": [], "wait_s": 0,
}  # fmt: skip


def _asked(join: Join, method: str, path: str, body: object = None) -> tuple[int, str | None]:
    """Status, and when to come again."""
    link = connect(join.url, join.fingerprint, 60)
    head = {"Authorization": f"Bearer {join.token}"}
    link.request(method, path, None if body is None else json.dumps(body), head)
    reply = link.getresponse()
    reply.read()
    link.close()
    return reply.status, reply.getheader("retry-after")


def test_a_server_answers_while_its_database_says_nothing(
    tmp_path: Path, database: Database
) -> None:
    with serving(tmp_path, "--store", database.url()) as server:
        ada, lab = server.token("ada", "user"), server.token("lab", "pool")
        with worker(tmp_path / "a", TAILRACE_JOIN=lab.text()):
            wait_for(lambda: server.ask(ada, "GET", "/api/v1/hosts")[1])
            database.pause()
            try:
                wait_for(lambda: _asked(ada, "GET", "/healthz")[0] == 503)
                _it_answers_everybody(server, ada, lab)
            finally:
                database.go_on()
            wait_for(lambda: _asked(ada, "GET", "/healthz")[0] == 200)
            spec = {"name": "b", "folder": str(tmp_path), "command": "echo on", "axes": []}
            assert server.ask(ada, "POST", "/api/v1/bags", {"spec": spec})[0] == 200
            wait_for(lambda: server.ask(ada, "GET", "/api/v1/bags/1")[1]["phase"] == "finished")


def _it_answers_everybody(server: Server, ada: Join, lab: Join) -> None:
    """Calls that each had to wait for the database would take minutes: `wait_for` has less."""
    answers: list[tuple[int, str | None]] = []

    def one_more() -> bool:
        answers.append(_asked(ada, "GET", "/healthz"))
        answers.append(_asked(ada, "GET", "/api/v1/bags"))
        answers.append(_asked(lab, "POST", "/api/v1/work", CALL))
        return len(answers) >= CALLS

    wait_for(one_more)
    assert set(answers) == {(503, "1")}


@pytest.mark.parametrize("how", ["by its epoch", "by its lock"])
def test_a_server_with_nothing_to_do_ends_when_its_store_is_taken_over(
    tmp_path: Path, database: Database, how: str
) -> None:
    url = database.url()
    schema = url.partition("schema=")[2]
    with serving(tmp_path, "--store", url) as server:
        database.execute(f"UPDATE {schema}.meta SET value = value + 7 WHERE key = 'epoch'")
        if how == "by its lock":
            database.cut_lock(url)
        assert server.process.wait(60) == 6
    assert "another server has taken over the store" in (tmp_path / "log").read_text()
