"""What the live view says of the time left."""

from __future__ import annotations

import io

import msgspec
import pytest

from tailrace.cli.here.live import PlainView, line
from tailrace.cli.here.progress import Progress
from tailrace.quantities import SECOND
from tailrace.server.records.reading import FeedItem


def _told(*left_s: int) -> Progress:
    progress = Progress("bag", 40, 0, 0, 0)
    body = {"done": 39, "failed": 0, "running": 1, "left": [one * SECOND for one in left_s]}
    progress.take(FeedItem(1, 0, "settled", msgspec.Raw(msgspec.json.encode(body))))
    return progress


def test_the_time_left_is_counted_down_until_it_is_longer_than_foreseen() -> None:
    progress = _told(10, 20, 30)
    assert "about 15s left (5s to 25s)" in line(progress, 5 * SECOND)
    said = line(progress, 90 * SECOND)
    assert "longer than foreseen (about 20s left, 10s to 30s, 1m30s ago)" in said
    assert "less than 1s left 8s ago" in line(_told(0, 0, 0), 8 * SECOND)


def test_no_time_left_is_told_while_the_server_is_in_trouble() -> None:
    progress = _told(10, 20, 30)
    progress.trouble = "the store cannot be written: disk full"
    for now_s in (5, 90):
        said = line(progress, now_s * SECOND)
        assert progress.trouble in said
        assert " left" not in said and "foreseen" not in said


@pytest.mark.parametrize(
    "tasks, said",
    [([7], "task 7"), ([1, 2, 3], "tasks 1, 2, 3"), ([1, 2, 3, 9, 8], "tasks 1, 2, 3 and 2 more")],
)
def test_what_is_taken_away_again_and_again_is_told_in_one_line(
    tasks: list[int], said: str
) -> None:
    progress, out = Progress("bag", 4, 0, 0, 0), io.StringIO()
    body = msgspec.json.encode({"tasks": tasks, "why": "taken away 3 times"})
    progress.take(FeedItem(1, 0, "taken_away", msgspec.Raw(body)))
    PlainView(out).update(progress, 0)
    assert out.getvalue() == f"tailrace: bag: {said}: taken away 3 times\n"


def test_a_log_has_each_note_once_when_it_comes() -> None:
    progress, out = Progress("bag", 4, 0, 0, 0), io.StringIO()
    view = PlainView(out)
    for number in range(1, 9):
        body = msgspec.json.encode({"why": f"reason {number}"})
        progress.take(FeedItem(number, 0, "unmatched", msgspec.Raw(body)))
        for _ in range(2):
            view.update(progress, 0)
    told = [f"tailrace: bag: no task is sent: reason {number}" for number in range(1, 9)]
    assert out.getvalue().splitlines() == told
