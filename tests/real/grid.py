"""A real server of several users, with machines that its pools start, and others that join it: the
stage on which policies are tried in the real world."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.conftest import ask
from tests.real.served import Server, environment, wait_for, worker

from tailrace.server.people.secretfile import keep
from tailrace.worker.joining import Join

HOLD = "until [ -e {file} ]; do sleep 0.05; done"  # as a task: until a test lets it go


class Sent(NamedTuple):
    """An attempt, as it stands in the store."""

    task: int
    pool: str
    host: str
    sent_us: int
    ended_us: int | None
    timeout_us: int | None
    outcome: str | None
    accepted: int
    why: str


QUERY = """
SELECT a.idx, h.row, a.host, a.sent_us, a.ended_us, a.timeout_us, a.outcome, a.accepted, a.why
FROM attempts a JOIN hosts h ON h.host = a.host WHERE a.bag = ? ORDER BY a.attempt
"""


class Grid:
    def __init__(self, server: Server) -> None:
        self.server, self.folder = server, server.folder
        self._joins: dict[str, Join] = {}

    def token(self, name: str, kind: str) -> Join:
        if name not in self._joins:
            self._joins[name] = self.server.token(name, kind)
        return self._joins[name]

    def submit(self, text: str, user: str = "ada") -> int:
        """A bag file, by the command, which runs in a folder of the user's own."""
        place = self.place(user)
        (place / "bag.toml").write_text(text)
        done = self.ask("submit", "--quiet", "--again", "bag.toml", user=user)
        assert done.code == 0, done.err
        return int(done.out)

    def place(self, user: str = "ada") -> Path:
        """Where his tasks run."""
        found = self.folder / f"of-{user}"
        if not found.exists():
            found.mkdir()
            keep(found / "server.join", self.token(user, "user").text())
        return found

    def ask(self, *words: str, user: str = "ada") -> Any:
        place = self.place(user)
        return ask(place, *words, TAILRACE_SERVER=str(place / "server.join"))

    def joined(
        self, pool: str, name: str = "", *words: str, conf: str = "", **env: str
    ) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """A machine that comes by itself, and knows in `$WHERE` which pool it is of."""
        folder = self.folder / f"machine-{name or pool}"
        folder.mkdir(exist_ok=True)
        (folder / "worker.conf").write_text(conf)
        known = {"TAILRACE_JOIN": self.token(pool, "pool").text(), "WHERE": pool}
        words = ("--name", name or pool, "--benchmark", "never", *words)
        return worker(folder, *words, **known, **env)

    def hosts(self, pool: str) -> list[dict[str, Any]]:
        """Those that have called, as the command shows them to an administrator."""
        told = ask(self.folder, "hosts", "--json")
        return [one for one in json.loads(told.out) if one["pool"] == pool]

    def sent(self, bag: int) -> list[Sent]:
        """In the order of sending."""
        link = sqlite3.connect(f"file:{self.folder}/.tailrace/store.db?mode=ro", uri=True)
        try:
            rows = link.execute(QUERY, (bag,)).fetchall()
        finally:
            link.close()
        return [Sent(task, json.loads(row)["pool"], *more) for task, row, *more in rows]

    def feed(self, bag: int, kind: str, user: str = "ada") -> list[dict[str, Any]]:
        path = f"/api/v1/bags/{bag}/events?after=0&wait=0"
        status, told = self.server.ask(self.token(user, "user"), "GET", path)
        assert status == 200, told
        return [item["body"] for item in told if item["kind"] == kind]

    @contextmanager
    def watched(self, bag: int, user: str = "ada") -> Iterator[Path]:
        """Into a file: what its owner sees who watches it."""
        place, seen = self.place(user), self.folder / f"seen-{bag}"
        with open(seen, "wb") as file:
            watch = subprocess.Popen(
                [sys.executable, "-m", "tailrace", "watch", str(bag)],
                cwd=place, env=environment({"TAILRACE_SERVER": str(place / "server.join")}),
                stderr=file, stdout=file,
            )  # fmt: skip
        try:
            yield seen
        finally:
            watch.kill()
            watch.wait()

    def outcomes(self, bag: int, user: str = "ada") -> list[str | None]:
        told = self.ask("results", str(bag), "--json", user=user)
        assert told.code == 0, told.err
        return [one["outcome"] for one in told.json]

    def ends(self, bag: int, user: str = "ada") -> None:
        """All its tasks succeed, by and by."""
        path = f"/api/v1/bags/{bag}"

        def phase() -> Any:
            return self.server.ask(self.token(user, "user"), "GET", path)[1]["phase"]

        wait_for(lambda: phase() != "running")
        assert set(self.outcomes(bag, user)) == {"succeeded"}, self.ask("logs", user=user).out


def most_at_once(sent: list[Sent]) -> int:
    """Attempts that were out together, by the times of the store."""
    ends = [(one.ended_us, -1) for one in sent if one.ended_us is not None]
    out = most = 0
    for _, change in sorted([*ends, *((one.sent_us, 1) for one in sent)]):
        out += change
        most = max(most, out)
    return most
