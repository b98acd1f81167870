"""Two users, two pools, fifty bags at once through one server: what is whose stays so, whatever is
killed in between."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.real.served import serving, wait_for, worker

from tailrace.server.people.secretfile import keep

USERS = {"ada": "lab", "bob": "den"}  # and the pool that each uses
EACH = 24  # bags, and one with files
TASKS = 4
BAG = "/api/v1/bags"
ALL_PATIENCE_S = 180.0
FILED = """
command = "cat secret.txt; while [ ! -e GO ]; do sleep 0.05; done; : {n}"
inputs = ["secret.txt"]
pools = ["POOL"]
[parameters]
n = [0]
"""


class Group:
    """A server that is killed and started again, its users, and a machine for each pool."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self.server = stack.enter_context(serving(folder))
        self._port = self.server.owner.address.rpartition(":")[2]
        self.users = {name: self.server.token(name, "user") for name in USERS}
        self.pools = {name: self.server.token(name, "pool") for name in USERS.values()}
        self.machines = {name: self._machine(name) for name in self.pools}
        for name, join in self.users.items():
            keep(folder / f"{name}.join", join.text())

    def _machine(self, pool: str) -> Any:
        join = self.pools[pool].text()
        return self._stack.enter_context(
            worker(self.folder / pool, "--cores", "2", TAILRACE_JOIN=join)
        )

    def kill_machine(self, pool: str) -> None:
        """It is switched on again, and comes back as the same."""
        self.machines[pool].send_signal(signal.SIGKILL)
        self.machines[pool].wait()
        self.machines[pool] = self._machine(pool)

    def kill_server(self) -> None:
        self.server.process.kill()
        self.server.process.wait()
        self.server = self._stack.enter_context(serving(self.folder, "--port", self._port))

    def get(self, user: str, path: str) -> tuple[int, Any]:
        return self.server.ask(self.users[user], "GET", path)

    def submit(self, user: str, name: str) -> int:
        axis = {"type": "range", "name": "x", "start": "0", "step": "1", "count": TASKS}
        command = f"sleep 0.02; echo {name} {{x}}"
        spec = {"name": name, "folder": str(self.folder), "command": command, "axes": [[axis]],
                "pools": [USERS[user]]}  # fmt: skip
        status, told = self.server.ask(self.users[user], "POST", BAG, {"spec": spec})
        assert status == 200, told
        return int(told["bag"])

    def submit_with_file(self, user: str) -> int:
        """By the command, from a folder of the user's own."""
        place = self.folder / f"of-{user}"
        place.mkdir()
        (place / "secret.txt").write_text(f"{user}'s\n")
        text = FILED.replace("GO", str(self.folder / "go")).replace("POOL", USERS[user])
        (place / "bag.toml").write_text(text)
        done = ask(place, "submit", "-q", "--server", str(self.folder / f"{user}.join"), "bag.toml")
        assert done.code == 0, done.err
        return int(done.out)

    def finished(self) -> int:
        bags = [bag for user in USERS for bag in self.get(user, BAG)[1]]
        return sum(bag["phase"] == "finished" for bag in bags)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    with ExitStack() as stack:
        yield Group(tmp_path, stack)


def test_fifty_bags_of_two_users_outlive_kills_and_stay_apart(group: Group) -> None:
    filed = {user: group.submit_with_file(user) for user in USERS}
    machines_read_only_blobs_of_attempts_they_hold(group, filed)
    names = {(user, f"{user}-{k}"): 0 for k in range(EACH) for user in USERS}
    with ThreadPoolExecutor(4) as threads:
        numbers = dict(zip(names, threads.map(lambda one: group.submit(*one), names), strict=True))
    wait_for(lambda: group.finished() >= 2)
    group.kill_machine("lab")
    (group.folder / "go").touch()
    group.kill_server()
    wait_for(lambda: group.finished() == 2 * (EACH + 1), ALL_PATIENCE_S)
    for (user, name), number in numbers.items():
        wanted = [f"{name} {x}\n" for x in range(TASKS)]
        each_result_is_there_and_its_owners_alone(group, user, number, wanted)
    for user, number in filed.items():
        each_result_is_there_and_its_owners_alone(group, user, number, [f"{user}'s\n"])
    commands_know_nothing_of_others(group, filed)
    (one,) = group.get("ada", f"{BAG}/{filed['ada']}/results")[1]
    assert one["result"]["attempts"] == 2, "the first was on the machine that was killed"


def machines_read_only_blobs_of_attempts_they_hold(group: Group, filed: dict[str, int]) -> None:
    for user, number in filed.items():
        task = f"{BAG}/{number}/tasks/0"
        wait_for(lambda task=task, user=user: group.get(user, task)[1]["attempts"])
        attempt = group.get(user, task)[1]["attempts"][0]["attempt"]
        secret = f"{user}'s\n".encode()
        blob = f"/api/v1/blobs/{sha256(secret).hexdigest()}"
        for pool, join in group.pools.items():
            theirs = pool == USERS[user]
            kept = group.folder / pool / "files/key"
            wait_for(kept.exists)  # it may not have called yet
            key = kept.read_text().strip()
            path = f"{blob}?attempt={attempt}"
            status, body = group.server.ask(join, "GET", path, key=key)
            assert (status == 200) == theirs and (body == secret) == theirs
            assert group.server.ask(join, "GET", path)[0] == 404, "another machine of that pool"
            assert group.server.ask(join, "GET", blob)[0] == 403
            assert group.server.ask(join, "GET", f"{blob}?attempt={attempt + 1000}")[0] == 404
        other = next(name for name in USERS if name != user)
        assert group.get(other, blob)[0] == group.get(other, f"{blob}?bag={number}")[0] == 404


def each_result_is_there_and_its_owners_alone(
    group: Group, user: str, number: int, wanted: list[str]
) -> None:
    told = [one["result"] for one in group.get(user, f"{BAG}/{number}/results")[1]]
    assert [one["stdout"] for one in told] == wanted
    assert {(one["outcome"], one["pool"]) for one in told} == {("succeeded", USERS[user])}
    other = next(name for name in USERS if name != user)
    assert group.get(other, f"{BAG}/{number}/results")[0] == 404
    change = f"{BAG}/{number}/change"
    assert group.server.ask(group.users[other], "POST", change, {"change": "cancel"})[0] == 404


def commands_know_nothing_of_others(group: Group, filed: dict[str, int]) -> None:
    for user, number in filed.items():
        other = next(name for name in USERS if name != user)
        server = ("--server", str(group.folder / f"{other}.join"))
        listed = json.loads(ask(group.folder, "status", "--json", *server).out)["bags"]
        assert len(listed) == EACH + 1 and not [bag for bag in listed if bag["bag"] == number]
        for words in (("results", str(number)), ("cancel", str(number), "--yes")):
            done = ask(group.folder, *words, *server)
            assert done.code == 2 and "there is no" in done.err
