"""Calls handed to a server that stays, by one of its users."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.real.served import serving

import tailrace
from tailrace.errors import BadInput
from tailrace.server.principals import Kind, Principal
from tailrace.server.submission import Submission, checked


def test_a_server_elsewhere_makes_the_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(x: int) -> float:
        if x == 13:
            raise ValueError("thirteen")
        return x / 2

    monkeypatch.chdir(tmp_path)
    with serving(tmp_path, "--local") as server:
        ada = server.token("ada", "user")
        monkeypatch.setenv("TAILRACE_TOKEN", ada.token)
        with tailrace.Executor(server=ada.url) as executor:
            results = executor.map(half, range(300))
            assert [next(results) for _ in range(13)] == [x / 2 for x in range(13)]
            with pytest.raises(ValueError, match="thirteen"):
                next(results)
            pid = executor.submit(os.getpid).result(timeout=60)
        assert pid != os.getpid()
        status, bags = server.ask(ada, "GET", "/api/v1/bags")
        assert (status, [bag["owner"] for bag in bags]) == (200, ["ada", "ada"])
        monkeypatch.setenv("TAILRACE_TOKEN", "wrong")
        with pytest.raises(BadInput, match="does not know your token"):
            tailrace.Executor(server=ada.url).submit(half, 1)


@pytest.mark.parametrize("wrong", ["python", "ends", "chunks", "items"])
def test_a_bag_of_calls_is_checked_when_it_is_handed_in(wrong: str) -> None:
    from msgspec.structs import replace

    from tailrace.python.calls import Rules, bag_of

    bag = bag_of("f", b"", [b"1", b"2"], Rules().fields("f"), "")
    spec, chunks = bag.spec, list(bag.encode()[1])
    assert checked(Submission(spec, chunks), Principal(Kind.USER, "ada")).count == 2
    assert spec.function is not None
    changed = {"python": {"python": "2.7; rm -rf"}, "ends": {"ends": (3,)}}.get(wrong, {})
    spec = replace(spec, function=replace(spec.function, **changed))
    chunks = {"chunks": chunks[:1], "items": [chunks[0], b"\x91\x01"]}.get(wrong, chunks)
    with pytest.raises(BadInput, match=r"calls has|its items come|does not hold the items"):
        checked(Submission(spec, chunks), Principal(Kind.USER, "ada"))
