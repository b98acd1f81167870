"""How a bag goes, folded from its feed; beside it, how far its running tasks say they are, and what
its pools do."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.report import words
from tailrace.report.poolwork import PoolWork
from tailrace.scheduler.progress import Halfway
from tailrace.server.records.reading import FeedItem

MOST_POINTS = 400
MOST_NOTES = 5
MOST_TASKS = 3  # of a group, that are named


class Group:
    """Failures alike, or successes with a note; `text` is what the first of them said."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.count = 0
        self.tasks: list[int] = []

    def add(self, index: int) -> None:
        self.count += 1
        if len(self.tasks) < MOST_TASKS:
            self.tasks.append(index)

    def where(self) -> str:
        more = " …)" if self.count > len(self.tasks) else ")"
        return f"(task {', '.join(map(str, self.tasks))}{more}"


class Progress:
    def __init__(self, name: str, count: int, done: int, failed: int, began_us: int) -> None:
        self.name = name
        self.count = count
        self.done = done
        self.failed = failed
        self.running = 0
        self.phase = "running"
        self.why = ""
        self.trouble = ""  # why the server cannot go on just now
        self.began_us = began_us
        self.at_us = began_us
        self.deadline_at_us: int | None = None
        self.after = 0  # the last feed item taken
        self.left: list[int] | None = None  # low, mean, high in microseconds
        self.left_at_us = 0
        self.money: list[Any] = []  # [currency, spent, committed, budget or null]
        self.groups: dict[str, Group] = {}
        self.noted: Group | None = None
        self.notes: list[str] = []  # the newest
        self.noted_times = 0
        self.halfway: list[Halfway] = []  # the oldest of those that tell
        self.pools: list[PoolWork] = []  # what came of them, for all bags
        self._given_back: dict[int, None] = {}
        self.curve: list[tuple[int, int]] = [(began_us, count - done)]

    def take(self, item: FeedItem) -> None:
        body = msgspec.json.decode(item.body)
        self.after, self.at_us = item.n, item.at_us
        if item.kind == "settled":
            self._settled(body)
        elif item.kind == "running":
            self.running = body["running"]
        elif item.kind == "phase":
            self.phase, self.why = body["phase"], body["why"]
            self.count = body.get("count", self.count)
        elif item.kind == "excluded":
            self._note(f"host {body['host']} is excluded for a while: {body['why']}")
        elif item.kind == "unmatched":
            self._note(f"no task is sent: {body['why']}")
        elif item.kind == "taken_away":
            self._note(f"{words.tasks(body['tasks'], MOST_TASKS)}: {body['why']}")
        elif item.kind == "lease":
            self._lease(body["lease"], body["state"], body["why"])

    def _settled(self, body: dict[str, Any]) -> None:
        self.done, self.failed, self.running = body["done"], body["failed"], body["running"]
        self.left, self.left_at_us = body.get("left"), self.at_us
        self.money = body.get("money", [])
        for index, sign, text in body.get("failures", ()):
            self.failure(index, sign, text)
        for index, text in body.get("noted", ()):
            self.noted = self.noted or Group(text)
            self.noted.add(index)
        self.curve.append((self.at_us, self.count - self.done))
        if len(self.curve) > 2 * MOST_POINTS:
            self.curve = self.curve[:1] + self.curve[1:-1:2] + self.curve[-1:]

    def _lease(self, lease: int, state: str, why: str) -> None:
        """One that was given back is gone as it should be: nothing to note."""
        if state == "ending":
            self._given_back[lease] = None
        elif state == "gone" and lease not in self._given_back and why:
            self._note(f"lease {lease}: {why}")

    def failure(self, index: int, sign: str, text: str) -> None:
        self.groups.setdefault(sign, Group(text)).add(index)

    def _note(self, text: str) -> None:
        self.notes = [*self.notes, text][-MOST_NOTES:]
        self.noted_times += 1
