"""What a worker tells of its machine is checked before the host is believed, and kept."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.spoken import Spoken, spoken

from tailrace.bag.policy import HostPolicy
from tailrace.errors import BadInput
from tailrace.server import sayings
from tailrace.server.policytrial import try_policy
from tailrace.server.sayings import Sayings

FACTS = {"owner": "alice", "cpu": "Xeon", "benchmark": 1.25}
SAYS = {"host_requirements": 'BOT.Owner == "alice"', "host_rank": "BOT.Priority"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Spoken]:
    with spoken(tmp_path) as made:
        yield made


def rows(server: Spoken) -> list[dict[str, Any]]:
    return [one["host"]["row"] for one in server.call("GET", "/api/v1/hosts")[1]]


def test_what_a_worker_tells_of_its_machine_is_kept(server: Spoken) -> None:
    assert server.work(**FACTS, says=SAYS)[0] == 200
    (row,) = rows(server)
    assert {name: row[name] for name in FACTS} == FACTS
    assert row["says"] == SAYS


def test_it_is_known_again_after_a_restart(tmp_path: Path) -> None:
    with spoken(tmp_path) as first:
        first.work(**FACTS, says=SAYS)
    with spoken(tmp_path) as second:
        host = second.world.state.hosts["h"]
        assert (host.owner, host.cpu, host.benchmark) == ("alice", "Xeon", 1.25)
        assert host.says == HostPolicy(**SAYS)


def test_a_worker_of_before_is_taken_as_it_was(server: Spoken) -> None:
    assert server.work()[0] == 200
    (row,) = rows(server)
    assert not {"owner", "cpu", "benchmark", "says"} & set(row)


def test_a_speed_stays_known_until_it_is_measured_again(server: Spoken) -> None:
    """A worker that has begun anew, and one whose machine has another processor now."""
    server.work(**FACTS)
    server.work(**{**FACTS, "benchmark": None}, session=2)
    assert rows(server)[0]["benchmark"] == 1.25
    server.work(cpu="another", session=3)
    assert "benchmark" not in rows(server)[0]


def test_words_that_were_taken_back_hold_no_more(server: Spoken) -> None:
    server.work(says=SAYS)
    server.work(session=2)
    assert "says" not in rows(server)[0]


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ({"host_rank": "BOT.Spede"}, "HostRank, column 1: there is no attribute BOT.Spede"),
        ({"host_requirements": "1 +"}, "HostRequirements, column 3"),
        ({"host_requirements": "3"}, "HostRequirements: it "),
        ({"host_rank": 'real("nan")'}, "HostRank"),
        ({"host_rank": "1 + " * 2000 + "1"}, "HostRank: the expression has 8001 characters"),
        ({"host_rank": "time()"}, "HostRank, column 1"),
        ({"host_rank": "HostRank"}, "HostRank"),
        ({"host_rank": "(" * 300 + "1" + ")" * 300}, "nested too deeply"),
    ],
)
def test_bad_words_are_refused_in_words_and_the_host_is_not_known(
    server: Spoken, says: dict[str, str], told: str
) -> None:
    status, answer = server.work(says=says)
    assert status == 422
    assert told in answer["error"]
    assert rows(server) == []
    assert server.work()[0] == 200


def test_a_text_that_ends_the_process_that_reads_it_is_refused(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    status, answer = server.work(says=SAYS)
    assert (status, "ends the process" in answer["error"]) == (422, True)


@pytest.mark.parametrize(
    "facts",
    [
        {"owner": "a\nb"},
        {"owner": "x" * 201},
        {"cpu": "x" * 257},
        {"benchmark": 0},
        {"benchmark": -1.5},
        {"says": {"host_rank": 3}},
        {"says": "true"},
    ],
)
def test_facts_that_cannot_be_are_refused(server: Spoken, facts: dict[str, Any]) -> None:
    assert server.work(**facts)[0] == 400


class Tried(list[HostPolicy]):
    """Stands in for the child process, and counts: words with a 0 in them are refused."""

    def __call__(self, says: HostPolicy) -> None:
        self.append(says)
        if "0" in (says.host_rank or ""):
            raise BadInput("no", remedy="say another")


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Tried:
    made = Tried()
    monkeypatch.setattr(sayings, "try_policy", made)
    return made


def word(rank: object) -> HostPolicy:
    return HostPolicy(host_rank=f"{rank}")


def test_the_same_words_of_many_machines_are_tried_once(tried: Tried) -> None:
    good = Sayings()

    async def all_at_once() -> None:
        await asyncio.gather(*[good.check(HostPolicy(**SAYS)) for _ in range(10)])

    asyncio.run(all_at_once())
    assert tried == [HostPolicy(**SAYS)]


def test_words_that_were_refused_are_refused_again_untried(tried: Tried) -> None:
    known = Sayings()

    async def again_and_again() -> None:
        for _ in range(3):
            with pytest.raises(BadInput, match="no") as fault:
                await known.check(word(0))
            assert fault.value.remedy == "say another"

    asyncio.run(again_and_again())
    assert tried == [word(0)]


def test_what_is_said_often_stays_known_beside_any_number_of_others(
    tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sayings, "MOST_KNOWN", 3)
    known = Sayings()

    async def two_among_many() -> None:
        for other in range(11, 20):
            await known.check(word(1))
            with pytest.raises(BadInput):
                await known.check(word(0))
            await known.check(word(other))

    asyncio.run(two_among_many())
    assert tried.count(word(1)) == tried.count(word(0)) == 1
    assert len(tried) == 2 + len(range(11, 20))


def test_a_trial_that_was_cut_off_is_made_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may have been busy then."""
    tries = []

    def cut_off_at_first(says: HostPolicy) -> None:
        tries.append(says)
        if len(tries) == 1:
            try_policy(says, most_s=0.001)

    monkeypatch.setattr(sayings, "try_policy", cut_off_at_first)
    known = Sayings()

    async def until_it_is_believed() -> None:
        for _ in range(2):
            with pytest.raises(BadInput, match="takes too long"):
                await known.check(word(1))
        assert len(tries) == 1
        monkeypatch.setattr(sayings, "_now_s", lambda: asyncio.get_running_loop().time() + 3600)
        await known.check(word(1))

    asyncio.run(until_it_is_believed())
    assert tries == [word(1)] * 2


def test_a_host_that_says_what_it_said_before_is_not_tried_again(
    tmp_path: Path, tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many others say something else; and also after a restart."""
    monkeypatch.setattr(sayings, "MOST_KNOWN", 1)
    with spoken(tmp_path) as server:
        for _ in range(3):
            for n in range(1, 5):
                assert server.work(host=f"h{n}", says={"host_rank": str(n)})[0] == 200
        assert tried == [word(n) for n in range(1, 5)]
        assert server.work(host="h1", says={"host_rank": "5"})[0] == 200
        assert tried[4:] == [word(5)], "it has changed its mind"
    with spoken(tmp_path) as server:
        assert server.work(host="h2", session=2, says={"host_rank": "2"})[0] == 200
    assert len(tried) == 5


def test_one_host_is_not_believed_what_another_has_said(server: Spoken, tried: Tried) -> None:
    """Its key decides who it is, before its words count."""
    assert server.work(host="h1", says={"host_rank": "1"})[0] == 200
    assert server.work(host="h1", key="x" * 32, says={"host_rank": "1"})[0] == 403
    assert server.work(host="h2", says={"host_rank": "0"})[0] == 422


def test_a_slow_word_of_a_machine_is_found_by_its_trial() -> None:
    slow = " || ".join(['regexp("^[ab]+[ab]+[ab]+$", BOT.Name)'] * 50)
    with pytest.raises(BadInput, match="HostRequirements takes too long"):
        try_policy(HostPolicy(host_requirements=slow))
