"""A token that is revoked, or expires, while its call waits: nothing more leaves to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.spoken import SPEC, WORK, Spoken, spoken

from tailrace.server.people.principals import Kind
from tailrace.server.people.tokens import Tokens

BAGS = "/api/v1/bags"
CALL = {**WORK, "seq": 1, "wait_s": 60}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Spoken]:
    with spoken(tmp_path) as made:
        yield made


async def _until(done: Any) -> None:
    async with asyncio.timeout(30):
        while not done():
            await asyncio.sleep(0.005)


async def _handed_in(server: Spoken) -> None:
    asked = {"spec": {**SPEC, "secrets": ["K"]}, "secrets": {"K": "hidden"}}
    assert (await server.calling("POST", BAGS, asked))[0] == 200


def _offers(server: Spoken) -> Any:
    return server.world.state.offers


def test_a_parked_call_of_a_revoked_token_ends_at_once_and_gets_no_task(server: Spoken) -> None:
    async def go() -> None:
        lab = (await server.calling("POST", "/api/v1/tokens", {"kind": "pool", "name": "lab"}))[1]
        waiting = asyncio.create_task(server.calling("POST", "/api/v1/work", CALL, lab["token"]))
        await _until(lambda: "h" in _offers(server))
        await server.calling("POST", "/api/v1/tokens/1/revoke")
        status, told = await waiting
        assert status == 401 and "token" in told["error"]
        await _handed_in(server)
        assert not server.world.state.attempts and not _offers(server)

    server.loop.run_until_complete(go())


def test_a_parked_call_whose_token_expires_ends_with_it(server: Spoken) -> None:
    async def go() -> None:
        asked = {"kind": "pool", "name": "lab", "expires_s": 1}
        _, lab = await server.calling("POST", "/api/v1/tokens", asked)
        waiting = asyncio.create_task(server.calling("POST", "/api/v1/work", CALL, lab["token"]))
        await _until(lambda: "h" in _offers(server))
        assert (await waiting)[0] == 401
        await _until(lambda: not _offers(server))
        await _handed_in(server)
        assert not server.world.state.attempts

    server.loop.run_until_complete(go())


def test_what_was_decided_in_the_moment_of_revoking_does_not_leave(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task is committed to its host already; it goes elsewhere when that is found silent."""
    lab = server.token("pool", "lab")
    server.loop.run_until_complete(_handed_in(server))
    call = server.world.call

    async def late(*words: Any, **named: Any) -> bytes:
        reply = await call(*words, **named)
        await server.calling("POST", "/api/v1/tokens/1/revoke")
        assert b"hidden" in reply
        return reply

    monkeypatch.setattr(server.world, "call", late)
    status, told = server.call("POST", "/api/v1/work", CALL, lab)
    assert status == 401 and "hidden" not in str(told)


@pytest.mark.parametrize("what", ["events", "answers"])
def test_a_feed_that_waits_ends_with_its_token(server: Spoken, what: str) -> None:
    ada = server.token("user", "ada")
    bag = server.submit("true", ada)
    _, items = server.call("GET", f"{BAGS}/{bag}/events", token=ada)
    path = f"{BAGS}/{bag}/{what}?after={items[-1]['n'] if items else 0}&wait=60"

    async def go() -> None:
        waiting = asyncio.create_task(server.calling("GET", path, token=ada))
        waiters = server.world._waiters._of
        await _until(lambda: bag in waiters)
        await server.calling("POST", "/api/v1/tokens/1/revoke")
        assert (await waiting)[0] == 401
        await _until(lambda: bag not in waiters)

    server.loop.run_until_complete(go())


def test_others_go_on_waiting_when_a_token_is_revoked(server: Spoken) -> None:
    ada = server.token("user", "ada")
    lab = server.token("pool", "lab")
    server.token("pool", "lab")

    async def go() -> None:
        waiting = asyncio.create_task(server.calling("POST", "/api/v1/work", CALL, lab))
        await _until(lambda: "h" in _offers(server))
        for number in (1, 3):
            await server.calling("POST", f"/api/v1/tokens/{number}/revoke")
        assert (await server.calling("GET", BAGS, token=ada))[0] == 401
        await _handed_in(server)
        status, told = await waiting
        assert status == 200 and len(told["start"]) == 1

    server.loop.run_until_complete(go())


def test_a_bag_whose_token_was_revoked_while_it_was_sent_is_not_taken(server: Spoken) -> None:
    tokens = Tokens(server.world.store)
    ada = server.token("user", "ada")

    async def go() -> int:
        told: list[Any] = []
        parts = [b'{"spec": ', b'{"name": "b", "folder": "/tmp", "command": "true", "axes": []}}']

        async def receive() -> Any:
            if len(parts) == 1:
                await server.calling("POST", "/api/v1/tokens/1/revoke")
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message: Any) -> None:
            told.append(message)

        headers = [(b"authorization", f"Bearer {ada}".encode())]
        scope = {"type": "http", "method": "POST", "path": BAGS, "headers": headers}
        await server.app(scope, receive, send)
        return int(told[0]["status"])

    assert server.loop.run_until_complete(go()) == 401
    assert server.call("GET", BAGS)[1] == [] and tokens.list()[0].kind is Kind.USER
