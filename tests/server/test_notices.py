"""What owners are told, once each; and that a target that fails harms nobody."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tailrace.bag.terms import Terms
from tailrace.scheduler.rows import BagPhase, BagRow
from tailrace.scheduler.state import Bag, State
from tailrace.server.messenger import Messenger
from tailrace.server.notices import STILL_US, Notice, Occasion, Watchman

FINISHED = Notice(Occasion.FINISHED, 3, "sweep", "finished; all is well", 2, 2, 0, "ada")


def with_bag(**terms: object) -> tuple[State, Bag]:
    state = State()
    row = BagRow(1, Terms(4, "sweep", **terms), BagPhase.RUNNING, 0)  # type: ignore[arg-type]
    bag = state.bags[1] = Bag(row, None)
    return state, bag


def told(watchman: Watchman, state: State, now: int) -> list[Occasion]:
    return [notice.occasion for notice in watchman.look(state, now)]


@pytest.mark.parametrize("phase", [BagPhase.FINISHED, BagPhase.BRAKED, BagPhase.STOPPED])
def test_an_end_is_told_once_and_an_old_one_never(phase: BagPhase) -> None:
    state, bag = with_bag()
    watchman = Watchman()
    assert told(watchman, state, 0) == []
    bag.phase = phase
    assert told(watchman, state, 1) == [Occasion(phase.value)]
    assert told(watchman, state, 2) == []
    assert told(Watchman(), state, 3) == []  # a server that starts later


def test_a_bag_that_came_and_went_between_two_looks_is_told() -> None:
    state, watchman = State(), Watchman()
    assert told(watchman, state, 0) == []
    other, bag = with_bag()
    bag.phase = BagPhase.FINISHED
    assert told(watchman, other, 1) == [Occasion.FINISHED]


def test_an_hour_without_a_result_is_told_until_something_moves() -> None:
    state, bag = with_bag()
    watchman = Watchman()
    looks = [told(watchman, state, now) for now in (0, STILL_US - 1, STILL_US, STILL_US + 5)]
    assert looks == [[], [], [Occasion.STILL], []]
    bag.done.add(0)
    assert told(watchman, state, STILL_US + 6) == []
    assert told(watchman, state, 2 * STILL_US + 6) == [Occasion.STILL]


def test_most_of_the_budget_is_told_once() -> None:
    state, bag = with_bag(budget={"USD": 1000})
    watchman = Watchman()
    bag.paid["USD"] = 799
    assert told(watchman, state, 0) == []
    bag.paid["USD"] = 800
    assert told(watchman, state, 1) == [Occasion.BUDGET]
    assert told(watchman, state, 2) == []


def test_a_hook_and_a_command_are_told_although_another_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    posted: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.handle_request, daemon=True).start()
    command = f"cd {tmp_path}; cat > text; echo $TAILRACE_OWNER $TAILRACE_BAG > who"
    targets = ("echo no mail here >&2; exit 3", f"http://127.0.0.1:{server.server_port}/", command)
    messenger = Messenger(targets, ThreadPoolExecutor(1))
    messenger.tell(FINISHED)
    messenger.close()
    server.server_close()
    assert json.loads(posted[0])["occasion"] == "finished"
    assert (tmp_path / "text").read_text() == "bag 3 (sweep) finished; all is well\n"
    assert (tmp_path / "who").read_text() == "ada 3\n"
    assert "exit 3: no mail here" in caplog.text
