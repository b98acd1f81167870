"""Results in pages: all of them come, each page is bounded, and nobody waits for a reader."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.spoken import Spoken, spoken

from tailrace.report.record import Which
from tailrace.server.records import reading
from tailrace.server.web import answering, pages

COLUMN = {"type": "range", "name": "x", "start": "0", "step": "1", "count": 12}
RESULTS = "/api/v1/bags/1/results"
ANSWERS = "/api/v1/bags/1/answers"
HUGE = 2**53 + 1


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Spoken]:
    """Bag 1 has twelve tasks; ten are done, of which every second has failed."""
    with spoken(tmp_path) as made:
        made.submit("true {x}", axes=[[COLUMN]], retries={"task_failed": 0})
        results: list[dict[str, Any]] = []
        for _ in range(5):
            _, reply = made.work(results=results, capacity={"cores": 2000})
            results = [_done(one) for one in reply["start"]]
        made.work(results=results, capacity={"cores": 0})
        yield made


def _done(start: dict[str, Any]) -> dict[str, Any]:
    failed = start["index"] % 2
    return {
        "attempt": start["attempt"], "outcome": "task_failed" if failed else "succeeded",
        "exit": failed, "run_us": 10, "stdout": "out " * 2_000, "stderr": "err",
    }  # fmt: skip


def _pages(server: Spoken, which: Which) -> list[list[int]]:
    found: list[list[int]] = []
    first = 0
    while True:
        status, told = server.call("GET", f"{RESULTS}?first={first}&which={which}")
        assert status == 200
        if not told:
            return found
        found.append([one["result"]["task"] for one in told])
        first = found[-1][-1] + 1


@pytest.mark.parametrize("which", list(Which))
def test_pages_of_any_size_bring_every_result_once(
    server: Spoken, which: Which, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = _pages(server, which)
    assert whole
    for most in (1, 20_000, 30_000):
        monkeypatch.setattr(pages, "MOST_BYTES", most)
        cut = _pages(server, which)
        assert len(cut) > 1 and [task for page in cut for task in page] == whole
    _, last = server.call("GET", f"{RESULTS}?last=4&which={which}")
    assert [one["result"]["task"] for one in last] == whole[-4:]


@pytest.mark.parametrize("which", list(Which))
def test_of_the_last_results_as_many_come_as_a_page_holds(
    server: Spoken, which: Which, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = _pages(server, which)
    monkeypatch.setattr(pages, "MOST_BYTES", 20_000)
    _, last = server.call("GET", f"{RESULTS}?last=500&which={which}")
    told = [one["result"]["task"] for one in last]
    assert 0 < len(told) < len(whole) and told == whole[-len(told) :]


@pytest.mark.parametrize("most", [1, 20_000, 10**9])
def test_answers_of_any_size_tell_of_every_task_once(
    server: Spoken, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tasks are settled by each commit, and with little room an answer ends between them."""
    (done,) = _pages(server, Which.DONE)
    monkeypatch.setattr(answering, "MOST_BYTES", most)
    found: list[list[int]] = []
    after = skip = 0
    within = False
    while True:
        _, told = server.call("GET", f"{ANSWERS}?after={after}&skip={skip}")
        if not told["answers"]:
            break
        found.append([one["task"] for one in told["answers"]])
        assert sum(len(str(one)) for one in told["answers"]) < most or len(found[-1]) == 1
        after, skip = told["after"], told["skip"]
        within |= skip > 0
    assert sorted(task for some in found for task in some) == done
    assert within or most > 1
    assert not (within and most == 10**9) and not told["more"]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (f"{RESULTS}?last=-1", 400), (f"{RESULTS}?last=501", 400), (f"{RESULTS}?last={HUGE}", 400),
        (f"{RESULTS}?last=1.5", 400), (f"{RESULTS}?last=", 400), (f"{RESULTS}?first=-1", 400),
        (f"{RESULTS}?first={HUGE}", 400), (f"{RESULTS}?first={2**53}", 200),
        (f"{RESULTS}?last=0", 200), (f"{RESULTS}?last=500", 200),
        (f"{ANSWERS}?after=-1", 400), (f"{ANSWERS}?after={HUGE}", 400),
        (f"{ANSWERS}?skip=-1", 400), (f"{ANSWERS}?skip={HUGE}", 400),
        (f"{ANSWERS}?wait=-1", 400), (f"{ANSWERS}?wait=1e9", 400), (f"{ANSWERS}?wait=nan", 400),
        (f"{ANSWERS}?after={2**53}", 200), (f"{ANSWERS}?skip={2**53}", 200),
        ("/api/v1/bags/1/progress?most=-1", 400), ("/api/v1/bags/1/progress?most=1001", 400),
        ("/api/v1/bags/1/progress?most=0", 200),
    ],
)  # fmt: skip
def test_numbers_out_of_bounds_are_refused(server: Spoken, asked: str, status: int) -> None:
    found, told = server.call("GET", asked)
    assert found == status, told
    if status == 200 and asked.endswith("last=0"):
        assert len(told) == 12  # as if nothing had been said
    if status == 200 and asked.endswith(str(2**53)):
        assert told == [] or told["answers"] == [] or asked.startswith(f"{ANSWERS}?skip")


def test_a_reader_whose_page_takes_long_keeps_nobody_waiting(
    server: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, results = threading.Event(), threading.Event(), reading.results

    def slow(*words: Any) -> Any:
        begun.set()
        assert go_on.wait(30), "nobody else was answered meanwhile"
        return results(*words)

    monkeypatch.setattr(reading, "results", slow)

    async def go() -> None:
        readers = [asyncio.create_task(server.calling("GET", RESULTS)) for _ in range(2)]
        while not begun.is_set():
            await asyncio.sleep(0.005)
        assert (await server.calling("GET", "/healthz"))[0] == 200
        assert (await server.calling("GET", "/api/v1/bags/1"))[0] == 200
        assert not any(one.done() for one in readers)
        go_on.set()
        assert [(await one)[0] for one in readers] == [200, 200]

    server.loop.run_until_complete(go())
