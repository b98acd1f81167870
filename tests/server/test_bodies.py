"""What stands in one call brings no server down, and stands in no table as it should not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.database import Database
from tests.server.spoken import SPEC, WORK, Spoken, spoken

from tailrace.server.tables.link import Rejected
from tailrace.server.tables.store import Store


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    with spoken(tmp_path_factory.mktemp("bodies")) as made:
        yield made


def _nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("levels", [2, 400, 975, 5_000, 200_000])
def test_no_depth_of_a_body_ends_the_server(server: Spoken, levels: int) -> None:
    lab = server.token("pool", "lab")
    call = json.dumps({**WORK, "seq": 1}).encode()
    for name in (b"about", b"capacity", b"unheard_of"):
        body = call[:-1] + b', "%s": %s}' % (name, _nested(levels))
        status, _ = server.call("POST", "/api/v1/work", body, lab)
        assert status in ((200, 400) if name == b"unheard_of" else (400,))
    result = b'{"attempt": 1, "outcome": "succeeded", "value": %s}' % _nested(levels)
    body = call.replace(b'"results": []', b'"results": [%s]' % result)
    assert server.call("POST", "/api/v1/work", body, lab)[0] == (200 if levels == 2 else 400)
    spec = json.dumps(SPEC).encode()[:-1] + b', "env": %s}' % _nested(levels)
    assert server.call("POST", "/api/v1/bags", b'{"spec": %s}' % spec)[0] == 400
    assert server.world.available and server.call("GET", "/healthz")[0] == 200


@pytest.mark.parametrize("said", [
    {"host": "h" * 9_000}, {"host": ""}, {"host": "a\0b"}, {"host": "a\nb"}, {"pool": "p" * 201},
    {"kind": "k" * 201}, {"about": {"name": "n" * 201}}, {"about": {"n": 10**30}},
    {"capacity": {f"c{n}": 1 for n in range(65)}},
    {"results": [{"attempt": 1, "outcome": "task_failed", "error": "e" * 10_001}]},
    {"results": [{"attempt": 1, "outcome": "over_limit", "limit": "l" * 201}]},
])  # fmt: skip
def test_names_and_texts_have_their_length(server: Spoken, said: dict[str, Any]) -> None:
    assert server.work(**said)[0] == 400
    assert server.world.available


def test_a_bag_whose_outputs_no_file_system_could_have_is_not_taken(server: Spoken) -> None:
    long = {**SPEC, "files": "staged", "outputs": [{"name": "out", "place": "n" * 256}]}
    status, told = server.call("POST", "/api/v1/bags", {"spec": long})
    assert status == 400 and "more than 255 bytes" in str(told)


def test_no_text_of_a_task_is_more_than_a_database_takes(
    tmp_path: Path, database: Database
) -> None:
    with spoken(tmp_path, database.url()) as server:
        bag = server.submit("true")
        (start,) = server.work()[1]["start"]
        failed = {"attempt": start["attempt"], "outcome": "task_failed", "exit": 1,
                  "stderr": "bad\0luck " + "x" * 9_000}  # fmt: skip
        status, _ = server.work(results=[failed])
        assert status == 200 and server.world.available
        assert server.call("GET", f"/api/v1/bags/{bag}/tasks/0")[0] == 200


def test_what_a_database_can_never_hold_is_not_tried_again(database: Database) -> None:
    store = Store(database.url())
    try:
        with pytest.raises(Rejected):
            store.link.execute(
                "INSERT INTO meta VALUES (?, 1)", (Random(1).randbytes(50_000).hex(),)
            )
        with pytest.raises(Rejected):
            rows = "1" + ", 1" * 2_000
            store.link.execute(f"SELECT {rows}")
    finally:
        store.close()
