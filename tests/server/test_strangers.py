"""What a token does not open: every route of the description, called well-formed by a stranger.

The routes are taken from the description, so that a new one cannot be forgotten: it is not in the
table below, and the first test says so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.server.spoken import SPEC, WORK, Spoken, spoken

BAG = "/api/v1/bags/{bag}"
BLOB = "/api/v1/blobs/{hash}"
DATA = b"of ada's"
HASH = hashlib.sha256(DATA).hexdigest()
COLUMN = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 3}
MORE = {"axes": [[{**COLUMN, "start": "7"}]]}
BY_VALUE = {"bag": "1", "task": "0", "token": "1", "hash": HASH}


class Try(NamedTuple):
    status: int  # for another user
    body: Any = None
    query: str = ""
    told: Any = None  # what he is told, where he is told something


def _probe(path: str, kind: str = "inputs") -> dict[str, Any]:
    return {**SPEC, "files": "here", kind: [{"name": "a", "place": path}]}


# Does it lie on the server's machine? What the server could see there he is not told.
PROBES = [_probe("/etc/passwd"), _probe("/nowhere/at/all"), _probe("x", "outputs")]
NOT_HIS = {
    "error": 'with files = "here" it names files of the server\'s own machine, which are for who '
    'owns its folder\n  Write files = "staged": then they travel with the bag.'
}
HIDDEN, REFUSED, OPEN = Try(404), Try(403), Try(200)
TABLE = {
    "GET /healthz": [OPEN],
    "GET /worker.pyz": [OPEN],
    "GET /api/v1/openapi.json": [OPEN],
    "POST /api/v1/work": [Try(403, {**WORK, "seq": 9})],
    "GET /api/v1/bags": [Try(200, told=[])],
    "POST /api/v1/bags": [Try(200, {"spec": SPEC, "taking": {"bags": [1]}}),
                          *(Try(400, {"spec": spec}, told=NOT_HIS) for spec in PROBES)],
    f"GET {BAG}": [HIDDEN],
    f"GET {BAG}/details": [HIDDEN],
    f"GET {BAG}/failures": [HIDDEN],
    f"GET {BAG}/failed": [HIDDEN],
    f"GET {BAG}/results": [HIDDEN, Try(404, query="last=3")],
    f"GET {BAG}/find": [Try(404, query="text=x=1")],
    f"GET {BAG}/tasks/{{task}}": [HIDDEN],
    f"GET {BAG}/attempts": [HIDDEN, Try(404, query="after=1")],
    f"GET {BAG}/events": [HIDDEN, Try(404, query="after=0&wait=1")],
    f"GET {BAG}/answers": [HIDDEN],
    f"GET {BAG}/progress": [HIDDEN],
    f"POST {BAG}/change": [Try(404, {"change": "cancel"}), Try(404, {"change": "pause"})],
    f"POST {BAG}/add": [Try(404, MORE)],
    f"GET {BAG}/policy": [HIDDEN],
    f"GET {BAG}/policy/trial": [HIDDEN],
    f"POST {BAG}/policy": [Try(404, {"plain": {"priority": 9}}), Try(404, {"whole": True})],
    "GET /api/v1/earlier": [Try(200, query="basis=x", told=[])],
    "POST /api/v1/compare": [Try(200, {"spec": SPEC, "bags": [1]},
                                 told={"tasks": 0, "bags": [], "changed": 0, "ended": ""}),
                             *(Try(400, {"spec": spec, "bags": []}, told=NOT_HIS)
                               for spec in PROBES)],
    f"PUT {BLOB}": [Try(404, DATA, "attempt=1")],
    f"GET {BLOB}": [HIDDEN, Try(404, query="attempt=1"), Try(404, query="bag=1")],
    f"HEAD {BLOB}": [HIDDEN, Try(404, query="attempt=1"), Try(404, query="bag=1")],
    "POST /api/v1/blobs/missing": [Try(200, {"hashes": [HASH]}, told=[HASH]),
                                   Try(404, {"hashes": [HASH], "attempt": 1})],
    "POST /api/v1/gc": [Try(403, {"keep_s": 0})],
    "GET /api/v1/me": [OPEN],
    "GET /api/v1/hosts": [OPEN],
    "GET /api/v1/pools": [OPEN],
    "GET /api/v1/explain": [Try(404, query="subject=bag+1"), Try(404, query="subject=task+1/0"),
                            Try(403, query="subject=host+h")],
    "GET /api/v1/tokens": [REFUSED],
    "POST /api/v1/tokens": [Try(403, {"kind": "admin", "name": "bob"})],
    "POST /api/v1/tokens/{token}/revoke": [REFUSED],
    "GET /metrics": [REFUSED],
}  # fmt: skip
OTHER_POOL = {
    "POST /api/v1/work": [403, {**WORK, "pool": "other", "seq": 9}, ""],
    f"PUT {BLOB}": [404, DATA, "attempt=1"],
    f"GET {BLOB}": [404, None, "attempt=1"],
    f"HEAD {BLOB}": [404, None, "attempt=1"],
    "POST /api/v1/blobs/missing": [404, {"hashes": [HASH], "attempt": 1}, ""],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    """Ada's bag 1 has a task that runs, one that is done and one that waits, and she put a blob."""
    with spoken(tmp_path_factory.mktemp("strangers")) as made:
        ada = made.token("user", "ada")
        assert made.submit("true {x}", ada, axes=[[COLUMN]]) == 1
        assert made.call("PUT", f"/api/v1/blobs/{HASH}", DATA, ada)[0] == 200
        (start,) = made.work()[1]["start"]
        done = {"attempt": start["attempt"], "outcome": "succeeded", "exit": 0, "run_us": 10}
        assert made.work(results=[done])[1]["ack"]
        yield made


def _described(server: Spoken) -> dict[str, Any]:
    paths = server.call("GET", "/api/v1/openapi.json")[1]["paths"]
    return {
        f"{method.upper()} {path}": one for path in paths for method, one in paths[path].items()
    }


def _filled(name: str, query: str = "") -> tuple[str, str]:
    method, _, path = name.partition(" ")
    path = re.sub(r"\{(\w+)\}", lambda found: BY_VALUE[found[1]], path)
    return method, f"{path}?{query}"


def _stored(server: Spoken) -> dict[str, list[Any]]:
    """All that the tables have of bag 1."""
    link = server.world.store.link
    tables = link.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    found = {}
    for (table,) in tables:
        columns = [row[1] for row in link.execute(f"PRAGMA table_info({table})")]
        if "bag" in columns:
            found[table] = link.execute(f"SELECT * FROM {table} WHERE bag = 1").fetchall()
    return found


def test_every_route_is_tried(server: Spoken) -> None:
    assert sorted(_described(server)) == sorted(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_another_user_sees_and_changes_nothing_of_a_bag(server: Spoken, name: str) -> None:
    bob = server.token("user", "bob")
    before = _stored(server)
    assert len(before["bags"]) == 1 and before["attempts"] and before["results"]
    for one in TABLE[name]:
        status, told = server.call(*_filled(name, one.query), one.body, bob)
        assert status == one.status, (name, told)
        assert one.told is None or told == one.told
    server.loop.run_until_complete(_cycled(server))
    assert _stored(server) == before


async def _cycled(server: Spoken) -> None:
    """What was told has been through a cycle: a bag handed in now is behind it."""
    await server.calling("POST", "/api/v1/bags", {"spec": SPEC})


@pytest.mark.parametrize("name", TABLE)
def test_a_pools_token_opens_nothing_of_another_pools_attempts(server: Spoken, name: str) -> None:
    token, before = server.token("pool", "other"), _stored(server)
    one, is_open = TABLE[name][0], "security" not in _described(server)[name]
    otherwise = [200 if is_open else 403, one.body, one.query]
    status, body, query = OTHER_POOL.get(name, otherwise)
    assert server.call(*_filled(name, query), body, token)[0] == status
    assert _stored(server) == before


@pytest.mark.parametrize("name", TABLE)
def test_a_token_for_metrics_opens_nothing_else(server: Spoken, name: str) -> None:
    token, before = server.token("metrics", "prometheus"), _stored(server)
    one, is_open = TABLE[name][0], "security" not in _described(server)[name]
    expected = 200 if is_open or name == "GET /metrics" else 403
    assert server.call(*_filled(name, one.query), one.body, token)[0] == expected
    assert _stored(server) == before


@pytest.mark.parametrize("name", TABLE)
def test_without_a_token_nothing_is_open_but_what_is_for_anyone(server: Spoken, name: str) -> None:
    one, is_open = TABLE[name][0], "security" not in _described(server)[name]
    status, _ = server.call(*_filled(name, one.query), one.body, "wrong")
    assert status == (200 if is_open else 401)
