"""What was seen of the attempts of a bag, told page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.server.spoken import Spoken, spoken

from tailrace.bag.outcome import Outcome
from tailrace.cli.planning.observed import of_bag
from tailrace.cli.servers.remote import Remote
from tailrace.knowledge.sendings import Fate
from tailrace.server.records import observing
from tailrace.server.records.reader import StoreReader
from tailrace.server.tables.lock import Owner

COLUMN = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 5}


class Unplugged:
    """Asks as `Asked` does, without a socket."""

    def __init__(self, server: Spoken) -> None:
        self.server = server
        self.paths: list[str] = []

    def get(self, path: str, kind: Any) -> Any:
        self.paths.append(path)
        status, told = self.server.call("GET", f"/api/v1/{path}")
        assert status == 200, told
        return msgspec.convert(told, kind)


def remote(server: Spoken) -> tuple[Remote, Unplugged]:
    made, asked = Remote(Owner()), Unplugged(server)
    made._asked = asked  # type: ignore[assignment]
    return made, asked


def lived(server: Spoken) -> None:
    """Four attempts end in four ways, and one is out."""
    server.submit("true {x}", axes=[[COLUMN]], retries={"task_failed": 0},
                  timeout_us=3_600_000_000)  # fmt: skip
    held: list[int] = []
    for outcome in ("succeeded", "task_failed", "preempted", "succeeded", None):
        if not held:
            held += [one["attempt"] for one in server.work()[1]["start"]]
        if outcome:
            done = {"attempt": held.pop(0), "outcome": outcome, "exit": 0, "run_us": 10}
            told = server.work(held=held, results=[done])[1]
            held += [one["attempt"] for one in told["start"]]
    assert held


@pytest.fixture(params=["file", "database"])
def store(request: pytest.FixtureRequest) -> str:
    return "" if request.param == "file" else str(request.getfixturevalue("database").url())


@pytest.fixture
def server(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spoken]:
    monkeypatch.setattr(observing, "PAGE", 2)
    with spoken(tmp_path, store) as made:
        lived(made)
        yield made


def test_pages_together_are_what_the_tables_have(server: Spoken) -> None:
    there, asked = remote(server)
    told = there.observed(1)
    here = StoreReader(server.world.store.link, server.world.clock.now()).observed(1)
    assert told.attempts == here.attempts and len(told.attempts) > 4
    assert len(asked.paths) == len(told.attempts) // 2 + len(told.attempts) % 2 + 1
    assert [pool.name for pool in told.pools] == ["lab"] == [pool.name for pool in here.pools]


def test_each_attempt_is_told_as_it_ended(server: Spoken) -> None:
    told = remote(server)[0].observed(1).attempts
    assert [one.outcome for one in told[:4]] == [
        Outcome.SUCCEEDED, Outcome.TASK_FAILED, Outcome.PREEMPTED, Outcome.SUCCEEDED
    ]  # fmt: skip
    assert told[-1].outcome is None and told[-1].timeout_us == 3_600_000_000
    assert [one.failed for one in told[:4]] == [False, True, False, False]
    assert all(one.sent_us <= (one.ended_us or one.sent_us) for one in told)


def test_what_is_made_of_it(server: Spoken) -> None:
    """A machine that was taken away has failed; not one whose task did so for good."""
    found = of_bag(remote(server)[0], None)
    assert list(found.sendings.fate[:4]) == [
        Fate.RETURNED, Fate.RETURNED, Fate.FAILED, Fate.RETURNED
    ]  # fmt: skip
    assert found.sendings.fate[-1] == Fate.OUT and not found.finished
    assert found.timeout_s == 3600 and found.unreliable == ("lab",) and found.left == 2
    known = found.characterise()
    assert known.returned == 3 and known.failures_s.size == 1


def test_what_went_with_the_server_has_not_failed(store: str, tmp_path: Path) -> None:
    """Asked of the next server as of the tables."""
    with spoken(tmp_path, store) as before:
        lived(before)
    with spoken(tmp_path, store) as after:
        after.work(session=2)  # which knows nothing of what the first held
        found = of_bag(remote(after)[0], None)
        tables = StoreReader(after.world.store.link, after.world.clock.now()).observed(1)
    lost = [n for n, one in enumerate(tables.attempts) if one.outcome is Outcome.LOST]
    assert lost and [found.sendings.fate[n] for n in lost] == [Fate.OUT] * len(lost)
