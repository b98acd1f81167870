"""Every route, called with whatever its description allows and more: refused or answered, never a
fault of the server's, and never another user's bag."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.spoken import WORK, spoken

from tailrace.bag.bagfile import bag_from_commands
from tailrace.scheduler.events import BagSubmitted
from tailrace.server.batch import NewBag
from tailrace.server.people.principals import Kind
from tailrace.server.people.tokens import Tokens
from tailrace.server.tables import pgdriver
from tailrace.server.web.app import App
from tailrace.server.web.openapi import description
from tailrace.server.world import World

Json = Any
EXAMPLES = int(os.environ.get("TAILRACE_FUZZ_EXAMPLES", "150"))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner,
                                                                max_size=3),
    max_leaves=6,
)  # fmt: skip
FEW = 50  # tasks that are all sent
PLENTY = {"cores": 2**40, "memory": 2**50, "disk": 2**50, "gpus": 2**20}
CELLS = st.sampled_from(
    ["1", "1.5", "-7", "0", "65", "55296", "2000000", "nan", "1e999", "", " 2", "x", "a\0b",
     "'\"`$(", "9" * 400, "..", "/etc/passwd", "x" * 9_000, "\ud7ff", "007", "true"])  # fmt: skip
FORMATS = st.sampled_from(["", ":d", ":c", ":x", ":.2f", ":>9", ":>99999999", ":e", ":%", ":n",
                           ":,", ":s", ":.1100000000f", ":+", ":=9", ":0>1000"])  # fmt: skip
HERS = "adas-0-bag"  # and no part of any sentence
SPEC = {
    "name": "b", "folder": "/tmp", "command": "echo {x} {y}", "order": "listed",
    "axes": [[{"type": "list", "name": "x", "values": [1, 2]}],
             [{"type": "range", "name": "y", "start": "0", "step": "1/2", "count": 3,
               "whole": False}]],
}  # fmt: skip


class Stage:
    """One server without a socket, its users, and a bag of ada's."""

    def __init__(self, folder: Path, store: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self._begin(folder, store))
        told = self.call("GET", "/api/v1/openapi.json", b"", "")[1]
        self.schemas = told["components"]["schemas"]
        self.routes = [(m.upper(), p, ways[m]) for p, ways in told["paths"].items() for m in ways]

    async def _begin(self, folder: Path, store: str) -> None:
        self.world = World(folder, (), store=store)
        tokens = Tokens(self.world.store)
        now = self.world.clock.now()
        for name in ("one", "two"):  # those that will be revoked
            tokens.add(Kind.USER, name, now)
        self.tokens = {k: tokens.add(Kind(k), n, now) for k, n in (
            ("user", "bob"), ("admin", "root"), ("pool", "lab"))}  # fmt: skip
        self.app = App(self.world, "secret")
        self._seq = 0
        self.world.begin()
        bag = bag_from_commands([f"echo {HERS}"], folder, source="jobs", name=HERS)
        spec, chunks = bag.encode()
        new = NewBag(1, HERS, spec, chunks, owner="ada")
        await self.world.tell(BagSubmitted(1, bag.terms()), new)

    def call(self, method: str, path: str, body: bytes, token: str, query: str = "") -> Any:
        return self.loop.run_until_complete(self._call(method, path, body, token, query))

    async def _call(self, method: str, path: str, body: bytes, token: str, query: str) -> Any:
        told: list[Any] = []
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            told.append(message)

        headers = [(b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "method": method, "path": path, "headers": headers,
                 "query_string": query.encode()}  # fmt: skip
        async with asyncio.timeout(20):
            await self.app(scope, receive, send)
        kind = dict(told[0]["headers"])[b"content-type"]
        data = told[1]["body"]
        return told[0]["status"], json.loads(data) if kind == b"application/json" else data

    def send_all(self, count: int) -> None:
        """Every task of the bag goes to a machine that succeeds with all it gets."""
        results: list[Json] = []
        for _ in range(4 * count + 10):
            self._seq += 1
            said = {**WORK, "seq": self._seq, "capacity": PLENTY, "results": results}
            body = json.dumps(said).encode()
            status, told = self.call("POST", "/api/v1/work", body, self.tokens["pool"])
            assert status == 200 and self.world.available
            if not told["start"] and not results:
                return
            results = [
                {"attempt": one["attempt"], "outcome": "succeeded", "exit": 0, "run_us": 9}
                for one in told["start"]
            ]

    def close(self) -> None:
        self.world.close()
        self.loop.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    there = request.param == "postgresql"
    store = request.getfixturevalue("database").url() if there else ""
    made = Stage(tmp_path_factory.mktemp("fuzz") / ".tailrace", store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pgdriver, "HURRIED_S", 30.0)  # a busy machine is no fault of the calls
        yield made
    made.close()


def of(schema: Json, schemas: dict[str, Json], depth: int = 0) -> st.SearchStrategy[Json]:
    """Values that the schema allows."""
    if "$ref" in schema:
        return of(schemas[schema["$ref"].rpartition("/")[2]], schemas, depth + 1)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return st.one_of([of(one, schemas, depth) for one in schema[key]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "array":
        if depth > 5 or "items" not in schema:
            return st.just([])
        return st.lists(of(schema["items"], schemas, depth + 1), max_size=2)
    if kind == "object":
        given_ = {k: of(v, schemas, depth + 1) for k, v in schema.get("properties", {}).items()}
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and depth <= 5:
            names = st.text(max_size=5) | st.sampled_from(["cores", "x" * 9_000])
            return st.dictionaries(names, of(more, schemas, depth + 1), max_size=3)
        must = {k: v for k, v in given_.items() if k in schema.get("required", [])}
        rest = {k: v for k, v in given_.items() if k not in must}
        return st.fixed_dictionaries(must, optional=rest)
    return {
        "integer": st.integers(schema.get("minimum", -3), schema.get("maximum", 2**60)),
        "number": st.floats(0.01, 1e6), "boolean": st.booleans(), "null": st.none(),
        "string": st.text(max_size=6) | st.sampled_from(["bag 1", "host x", "lab", "x" * 9_000]),
    }.get(kind, ANYTHING)  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_call_brings_the_server_down_or_shows_anothers_bag(stage: Stage, data: Any) -> None:
    method, path, told = data.draw(st.sampled_from(stage.routes))
    kind = data.draw(st.sampled_from([*stage.tokens, "nobody"]))
    for parameter in told["parameters"]:
        if parameter["in"] == "path":
            values = ["0", "1", "2", "x", "9" * 15, "-1", "%2e%2e", "ab" * 32, "../" * 9]
            value = data.draw(st.sampled_from(values))
            path = path.replace(f"{{{parameter['name']}}}", value)
    query = {
        one["name"]: data.draw(of(one["schema"], stage.schemas) | ANYTHING)
        for one in told["parameters"] if one["in"] == "query" and one["name"] != "wait"
    }  # fmt: skip
    body = None
    if "application/json" in told.get("requestBody", {}).get("content", {}):
        schema = told["requestBody"]["content"]["application/json"]["schema"]
        body = data.draw(of(schema, stage.schemas) | ANYTHING)
        if isinstance(body, dict) and "wait_s" in body:
            body["wait_s"] = 0
    token = stage.tokens.get(kind, "wrong")
    status, answer = stage.call(method, path, json.dumps(body).encode(), token, urlencode(query))
    assert status in (200, 400, 401, 403, 404, 409, 413), (method, path, body, answer)
    if kind != "admin":
        assert HERS not in json.dumps(answer, default=str)
    assert stage.world.available


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(key=st.sampled_from([*SPEC, "needs", "limits", "retries", "budget", "order", "env", "files",
                            "matching", "replication", "timeout_us", "syntax", "outputs", "result",
                            "growth", "round_us", "pools", "deadline_us", "max_failures"]),
       data=st.data())  # fmt: skip
def test_a_bag_with_one_strange_part_is_refused_or_can_be_sent(
    stage: Stage, key: str, data: Any
) -> None:
    schema = stage.schemas["BagSpec"]["properties"][key]
    spec = {**SPEC, key: data.draw(of(schema, stage.schemas) | ANYTHING)}
    body = json.dumps({"spec": spec}).encode()
    status, answer = stage.call("POST", "/api/v1/bags", body, stage.tokens["user"])
    assert status in (200, 400), (spec, answer)
    if status == 200:
        path = f"/api/v1/bags/{answer['bag']}"
        if answer["count"] <= FEW:
            stage.send_all(answer["count"])
        for more in ("", "/details", "/results", "/tasks/0"):
            assert stage.call("GET", path + more, b"", stage.tokens["user"])[0] == 200, spec
        change = json.dumps({"change": "cancel"}).encode()
        assert stage.call("POST", f"{path}/change", change, stage.tokens["user"])[0] == 200
    assert stage.world.available


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(cells=st.lists(CELLS, min_size=1, max_size=4), form=FORMATS,
       kind=st.sampled_from(["int", "number", "text"]),
       times=st.sampled_from([1, 2, 3_000]), shell=st.booleans(),
       listed=st.booleans())  # fmt: skip
def test_a_bag_of_strange_values_is_refused_or_every_task_is_sent(
    stage: Stage, cells: list[str], kind: str, form: str, times: int, shell: bool, listed: bool
) -> None:
    words = f"{{a{form}}}" * times
    axis: Json = {"type": "list", "name": "a", "values": cells}
    chunks: list[str] = []
    if not listed:
        axis = {"type": "rows", "columns": ["a"], "kinds": [kind], "count": len(cells)}
        chunks = [base64.b64encode(msgspec.msgpack.encode([[cell] for cell in cells])).decode()]
    spec = {"name": "b", "folder": "/tmp", "axes": [[axis]], "env": {"A": f"{{a{form}}}"},
            "command": f"echo {words}" if shell else ["echo", words]}  # fmt: skip
    body = json.dumps({"spec": spec, "chunks": chunks}).encode()
    status, answer = stage.call("POST", "/api/v1/bags", body, stage.tokens["user"])
    assert status in (200, 400), (spec, answer)
    assert len(json.dumps(answer)) < 2_000
    if status == 200:
        stage.send_all(answer["count"])
        facts = stage.call("GET", f"/api/v1/bags/{answer['bag']}", b"", stage.tokens["user"])[1]
        assert (facts["succeeded"], facts["failed"]) == (len(cells), 0)


def test_the_description_is_made_of_the_same_table(stage: Stage) -> None:
    assert description(stage.app._api.routes.all)["paths"].keys() == {p for _, p, _ in stage.routes}


def test_what_fuzzing_by_the_description_has_found_stays_mended(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        assert server.call("DELETE", "/api/v1/bags")[0] == 405
        assert server.head[b"allow"] == b"GET, POST"
        bag = server.submit("true")
        empty = {f"bags/{bag}/find?text=": "names no task", "explain?subject=": "is no subject"}
        for path, words in empty.items():  # which is not the same as missing
            status, told = server.call("GET", f"/api/v1/{path}")
            assert status == 400 and words in told["error"]
        paths = server.call("GET", "/api/v1/openapi.json")[1]["paths"]
        status, told = server.work(protocol=3)
        described = paths["/api/v1/work"]["post"]["responses"][str(status)]["content"]
        name = described["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert (status, name) == (409, "Versions") and told["protocol"] == 2
