"""A bag of a thousand million tasks of which a few have ended: only those few are read."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.conftest import ask
from tests.server.spoken import Spoken, spoken

from tailrace.bag.bag import Bag
from tailrace.cli.servers import remote
from tailrace.cli.wanted import Wanted
from tailrace.report.record import Which
from tailrace.report.results import write_csv
from tailrace.server.records.reader import StoreReader
from tailrace.server.tables.lock import Owner

AXES = [
    [{"type": "range", "name": name, "start": "0", "step": "1", "count": 1000, "whole": True}]
    for name in "abc"
]
ENDED = 600  # more than a page
MOST_LOOKED_AT = 10_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Spoken]:
    """Its tasks are sent in a shuffled order, and one in ten fails."""
    with spoken(tmp_path) as made:
        made.submit("model {a} {b} {c}", axes=AXES, order="shuffled", retries={"task_failed": 0})
        results: list[dict[str, Any]] = []
        done = 0
        for _ in range(ENDED):
            _, reply = made.work(results=results, capacity={"cores": 50_000})
            results = [_ended(done + n, one) for n, one in enumerate(reply["start"])]
            done += len(results)
            if done > ENDED:
                break
        made.work(results=results, capacity={})
        yield made


def _ended(n: int, start: dict[str, Any]) -> dict[str, Any]:
    outcome = {"outcome": "task_failed", "exit": 1, "stderr": f"wrong: {chr(97 + n % 26)}\n"}
    if n % 10:
        outcome = {"outcome": "succeeded", "exit": 0, "value": {"y": n}}
    return {"attempt": start["attempt"], "run_us": 10**6, **outcome}


@pytest.fixture(autouse=True)
def few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """To go through all of them would take hours."""
    params, asked = Bag.params, []

    def counted(bag: Bag, index: int) -> dict[str, Any]:
        asked.append(index)
        assert len(asked) < MOST_LOOKED_AT
        return params(bag, index)

    monkeypatch.setattr(Bag, "params", counted)


def test_a_table_reads_its_ends_and_done_and_failed_only_what_ended(
    server: Spoken, tmp_path: Path
) -> None:
    told = ask(tmp_path, "results").out
    assert "\n999999999  " in told and f"… {10**9 - 30:,} more, use --all" in told
    done = ask(tmp_path, "results", "--done", "--json").json
    failed = [row for row in done if row["outcome"] == "task_failed"]
    assert len(done) > ENDED and len(failed) > ENDED // 20
    assert [row["task"] for row in done] == sorted(row["task"] for row in done)
    assert ask(tmp_path, "results", "--failed", "--json").json == failed
    lines = ask(tmp_path, "results", "--failed", "--columns", "task").out.splitlines()
    assert [int(line) for line in lines[1:21]] == [row["task"] for row in failed[:20]]
    assert [int(line) for line in lines[22:32]] == [row["task"] for row in failed[-10:]]
    assert lines[32].split()[:2] == ["…", str(len(failed) - 30)]


def test_all_rows_stream_as_csv_with_the_columns_of_those_that_ended(server: Spoken) -> None:
    reader = StoreReader(server.world.store.link, None)
    out = _Full(lines=1000)
    with contextlib.suppress(_Full.Reached):
        write_csv(reader.results(1), out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("task,a,b,c,y,outcome,")
    assert lines[1].startswith("0,0,0,0,") and lines[1000].startswith("999,0,0,999,")


class _Full(io.StringIO):
    """Takes so many lines."""

    class Reached(Exception):
        pass

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._left = lines + 1

    def write(self, text: str) -> int:
        self._left -= 1
        if self._left < 0:
            raise self.Reached
        return super().write(text)


def test_another_machine_is_told_the_same(server: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked:
        def __init__(self, owner: Owner) -> None: ...

        def get(self, path: str, kind: Any) -> Any:
            status, told = server.call("GET", f"/api/v1/{path}")
            assert status == 200, told
            return msgspec.convert(told, kind)

    monkeypatch.setattr(remote, "Asked", Asked)
    here = StoreReader(server.world.store.link, None)
    there = remote.Remote(Owner(address="", token=""))
    for which in Which:
        ours, theirs = (_shown(one, which) for one in (here, there))
        assert ours == theirs
    assert list(here.results(1, Which.DONE)) == list(there.results(1, Which.DONE))


def _shown(reader: Any, which: Which) -> Any:
    ends = Wanted(reader, reader.bag(1), which).ends(every=False)
    assert len(ends.top) == 20 and len(ends.bottom) == 10
    return ends, list(islice(reader.results(1, which), 40))
