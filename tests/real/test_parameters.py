"""A policy that looks at parameters, on a real server: each task goes where its values let it go,
also after a restart in the middle, with tasks that are added, and under another policy."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.real.served import Server, serving, wait_for, worker

BAG = """
command = "sleep 0.05; echo {x} {size}"
repeat = 4
[parameters]
x = [5, 1, 3, 7]
size = ["small", "large"]
[policy]
JobRequirements = 'Params.x > 3 ? Host.Pool == "big" : true'
Deadline = '100 + Job.Params.x'
"""


def results(folder: Path) -> list[dict[str, Any]]:
    found = json.loads(ask(folder, "results", "--json").out)
    return [one for one in found if one["outcome"] == "succeeded"]


def joined(server: Server, pool: str) -> AbstractContextManager[Any]:
    """A worker of a pool of this name."""
    return worker(server.folder / pool, TAILRACE_JOIN=server.token(pool, "pool").text())


def where(folder: Path) -> set[tuple[bool, str, str]]:
    """Is x above 3, the size, and the pool, of all that has run."""
    some = [(one["params"], one["pool"]) for one in results(folder)]
    return {(params["x"] > 3, params["size"], pool) for params, pool in some}


def test_each_task_goes_where_its_parameters_let_it_go(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text(BAG)
    with serving(tmp_path) as server:
        done = ask(tmp_path, "submit", "--quiet")
        assert done.code == 0, done.err
        with joined(server, "lab"):
            wait_for(lambda: len(results(tmp_path)) == 16)
            (tried,) = ask(tmp_path, "policy", "test", "1", "--json").json["hosts"]
            assert not tried["matches"]
            added = ask(tmp_path, "add", "1", "--set", "x=2,9")
            assert added.code == 0, added.err
            wait_for(lambda: len(results(tmp_path)) == 24)
        assert server.end() == 0
    assert where(tmp_path) == {(False, "small", "lab"), (False, "large", "lab")}
    with serving(tmp_path) as server:
        words = """JobRequirements=Params.size == "large" || Host.Pool == "big\""""
        with joined(server, "far"):
            told = ask(tmp_path, "policy", "set", "1", words)
            assert told.code == 0, told.err
            wait_for(lambda: len(results(tmp_path)) == 36)
            with joined(server, "big"):
                wait_for(lambda: len(results(tmp_path)) == 48)
    later = {one for one in where(tmp_path) if one[2] != "lab"}
    assert later == {(True, "large", "far"), (True, "small", "big")}
    assert len({one["task"] for one in results(tmp_path)}) == 48


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("JobRequirements = 'Params.y > 3'", "bag.toml:7: JobRequirements, column 1: there is no "
         "attribute Params.y\n  the bag has x, size, repeat"),
        ("JobRequirements = 'Params.siz == \"a\"'", "did you mean Params.size?"),
        ("Rank = 'Params.x'", "bag.toml:7: Rank, column 1: Rank cannot look at Params.x"),
        ("Deadline = 'Params.x'", "bag.toml:7: Deadline: Params.x: tasks have more than 256"),
        ("JobRequirements = 'Params.size > 3'", "bag.toml:7: JobRequirements: it gives ERROR"),
    ],
)  # fmt: skip
def test_what_a_policy_cannot_look_at_is_told_with_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    swept = BAG.replace("[5, 1, 3, 7]", "{from = 1, to = 1000}").strip()
    (tmp_path / "bag.toml").write_text(swept.partition("[policy]")[0] + f"[policy]\n{text}\n")
    told = ask(tmp_path, "check", "bag.toml")
    assert told.code == 2 and said in told.err, told.err
