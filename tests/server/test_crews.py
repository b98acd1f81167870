"""Many calls of real drivers at once: what waits for what, and what for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.drivers.stage import Stage, in_us, wait_for

from tailrace.scheduler.decisions import Acquire, Release
from tailrace.scheduler.events import LeaseChanged, LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.pools.crew import HANDS
from tailrace.server.pools.errands import MOST
from tailrace.server.pools.leasing import Act
from tailrace.server.pools.machine_room import MachineRoom

AT_ONCE = MOST[Act.START]
FREE = "[ -e free-{lease} ] || [ -e free ]"
COMMANDS = {
    "start": f"echo start {{lease}} >> calls; until {FREE}; do sleep 0.01; done; "
    "[ ! -e fails ] && touch machines/{name}",
    "stop": "rm -f machines/{name}; echo stop {lease} >> calls",
    "list": "ls machines; echo list >> calls",
}


class Room(Stage):
    """A pool whose starts are held until they are set free."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.told: list[LeaseChanged] = []
        self.room = MachineRoom(self.told.append, lambda: ThreadPoolExecutor(HANDS))
        (folder / "machines").mkdir()
        self.room.drivers["lab"] = self.driver(**COMMANDS, look_us=3_600_000_000)

    def start(self, *leases: int) -> None:
        for lease in leases:
            self.room.call(Acquire(lease, "lab", 1, in_us()), "lab")

    def stop(self, *leases: int) -> None:
        for lease in leases:
            self.room.call(Release(lease, "not wanted"), "lab")

    def compare(self, state: LeaseState, *leases: int) -> None:
        rows = [LeaseRow(lease, "lab", 1, state, 0, in_us()) for lease in leases]
        self.room.reconcile(rows)

    def calls(self, what: str) -> list[int]:
        words = [line.split() for line in self.lines("calls")]
        return [int(lease) for call, *leases in words if call == what for lease in leases]

    def machines(self) -> list[str]:
        return [path.name for path in (self.folder / "machines").iterdir()]

    def looks(self) -> int:
        return self.lines("calls").count("list")

    def heard(self, lease: int) -> list[LeaseState]:
        return [one.state for one in self.told if one.lease == lease]


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.write("free")
    made.room.stop()
    made.room.close()


def _standing(room: Room, lease: int) -> None:
    room.write(f"free-{lease}")
    room.start(lease)
    wait_for(lambda: room.heard(lease) == [LeaseState.STARTING])


def test_a_machine_is_stopped_while_all_starts_hang(room: Room) -> None:
    _standing(room, 1)
    room.start(*range(2, 2 + 3 * AT_ONCE))
    wait_for(lambda: len(room.calls("start")) == 1 + AT_ONCE)
    room.stop(1)
    wait_for(lambda: room.calls("stop") == [1])
    assert not any(room.heard(lease) for lease in range(2, 2 + 3 * AT_ONCE))


def test_so_many_start_at_once_and_the_others_follow(room: Room) -> None:
    leases = range(1, 2 * AT_ONCE + 1)
    room.start(*leases)
    wait_for(lambda: len(room.calls("start")) == AT_ONCE)
    room.write("free-1")
    wait_for(lambda: len(room.calls("start")) == AT_ONCE + 1)
    assert room.heard(1) == [LeaseState.STARTING]
    room.write("free")
    wait_for(lambda: all(room.heard(lease) == [LeaseState.STARTING] for lease in leases))
    assert sorted(room.calls("start")) == list(leases)


def test_a_start_that_nobody_waits_for_any_more_is_not_begun(room: Room) -> None:
    last = AT_ONCE + 1
    room.start(*range(1, last + 1))
    room.stop(last)
    assert room.heard(last) == [LeaseState.GONE]
    room.write("free")
    wait_for(lambda: all(room.heard(lease) for lease in range(1, last)))
    assert last not in room.calls("start") + room.calls("stop")


def test_a_stop_follows_the_start_of_its_own_lease(room: Room) -> None:
    _standing(room, 1)
    room.start(2)
    wait_for(lambda: room.calls("start") == [1, 2])
    room.stop(2, 1)
    wait_for(lambda: room.calls("stop"))
    room.write("free-2")
    wait_for(lambda: room.calls("stop") == [1, 2])
    assert not room.machines()


def test_no_lease_is_started_twice_by_rows_that_are_old(room: Room) -> None:
    """They say that it is wanted: of a start under way, and of one that failed a moment ago."""
    room.start(1)
    wait_for(lambda: room.calls("start") == [1])
    room.compare(LeaseState.WANTED, 1)
    room.stop(1)
    wait_for(lambda: room.looks() == 1)
    room.write("fails")
    room.write("free-1")
    wait_for(lambda: room.heard(1) == [LeaseState.WANTED, LeaseState.GONE])
    room.compare(LeaseState.WANTED, 1, 2)
    wait_for(lambda: 2 in room.calls("start"))
    assert room.calls("start") == [1, 2]
    assert room.calls("stop") == [1], "it is known to be stopped already"


def test_what_an_earlier_server_may_have_started_is_stopped_before_it_is_gone(room: Room) -> None:
    """It is wanted and not listed, perhaps not yet; others are started before it."""
    last = AT_ONCE + 1
    room.compare(LeaseState.WANTED, *range(1, last + 1))
    wait_for(lambda: len(room.calls("start")) == AT_ONCE)
    room.stop(last)
    wait_for(lambda: room.heard(last) == [LeaseState.GONE])
    assert room.calls("stop") == [last] and last not in room.calls("start")


def test_a_comparison_waits_for_stops_decided_before_and_for_no_start(room: Room) -> None:
    """A machine of an earlier server is given back, and was gone before: nobody else tells."""
    room.start(1)
    wait_for(lambda: room.calls("start") == [1])
    room.stop(7)
    room.compare(LeaseState.ENDING, 7)
    wait_for(lambda: room.heard(7) == [LeaseState.GONE])
    assert room.lines("calls") == ["start 1", "stop 7", "list"]


def test_at_the_end_nothing_is_begun_and_all_that_was_is_ended(room: Room) -> None:
    last = AT_ONCE + 1
    room.start(*range(1, last + 1))
    wait_for(lambda: len(room.calls("start")) == AT_ONCE)
    room.stop(*range(1, AT_ONCE + 1))
    room.room.stop()
    room.write("free")
    room.room.close()
    assert sorted(room.calls("stop")) == sorted(room.calls("start")) == list(range(1, last))
    assert not room.machines()
