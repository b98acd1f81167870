"""What schemathesis is told of this server: which numbers are there, and what nobody may see."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import schemathesis

HERS = os.environ["TAILRACE_FUZZ_HERS"]
BLOBS = os.environ["TAILRACE_FUZZ_BLOBS"].split()
KIND = os.environ["TAILRACE_FUZZ_KIND"]
BEYOND = 10**15  # no number of anything; what is asked for it is to be refused
SPEC = {
    "name": "b", "folder": "/tmp", "command": "echo {x}",
    "axes": [[{"type": "range", "name": "x", "start": "0", "step": "1", "count": 3}]],
}  # fmt: skip
THERE = {"bag": 4, "task": 3, "token": 2, "attempt": 12}  # numbers; a call may name one more


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Most numbers are of nothing, and most bags of chance are none: three of four calls name what
    is there. No call waits."""
    for name, value in (case.path_parameters or {}).items():
        if name in THERE and isinstance(value, int) and 0 <= value < BEYOND and value % 4:
            case.path_parameters[name] = value % (THERE[name] + 2)
        elif name == "hash" and value[:1] in "02468ac":
            case.path_parameters[name] = BLOBS[value[:1] in "048"]
    if case.query and "wait" in case.query:
        case.query["wait"] = _short(case.query["wait"])
    if isinstance(case.body, dict):
        _steer(case.operation.path, case.body)


def _short(wait: Any) -> Any:
    """However it will be written in the address."""
    if isinstance(wait, list):
        return [_short(one) for one in wait]
    with suppress(TypeError, ValueError):
        return min(float(wait), 0)
    return wait


def _steer(path: str, body: dict[str, Any]) -> None:
    """Only where what stands there is of the form described."""
    drawn = sum(map(ord, repr(body)))
    if path == "/api/v1/work" and isinstance(body.get("wait_s"), int | float):
        body["wait_s"] = min(body["wait_s"], 0)
        right = {"protocol": 2, "pool": "lab", "host": "h"}
        body.update((name, value) for name, value in right.items() if name in body and drawn % 4)
    if path == "/api/v1/bags" and isinstance(body.get("spec"), dict):
        strange = sorted(body["spec"])[drawn % 5 :: 5] if drawn % 4 else body["spec"]
        body["spec"] = SPEC | {name: body["spec"][name] for name in strange}


@schemathesis.check
def shows_nothing_of_anothers(ctx: Any, response: Any, case: Any) -> None:
    if KIND == "user":
        assert HERS.encode() not in response.content, "another user's data"
        assert HERS not in str(response.headers), "another user's data"
