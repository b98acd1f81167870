"""What owners are told, once each; and that a target that fails harms nobody."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from tests.real.served import wait_for

from tailrace.bag.terms import Terms
from tailrace.scheduler.rows import BagPhase, BagRow
from tailrace.scheduler.state import Bag, State
from tailrace.server.records import reading
from tailrace.server.tables.link import Trouble
from tailrace.server.tables.store import Store
from tailrace.server.telling import messenger as messenger_room
from tailrace.server.telling import outbox as outbox_room
from tailrace.server.telling.messenger import Messenger
from tailrace.server.telling.notices import STILL_US, Notice, Occasion, Watchman
from tailrace.server.telling.notifying import Notifying
from tailrace.server.telling.outbox import KEPT_US, Kept, Outbox

FINISHED = Notice(Occasion.FINISHED, 3, "sweep", "finished; all is well", 2, 2, 0, "ada")


class Told:
    """A messenger, and the numbers of what it has told."""

    def __init__(self, *targets: str) -> None:
        self.done: list[int] = []
        self._targets = targets
        self._messenger = Messenger(targets, self.done.append)
        self.close = self._messenger.close
        self._count = 0

    def tell(self, notice: Notice, age_us: int = 0) -> None:
        for target in self._targets:
            self._count += 1
            self._messenger.tell(Kept(self._count, target, 0, notice), age_us)


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
    assert told(Watchman(), state, 3) == []  # a server that starts later


def test_a_name_makes_no_second_line(tmp_path: Path) -> None:
    messenger = Told(f'cd {tmp_path}; cat > text; echo "$TAILRACE_SUBJECT" > subject')
    messenger.tell(replace(FINISHED, name="x\nBcc: all@example.org"))
    messenger.close()
    assert (tmp_path / "subject").read_text() == "bag 3 (x Bcc: all@example.org): finished\n"
    assert (tmp_path / "text").read_text().count("\n") == 1


@pytest.mark.parametrize("end", ["true", "false"])
def test_a_command_that_prints_no_utf8_has_told_if_it_ends_well(
    end: str, caplog: pytest.LogCaptureFixture
) -> None:
    messenger = Told(f"printf 'caf\\351'; {end}")
    messenger.tell(FINISHED)
    messenger.close()
    assert messenger.done == ([1] if end == "true" else [])
    assert ("exit 1: caf\ufffd; tried again" in caplog.text) == (end == "false")


def test_the_end_does_not_wait_for_a_command_that_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(messenger_room, "END_S", 0.5)
    messenger = Told(f"echo $$ > {tmp_path}/pid; sleep 600", "true")
    messenger.tell(FINISHED)
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    messenger.close()
    assert "1 not told; tried again when a server starts here" in caplog.text
    assert messenger.done == [2]
    pid = (tmp_path / "pid").read_text().strip()
    wait_for(lambda: not Path(f"/proc/{pid}").exists())


def test_a_store_that_cannot_be_read_for_a_moment_costs_no_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _store(tmp_path)

    async def both() -> None:
        state, bag = with_bag()
        world = SimpleNamespace(
            available=True, state=state, clock=SimpleNamespace(now=lambda: 0), store=store
        )
        notifying = Notifying(world, (f"cat >> {tmp_path}/text",))  # type: ignore[arg-type]
        monkeypatch.setattr(reading, "owner", lambda *_: _trouble())
        notifying._try_to_look()
        bag.phase = BagPhase.FINISHED
        notifying._try_to_look()
        monkeypatch.setattr(reading, "owner", lambda *_: "ada")
        await notifying.end()

    asyncio.run(both())
    assert "finished" in (tmp_path / "text").read_text()
    assert Outbox(store, (f"cat >> {tmp_path}/text",)).left(0) == []  # told, and so not kept
    store.close()


def _store(folder: Path) -> Store:
    store = Store(folder / "store.db")
    store.begin_epoch()
    return store


def _trouble() -> str:
    raise Trouble("no disk just now")


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
    messenger = Told(*targets)
    messenger.tell(FINISHED)
    messenger.close()
    server.server_close()
    assert json.loads(posted[0])["occasion"] == "finished"
    assert (tmp_path / "text").read_text() == "bag 3 (sweep) finished; all is well\n"
    assert (tmp_path / "who").read_text() == "ada 3\n"
    assert "exit 3: no mail here; tried again for a day" in caplog.text
    assert sorted(messenger.done) == [2, 3]


def test_a_target_that_hangs_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends when the other has been told of both; in one line that would be never."""
    monkeypatch.setattr(messenger_room, "PATIENCE_S", 1e6)
    told = tmp_path / "told"
    hangs = f"until test $(cat {told} | wc -l) = 2; do sleep 0.05; done"
    messenger = Told(hangs, f"cat >> {told}")
    messenger.tell(FINISHED)
    messenger.tell(FINISHED)
    wait_for(lambda: told.exists() and told.read_text().count("\n") == 2)
    messenger.close()


def test_what_fails_is_tried_again_after_a_pause_behind_what_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first succeeds only when the second, which came later, has been told."""
    monkeypatch.setattr(messenger_room, "FIRST_S", 0.01)
    target = f"read text; echo $TAILRACE_BAG >> {tmp_path}/tried; test $TAILRACE_BAG = 4 || "
    messenger = Told(f"{target} grep 4 {tmp_path}/tried")
    messenger.tell(FINISHED)
    messenger.tell(replace(FINISHED, bag=4))
    wait_for(lambda: messenger.done == [2, 1])
    messenger.close()
    tried = (tmp_path / "tried").read_text().split()
    assert tried.count("4") == 1 and tried.count("3") >= 2
    assert caplog.text.count("bag 3: notify") == 1  # and not once for each try


def test_what_nobody_takes_for_a_day_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    messenger = Told("exit 3")
    messenger.tell(FINISHED, age_us=KEPT_US - 1_000_000)
    wait_for(lambda: messenger.done == [1])
    messenger.close()
    assert "given up" in caplog.text and "not told" not in caplog.text


def test_what_is_kept_is_bounded_and_of_this_day_and_of_targets_that_are_still_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _store(tmp_path)
    monkeypatch.setattr(outbox_room, "MOST", 3)
    outbox = Outbox(store, ("a", "b"))
    for bag, target in enumerate(("a", "b", "a", "b", "a")):
        outbox.keep(replace(FINISHED, bag=bag), target, bag)
    left = Outbox(store, ("a", "b")).left(100)
    assert [(one.target, one.notice.bag, one.made_us) for one in left] == [
        ("a", 2, 2), ("b", 3, 3), ("a", 4, 4),
    ]  # fmt: skip
    assert b"a" not in {row[0] for row in store.link.execute("SELECT target FROM notices")}
    assert [one.notice.bag for one in Outbox(store, ("a",)).left(KEPT_US + 3)] == [4]
    assert [one.notice.bag for one in Outbox(store, ("a", "b")).left(100)] == [4]
    after = Outbox(store, ("b",))
    assert after.left(100) == [] and after.keep(FINISHED, "b", 0).number == 6
    store.close()
