"""A bag handed in under a key is there once, however often the call is made."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.database import Database
from tests.real.served import serving
from tests.server.spoken import SPEC, Spoken, spoken

BAGS = "/api/v1/bags"


@pytest.mark.parametrize("kind", ["file", "database"])
def test_a_key_makes_one_bag_and_its_caller_alone_knows_it(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    store = ""
    if kind == "database":
        database: Database = request.getfixturevalue("database")
        store = database.url()
    with spoken(tmp_path, store) as server:
        ada, bob = server.token("user", "ada"), server.token("user", "bob")

        def submit(token: str, key: str, command: str = "true") -> tuple[int, Any]:
            spec = {**SPEC, "command": command}
            return server.call("POST", BAGS, {"spec": spec}, token, idempotency_key=key)

        status, first = submit(ada, "k1")
        assert (status, submit(ada, "k1")) == (200, (200, first))
        status, said = submit(ada, "k1", "false")
        assert status == 422 and "used before" in said["error"]
        assert submit(bob, "k1")[1]["bag"] != first["bag"] != submit(ada, "k2")[1]["bag"]
        assert [submit(ada, key)[0] for key in ("", "x" * 201, "\x07")] == [400] * 3
        assert len(server.call("GET", BAGS)[1]) == 3
    with spoken(tmp_path, store) as server:  # it is in the store
        again = server.call("POST", BAGS, {"spec": {**SPEC}}, ada, idempotency_key="k1")
        assert again == (200, first)


def _hashes(server: Spoken) -> list[str]:
    found = server.world.store.link.execute("SELECT hash FROM submissions ORDER BY bag").fetchall()
    return [str(row[0]) for row in found]


def test_what_is_kept_of_a_call_cannot_be_tried_out_on_a_secret(tmp_path: Path) -> None:
    """Who gets the store and knows all but the secret would try values until the hash is right."""
    body = {"spec": {**SPEC, "secrets": ["API_KEY"]}, "secrets": {"API_KEY": "open sesame"}}
    kept, folders = list[str](), [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        with spoken(folder) as server:
            assert server.call("POST", BAGS, body, idempotency_key="k")[0] == 200
            kept += _hashes(server)
    assert len(set(kept)) == 2, "it depends on a key that is not in the store"
    assert hashlib.sha256(json.dumps(body).encode()).hexdigest() not in kept
    with spoken(folders[0]) as server:
        status, told = server.call("POST", BAGS, body, idempotency_key="k")
        assert (status, told["bag"]) == (200, 1)
        other = {**body, "secrets": {"API_KEY": "open barley"}}
        assert server.call("POST", BAGS, other, idempotency_key="k")[0] == 422


def test_a_call_is_known_again_that_an_older_server_kept_by_its_plain_hash(tmp_path: Path) -> None:
    body = {"spec": SPEC}
    with spoken(tmp_path) as server:
        first = server.call("POST", BAGS, body, idempotency_key="k")
        plain = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        server.world.store.write("UPDATE submissions SET hash = ?", plain)
    with spoken(tmp_path) as server:
        assert _hashes(server) == [plain]
        assert server.call("POST", BAGS, body, idempotency_key="k") == first
        other = {"spec": {**SPEC, "command": "false"}}
        assert server.call("POST", BAGS, other, idempotency_key="k")[0] == 422


def test_calls_at_the_same_time_and_a_commit_that_fails_make_one_bag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spoken(tmp_path) as server:
        commit, failed = server.world.store.commit, list[Any]()

        def fails_once(batch: Any) -> None:
            if batch.new_bags and not failed:
                failed.append(batch)
                raise sqlite3.OperationalError("disk is full")
            commit(batch)

        monkeypatch.setattr(server.world.store, "commit", fails_once)
        told = server.loop.run_until_complete(_at_once(server, 3))
        assert failed and told == [(200, told[0][1])] * 3
        assert len(server.call("GET", BAGS)[1]) == 1


async def _at_once(server: Spoken, times: int) -> list[tuple[int, Any]]:
    body = {"spec": SPEC}
    calls = (server.calling("POST", BAGS, body, idempotency_key="k") for _ in range(times))
    return await asyncio.gather(*calls)


@contextmanager
def _cutting(port: int) -> Iterator[tuple[int, list[bytes]]]:
    """Before a server: the first bag's answer is taken from the server, and not handed on."""
    door = socket.create_server(("127.0.0.1", 0))
    heads: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                near, _ = door.accept()
            except OSError:
                return
            with near, socket.create_connection(("127.0.0.1", port)) as far:
                asked = _message(near)
                far.sendall(asked)
                answer = _message(far)
                heads.append(asked.partition(b"\r\n\r\n")[0])
                if len([head for head in heads if head.startswith(b"POST /api/v1/bags ")]) != 1:
                    near.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield door.getsockname()[1], heads
    finally:
        door.shutdown(socket.SHUT_RDWR)
        door.close()
        thread.join(60)


def _message(sock: socket.socket) -> bytes:
    sock.settimeout(60)
    data = b""
    while b"\r\n\r\n" not in data or len(data) < _length(data):
        part = sock.recv(1 << 16)
        if not part:
            break
        data += part
    return data


def _length(data: bytes) -> int:
    head = data.partition(b"\r\n\r\n")[0]
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    return len(head) + 4 + int(fields.get(b"content-length", b"0"))


def test_a_bag_whose_answer_was_cut_off_is_handed_in_again_and_there_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ada = server.token("ada", "user")
        port = int(ada.url.rpartition(":")[2])
        with _cutting(port) as (before, heads):
            join = tmp_path / "cut.join"
            join.write_text(ada._replace(url=f"http://127.0.0.1:{before}").text())
            join.chmod(0o600)
            done = ask(tmp_path, "submit", "-q", "--server", str(join), "--", "true", ":::", "1")
        assert (done.code, done.out) == (0, "1\n"), done.err
        assert done.err.count("trying again, for") == 1
        assert len(server.ask(ada, "GET", BAGS)[1]) == 1
        keys = {line for head in heads for line in head.split(b"\r\n") if b"idempotency" in line}
        handed = [head for head in heads if head.startswith(b"POST /api/v1/bags ")]
        assert len(handed) == 2 and len(keys) == 1
        assert server.end() == 0
    done = ask(tmp_path, "submit", "--server", str(join), "--", "true", ":::", "1")
    assert done.code == 6 and "trying again" not in done.err  # nobody is there
