"""Arguments of many megabytes travel as blobs: none is in a row of the store."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.real.served import Server, serving, worker

import tailrace
from tailrace.bag.items import LARGE, Parcel, encode_items
from tailrace.errors import BadInput
from tailrace.python.calls import Rules, bag_of
from tailrace.server.people.principals import Kind, Principal
from tailrace.server.submission import Submission, checked
from tailrace.worker.depot import Depot
from tailrace.worker.joining import Join

MANY = 20 << 20


def told(data: bytes, more: int = 0) -> tuple[int, str, int]:
    return len(data), hashlib.sha256(data).hexdigest(), more


def _largest_row(folder: Path) -> int:
    with sqlite3.connect(folder / ".tailrace/store.db") as link:
        tables = ("chunks", "bags", "journal", "attempts", "feed")
        columns = ("body", "spec", "body", "body", "body")
        asked = (
            link.execute(f"SELECT coalesce(max(length({column})), 0) FROM {table}")
            for table, column in zip(tables, columns, strict=True)
        )
        return max(row.fetchone()[0] for row in asked)


def _same(executor: tailrace.Executor) -> None:
    data, small = os.urandom(MANY), b"small"
    assert executor.submit(told, data, more=7).result(120) == told(data, 7)
    just, over = os.urandom(LARGE - 1000), os.urandom(LARGE + 1)
    given = [small, data, just, over, small, data]
    assert list(executor.map(told, given)) == [told(one) for one in given]


def test_a_large_argument_reaches_a_call_of_this_machine(tmp_path: Path) -> None:
    with tailrace.Executor(2, folder=tmp_path) as executor:
        _same(executor)
    assert _largest_row(tmp_path) < 1 << 20
    holders = [path.name for path in (tmp_path / ".tailrace/blobs/of").iterdir()]
    assert holders and all(name.startswith("bag-") for name in holders)


def test_so_it_does_where_nothing_is_kept() -> None:
    with tailrace.Executor(1) as executor:
        _same(executor)


def test_a_large_argument_reaches_a_call_of_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path) as server:
        ada, lab = server.token("ada", "user"), server.token("lab", "pool", "--trusted")
        monkeypatch.setenv("TAILRACE_TOKEN", ada.token)
        far = worker(tmp_path / "far", TAILRACE_JOIN=lab.text())
        with far, tailrace.Executor(server=ada.url) as executor:
            _same(executor)
        status, bags = server.ask(ada, "GET", "/api/v1/bags")
        assert status == 200 and {bag["failed"] for bag in bags} == {0}
        assert server.end() == 0
    assert _largest_row(tmp_path) < 1 << 20


def _submitted(*items: Any) -> Submission:
    bag = bag_of("f", b"", [b"1"] * len(items), Rules().fields("f"), "")
    first = bag.encode()[1][0]
    return Submission(bag.spec, [first, encode_items(list(items))])


@pytest.mark.parametrize(
    "item", [Parcel("0" * 64, 5), Parcel("../../etc", 5), Parcel("0" * 64, -1), 7, ["0" * 64]]
)
def test_a_large_item_that_names_no_file_is_refused(item: Any) -> None:
    ada = Principal(Kind.USER, "ada")
    assert checked(_submitted(b"1"), ada).count == 1
    with pytest.raises(BadInput, match="does not hold the items"):
        checked(_submitted(b"1", item), ada)


def test_what_another_has_put_is_no_argument(tmp_path: Path) -> None:
    """To know a hash is not to have the bytes: neither by a catalogue nor without one."""
    hers = b"hers" * 100
    name = hashlib.sha256(hers).hexdigest()
    mine = bag_of("f", b"", [b"1", os.urandom(LARGE + 1)], Rules().fields("f"), "")
    with serving(tmp_path) as server:
        ada, bob = server.token("ada", "user"), server.token("bob", "user")
        server.token("lab", "pool", "--trusted")
        _put(ada, name, hers)
        for blob, data in mine.take_blobs().items():
            _put(bob, blob, bytes(data))
        first = mine.encode()[1][0]
        theirs = [first, encode_items([b"1", Parcel(name, len(hers))])]
        asked = {"spec": replace(mine.spec, folder="/tmp"), "chunks": theirs}
        status, answer = _hand_in(server, bob, asked)
        assert status == 400 and "call 1 are not in its catalogue" in answer["error"], answer


def _put(who: Join, name: str, data: bytes) -> None:
    depot = Depot(lambda: who, lambda _: None)
    depot.put(name, data)
    depot.close()


def _hand_in(server: Server, who: Join, asked: Any) -> tuple[int, Any]:
    return server.ask(who, "POST", "/api/v1/bags", msgspec.to_builtins(asked))
