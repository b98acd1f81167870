"""A real `tailrace serve` with bags of two users, and one of those who may call it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.real.served import Server, serving

HERS = "adas-0-secret"  # and no part of any sentence
TASKS = 3
WORK = {
    "protocol": 2, "key": "k" * 32,
        "host": "h", "session": 1, "pool": "lab", "kind": "k", "held": [],
    "capacity": {"cores": 8000}, "wait_s": 0,
}  # fmt: skip


class Stage(NamedTuple):
    server: Server
    kind: str  # of who calls
    token: str
    url: str
    blobs: tuple[str, str]  # ada's and bob's


@contextmanager
def staged(folder: Path, kind: str, *words: str) -> Iterator[Stage]:
    """Bags 1 and 3 are ada's, 2 and 4 bob's; 1 and 2 have results. `words` are for `serve`."""
    with serving(folder, *words) as server:
        for name in ("one", "two"):  # to be revoked
            server.token(name, "user")
        ada, bob = server.token("ada", "user"), server.token("bob", "user")
        lab, root = server.token("lab", "pool"), server.token("root", "admin")
        for who, text in ((ada, HERS), (bob, "his")):
            _handed_in(server, who, text)
        _work(server, lab)
        for who, text in ((ada, HERS), (bob, "his")):
            _handed_in(server, who, text)
        blobs = _put(server, ada, HERS), _put(server, bob, "his")
        callers = {"user": bob, "pool": lab, "admin": root}
        yield Stage(server, kind, callers[kind].token, root.url, blobs)


def _handed_in(server: Server, who: Any, text: str) -> None:
    column = {"type": "list", "name": "x", "values": [f"{text}{n}" for n in range(TASKS)]}
    spec = {
        "name": text, "folder": f"/tmp/{text}", "command": f"echo {text} {{x}}",
        "axes": [[column]], "env": {"X": text}, "max_failures": 99,
        "retries": {"task_failed": 0},
    }  # fmt: skip
    status, told = server.ask(who, "POST", "/api/v1/bags", {"spec": spec})
    assert status == 200, told


def _work(server: Server, lab: Any) -> None:
    """The first task of a bag fails, the others succeed; each tells whose it was."""
    results: list[dict[str, Any]] = []
    for seq in range(1, 10):
        call = {**WORK, "seq": seq, "results": results}
        status, reply = server.ask(lab, "POST", "/api/v1/work", call)
        assert status == 200, reply
        if not reply["start"]:
            return
        results = [_result(one) for one in reply["start"]]
    raise AssertionError("it does not end")


def _result(start: dict[str, Any]) -> dict[str, Any]:
    text = HERS if HERS in str(start) else "his"
    outcome = "task_failed" if f"{text}0" in str(start) else "succeeded"
    return {
        "attempt": start["attempt"], "outcome": outcome, "exit": int(outcome != "succeeded"),
        "run_us": 1000, "stdout": text, "stderr": text, "value": {"of": text},
    }  # fmt: skip


def _put(server: Server, who: Any, text: str) -> str:
    name = hashlib.sha256(json.dumps(text).encode()).hexdigest()
    status, told = server.ask(who, "PUT", f"/api/v1/blobs/{name}", text)
    assert status == 200, told
    return name
