"""Bags that would cost a server dear: a small body that becomes a large task, values that do not
suit their places, paths of the server's own machine. Refused with a reason, and soon."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.server.spoken import SPEC, Spoken, spoken

Json = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    with spoken(tmp_path_factory.mktemp("hostile")) as made:
        yield made


@pytest.fixture(scope="module")
def bob(server: Spoken) -> str:
    return server.token("user", "bob")


def _rows(cells: list[str], kind: str = "text") -> tuple[Json, list[str]]:
    """The axes of one column, and its chunks."""
    column = {"type": "rows", "columns": ["a"], "kinds": [kind], "count": len(cells)}
    parts = [cells[at : at + 1000] for at in range(0, len(cells), 1000)]
    chunks = [msgspec.msgpack.encode([[cell] for cell in part]) for part in parts]
    return {"axes": [[column]]}, [base64.b64encode(chunk).decode() for chunk in chunks]


def _refused(server: Spoken, token: str, spec: Json, chunks: list[str] | None = None) -> str:
    body = {"spec": {**SPEC, **spec}, "chunks": chunks or []}
    status, told = server.call("POST", "/api/v1/bags", body, token)
    assert status == 400 and server.world.available
    assert len(told["error"]) < 2_000
    return str(told["error"])


def _listed(*values: Any) -> Json:
    return {"axes": [[{"type": "list", "name": "a", "values": values}]]}


ROWS = {
    "a fraction among whole numbers": ("echo {a:d}", "int", ["1", "1.5", "2"], "'1.5'"),
    "no number at all": ("echo {a}", "int", ["1", "nan", "2"], "'nan'"),
    "an infinite one": ("echo {a}", "number", ["1", "1e999", "2"], "'1e999'"),
    "one with a blank": ("echo {a}", "number", ["1", " 2", "2"], "' 2'"),
    "a NUL byte": ("echo {a}", "text", ["1", "a\0b", "2"], "NUL"),
    "a letter beyond all": ("echo {a:c}", "int", ["65", "2000000", "66"], "'2000000' in row 2"),
    "half a letter": ("echo {a:c}", "int", ["65", "55296", "66"], "'55296' in row 2"),
    "a text for a number": ("echo {a:.2f}", "text", ["1", "x", "2"], "'x' in row 2"),
    "one among thousands": ("echo {a:d}", "number", [*["1"] * 1700, "1.5", "2"], "in row 1,701"),
}


@pytest.mark.parametrize("what", ROWS)
def test_every_row_must_suit_its_kind_and_every_format(server: Spoken, bob: str, what: str) -> None:
    command, kind, cells, words = ROWS[what]
    axes, chunks = _rows(cells, kind)
    assert words in _refused(server, bob, {"command": command, **axes}, chunks)


def _range(**given: Any) -> Json:
    column = {"type": "range", "name": "a", "start": "0", "step": "1", "count": 3, **given}
    return {"axes": [[column]]}


VALUES = {
    "a NUL byte in a value": (_listed("x", "a\0b"), "NUL"),
    "a number of too many bits": (_listed(1, 2**70), "64 bits"),
    "a NUL byte in an argument": ({"command": ["echo", "a\0b"]}, "NUL"),
    "a NUL byte in the environment": ({"env": {"A": "a\0b"}}, "NUL"),
    "a range that would fill the memory": (_range(start="1e9999999999"), "fraction"),
    "a step that would": (_range(step="1e9999999999"), "fraction"),
    "a range beyond 64 bits": (_range(start=str(2**63 - 2)), "64 bits"),
    "a range beyond all numbers": (_range(step=f"1{'0' * 308}", whole=False), "too large"),
    "a format for texts only": ({"command": "echo {a:x}", **_listed(1, "x")}, "'x'"),
}  # fmt: skip


@pytest.mark.parametrize("what", VALUES)
def test_values_that_no_file_could_hold_are_refused(server: Spoken, bob: str, what: str) -> None:
    spec, words = VALUES[what]
    assert words in _refused(server, bob, spec)


LONG = "x" * 100_000
HUGE = {
    "a value in many places": ({"command": "true " + "{a}" * 60_000, **_listed("1", LONG)},
                               "task 1: its command and environment would have 6,000,1"),
    "many words": ({"command": ["true", *["{a}y"] * 60_000], **_listed("1", LONG)}, "task 1"),
    "behind :::": ({"command": "true " + "{}" * 60_000, "syntax": "parallel",
                    "axes": [[{"type": "list", "name": "1", "values": ["1", LONG]}]]}, "task 1"),
    "variables": ({"env": {f"V{n}": "{a}" for n in range(9_000)}, **_listed("1", LONG)}, "task 1"),
    "a wide format": ({"command": "true {a:>1100000000}", **_listed(1)}, "1,000 places"),
    "a precise format": ({"command": "true {a:.1100000000f}", **_listed(1)}, "1,000 places"),
    "wide beyond all digits": ({"command": f"true {{a:>{'9' * 5000}}}", **_listed(1)}, "places"),
    "many formats": ({"command": "true " + "{a:>1000}" * 9_000, **_listed(1)}, "task 0"),
    "a wide name of an input": ({"files": "staged", "catalogue": {"hash": "ab" * 32, "size": 1},
                                 "inputs": [{"name": "a", "place": "{a:>99999999}"}],
                                 **_listed(1)}, "1,000 places"),
    "a long name of an input": ({"files": "staged", "catalogue": {"hash": "ab" * 32, "size": 1},
                                 "inputs": [{"name": "a", "place": "{a}"}], **_listed(LONG)},
                                "a name of 100,000 characters"),
    "many names of files": ({"files": "staged", "catalogue": {"hash": "ab" * 32, "size": 1},
                             "inputs": [{"name": f"{n}", "place": "{a}"} for n in range(9_000)],
                             **_listed(LONG)}, "the names of its files"),
    "a wide `then`": ({"then": "true {bag:>1100000000}"}, "`then`"),
    "a long `then`": ({"then": "{bag}" * 200_000, "name": "b" * 100}, "`then`"),
    "wide names of output": ({"syntax": "batch", "command": ["sh"], "batch": {
        "name": "s", "script": "true", "chdir": "/tmp", "stdout": "%x" * 9_000,
        "env": {"SLURM_JOB_NAME": LONG}}}, "too long"),
}  # fmt: skip


@pytest.mark.parametrize("what", HUGE)
def test_a_small_body_makes_no_large_task(server: Spoken, bob: str, what: str) -> None:
    spec, words = HUGE[what]
    assert words in _refused(server, bob, spec)


def test_one_long_row_is_found_among_short_ones(server: Spoken, bob: str) -> None:
    axes, chunks = _rows([*["x"] * 1500, LONG])
    command = {"command": "true " + "{a}" * 60}
    assert "task 1500: its command" in _refused(server, bob, {**command, **axes}, chunks)


def test_no_format_and_no_length_is_refused_that_people_use(server: Spoken, bob: str) -> None:
    axes, chunks = _rows(["1", "12", "-7"], "int")
    formats = "{a:04d} {a:>20} {a:0>10} {a:.3f} {a:e} {a:1000} {a:00010d}"
    command = {"command": f"true {formats}", **axes}
    status, told = server.call(
        "POST", "/api/v1/bags", {"spec": {**SPEC, **command}, "chunks": chunks}, bob
    )
    assert status == 200, told
    assert server.submit("true " + "{a} " * 19, bob, **_listed(LONG))


@pytest.mark.parametrize("place", ["/etc/passwd", "/nowhere/{a}", "{a}"])
@pytest.mark.parametrize("large", [False, True])
def test_nobody_but_its_owner_adds_to_a_bag_with_files_of_the_servers_machine(
    server: Spoken, tmp_path: Path, place: str, large: bool
) -> None:
    """Large ones are seen to by another process."""
    (tmp_path / "1").touch()
    one = {"type": "list", "name": "a", "values": ["1"]}
    place = place.replace("/nowhere", str(tmp_path))
    bag = server.submit(
        "true {a}", axes=[[one]], folder=str(tmp_path), inputs=[{"name": "i", "place": place}]
    )
    values = [f"{n}{'x' * 200 * large}" for n in range(2, 30)]
    path, more = f"/api/v1/bags/{bag}/add", {"axes": [[{**one, "values": values}]]}
    status, told = server.call("POST", path, more, server.token("admin", "root"))
    assert status == 400 and "are for who owns its folder" in told["error"]
    status, told = server.call("POST", path, more)
    assert status == (200 if "{" not in place else 400)
    assert status == 200 or "does not exist" in told["error"]


@pytest.mark.parametrize("then", [None, "true"])
def test_an_axis_without_a_column_is_refused(server: Spoken, bob: str, then: str | None) -> None:
    assert "an axis without a column" in _refused(server, bob, {"axes": [[]], "then": then})
    body = {"spec": {**SPEC, "axes": [[]], "then": then}, "bags": []}
    status, told = server.call("POST", "/api/v1/compare", body, bob)
    assert status == 400 and "an axis without a column" in told["error"]
