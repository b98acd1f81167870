"""`then` where the files of its bag travel: what it is given, and what a worker may say it left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.spoken import SPEC, Spoken, spoken

from tailrace.bag import catalogue
from tailrace.bag.then import MOST_OUTPUTS
from tailrace.worker.blobs import digest

MADE, START, SUM = b"made by a task", b"brought along", b"what then left"
FILES = {"/away/start.txt": START, "/away/sub/collect.py": b"pass", "/elsewhere/x": b"outside"}


class Lab:
    """A user who hands in a bag, and the only machine of a pool."""

    def __init__(self, server: Spoken) -> None:
        self.server = server
        self.ada, self.pool = server.token("user", "ada"), server.token("pool", "lab")
        entries = {
            path: [catalogue.Entry("", self.put(data), len(data))] for path, data in FILES.items()
        }
        text = catalogue.encode(entries)
        self.name = [self.put(text), len(text)]

    def put(self, data: bytes, token: str = "", whose: str = "") -> str:
        path = f"/api/v1/blobs/{digest(data)}{whose}"
        status, told = self.server.call("PUT", path, data, token or self.ada)
        assert status == 200, told
        return digest(data)

    def submit(self, count: int = 1) -> tuple[int, Any]:
        axes = [[{"type": "list", "name": "n", "values": list(range(count))}]]
        outputs = [{"name": "out", "place": "made/{n}", "required": True}]
        inputs = [{"name": "start.txt", "place": "start.txt", "required": True}]
        spec = {**SPEC, "folder": "/away", "command": "x {n}", "axes": axes, "then": "collect",
                "files": "staged", "inputs": inputs, "outputs": outputs,
                "retries": {"task_failed": 0},
                "catalogue": {"hash": self.name[0], "size": self.name[1]}}  # fmt: skip
        return self.server.call("POST", "/api/v1/bags", {"spec": spec}, self.ada)

    def started(self, results: list[Any] | None = None, held: list[int] | None = None) -> Any:
        """The next attempt it is given; the outputs of the one before are on their way first."""
        said: dict[str, Any] = {"results": results or [], "held": held or []}
        until = time.monotonic() + 60
        while time.monotonic() < until:
            status, told = self.server.work(self.pool, **said)
            assert status == 200, told
            if told["start"]:
                return told["start"][0]
            said = {}
        raise AssertionError("it is given nothing")

    def left(self, attempt: int, name: str, data: bytes) -> dict[str, Any]:
        self.put(data, self.pool, f"?attempt={attempt}")
        file = {"name": name, "size": len(data), "hash": digest(data)}
        return {"attempt": attempt, "outcome": "succeeded", "exit": 0, "outputs": [file]}


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with spoken(tmp_path) as server:
        yield Lab(server)


def last_of(lab: Lab) -> Any:
    assert lab.submit()[0] == 200
    first = lab.started()
    return lab.started([lab.left(first["attempt"], "out", MADE)])


def test_it_is_given_the_folder_of_the_bag_with_what_its_tasks_left(lab: Lab) -> None:
    last = last_of(lab)
    assert last["last"] and last["env"]["TAILRACE_FAILED"] == "0"
    given = {item["name"]: item["hash"] for item in last["inputs"]}
    assert given == {"start.txt": digest(START), "sub/collect.py": digest(b"pass"),
                     "made/0": digest(MADE)}  # fmt: skip
    whose = f"?attempt={last['attempt']}"
    path = f"/api/v1/blobs/{digest(MADE)}{whose}"
    assert lab.server.call("GET", path, token=lab.pool) == (200, MADE)
    outside = f"/api/v1/blobs/{digest(b'outside')}{whose}"
    assert lab.server.call("GET", outside, token=lab.pool)[0] == 404


def test_what_it_left_is_published_where_it_lay(lab: Lab, tmp_path: Path) -> None:
    last = last_of(lab)
    lab.server.work(lab.pool, results=[lab.left(last["attempt"], "sub/sum", SUM)])
    until = time.monotonic() + 60
    while not (path := path_of_sum(lab)) and time.monotonic() < until:
        lab.server.work(lab.pool)
    assert path == "sub/sum"
    assert (tmp_path / ".tailrace/outputs/1/sub/sum").read_bytes() == SUM


def path_of_sum(lab: Lab) -> str:
    """'' as long as it is on its way."""
    told = lab.server.call("GET", "/api/v1/bags/1/results", token=lab.ada)[1]
    return str(told[-1]["result"]["outputs"][0]["path"])


@pytest.mark.parametrize(
    ("name", "says"),
    [("../sum", "leads outside"), ("/sum", "leads outside"), ("a/./b", "leads outside"),
     ("", "without a name"), ("n" * 300, "300 characters"), ("made/0", "found it there"),
     ("start.txt", "found it there")],
)  # fmt: skip
def test_a_worker_that_names_another_place_is_refused(
    lab: Lab, tmp_path: Path, name: str, says: str
) -> None:
    last = last_of(lab)
    lab.server.work(lab.pool, results=[lab.left(last["attempt"], name, SUM)])
    told = lab.server.call("GET", "/api/v1/bags/1/tasks/1", token=lab.ada)[1]
    assert says in str(told["attempts"]) and "refused" in str(told["attempts"])
    made = tmp_path / ".tailrace/outputs/1/made/0"
    assert made.read_bytes() == MADE
    assert not (tmp_path / ".tailrace/outputs/sum").exists()


def test_more_outputs_than_one_machine_is_sent_are_refused_when_it_is_handed_in(lab: Lab) -> None:
    status, told = lab.submit(MOST_OUTPUTS + 1)
    assert status == 400 and "10,001 outputs" in told["error"] and "tailrace fetch" in str(told)
