"""What really happened, and what must never happen.

The oracle believes no book of the scheduler. It knows three things: what the tables hold (from the
tables' own triggers), what was executed where and when (from the machines), and what left the
server. Each rule it checks has a name.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec

from tailrace.pools.terms import Late, Pool
from tailrace.scheduler.events import Progress
from tailrace.scheduler.journal import replay
from tailrace.scheduler.rows import STANDING
from tailrace.server.protocol import WorkReply
from tailrace.server.records import reading


class Rule(StrEnum):
    ONE_RESULT = "each task has exactly one accepted result, of an execution that was so"
    NOT_NEEDLESS = "no attempt is assigned for a task whose result is stored"
    ONCE = "no attempt is executed twice"
    KEPT = "no acknowledged result is lost"
    ALONE = "a task that must not be repeated never runs twice at the same time"
    COMMIT_FIRST = "nothing leaves before the commit that contains it"
    NO_ORPHAN = "no machine runs on whose lease does not stand in the tables"
    PUBLISHED = "the outputs of each accepted result are at their targets, and no others"
    BUDGET = "no bag costs more than its budget"
    TOLD = "an attempt is believed to be so far as its task said, on its own host"
    COUNTED = "what each host did is counted as it was"
    REPLAY = "the journal replays to the same decisions"
    QUIET = "when the faults stop, everything comes to its end"
    SOUND = "the product raises no error and breaks no invariant"


class Violation(BaseException):
    """No `except Exception` of the product hides it."""

    def __init__(self, rule: Rule, found: str) -> None:
        super().__init__(f"{rule.name}: {rule}\n  found: {found}")
        self.rule = rule


class Run(msgspec.Struct):
    """An execution that really took place."""

    bag: int
    index: int
    host: str
    ended: str | None = None  # its outcome, or how it was killed


class Sent(msgspec.Struct):
    """An attempt as the tables know it."""

    bag: int
    index: int
    host: str
    outcome: str | None = None
    reported: bool = False  # what its worker said of it is stored


Task = tuple[int, int]


class Oracle:
    def __init__(self, pools: tuple[Pool, ...]) -> None:
        self._late_count = {pool.name: pool.late_results is Late.ACCEPT for pool in pools}
        self.pool_of: dict[str, str] = {}  # by host
        self.bags: dict[str, int] = {}  # by name
        self.phases: dict[int, str] = {}
        self.repeatable: dict[int, bool] = {}
        self.results: dict[Task, tuple[int, str]] = {}
        self.sent: dict[int, Sent] = {}
        self.live: dict[int, None] = {}
        self.leases: dict[int, str] = {}
        self.paid_by: dict[int, int] = {}  # the bag of each lease
        self.ends: dict[int, int] = {}  # of each lease, by the wall
        self.runs: dict[int, Run] = {}
        self.running: dict[Task, list[int]] = defaultdict(list)
        self.progress: dict[int, list[float | None]] = defaultdict(list)  # what tasks said
        self.forgot = 0

    # what the tables say

    def committed(self, rows: list[tuple[Any, ...]]) -> None:
        for kind, a, b, c, d in rows:
            if kind == "sent":
                self._sent(a, b, c, d)
            elif kind == "ended":
                self._closed(a, b)
            elif kind == "reported":
                self.sent[a].reported = True
            elif kind == "settled":
                self._settled((a, b), c, d)
            elif kind == "reopened":
                _, outcome = self.results.pop((a, b))
                hold(outcome != "succeeded", Rule.ONE_RESULT, f"the success of {(a, b)} was voided")
            elif kind == "lease":
                self.leases[a], self.paid_by[a], self.ends[a] = b, c, d
            elif kind == "phase":
                self.phases[a] = b
            elif kind == "bag":
                self.bags[b] = a

    def _sent(self, attempt: int, bag: int, index: int, host: str) -> None:
        there = self.results.get((bag, index))
        hold(there is None, Rule.NOT_NEEDLESS, f"attempt {attempt} of {(bag, index)}: {there}")
        self.sent[attempt] = Sent(bag, index, host)
        self.live[attempt] = None

    def _closed(self, attempt: int, outcome: str) -> None:
        """What the server believes to be over it may send again."""
        self.sent[attempt].outcome = outcome
        self.live.pop(attempt, None)
        run = self.runs.get(attempt)
        over = run is None or run.ended is not None or self.repeatable[run.bag]
        hold(over, Rule.ALONE, f"attempt {attempt} closed as {outcome} while it runs: {run}")

    def _settled(self, task: Task, attempt: int, outcome: str) -> None:
        there = self.results.get(task)
        hold(there is None, Rule.ONE_RESULT, f"{task} has {there}, then {attempt} {outcome}")
        sent = self.sent[attempt]
        same = (sent.bag, sent.index) == task
        hold(same, Rule.ONE_RESULT, f"{task} has the result of attempt {attempt}, of another task")
        if outcome == "succeeded":
            run = self.runs.get(attempt)
            true = run is not None and run.ended == "succeeded"
            hold(true, Rule.ONE_RESULT, f"{task} succeeded by {attempt}, which did not: {run}")
        self.results[task] = (attempt, outcome)

    # what leaves the server

    def reply_leaves(self, reply: WorkReply) -> None:
        for one in reply.start:
            sent = self.sent.get(one.attempt)
            hold(sent is not None, Rule.COMMIT_FIRST, f"attempt {one.attempt} sent uncommitted")
            there = self.results.get((one.bag, one.index))
            hold(there is None, Rule.NOT_NEEDLESS, f"attempt {one.attempt}: task has {there}")
        for attempt in reply.ack:
            sent = self.sent.get(attempt)
            settled = sent is None or sent.outcome is not None
            hold(settled, Rule.COMMIT_FIRST, f"result of {attempt} acknowledged uncommitted")

    def start_leaves(self, lease: int) -> int:
        """The bag that pays for it."""
        known = lease in self.leases
        hold(known, Rule.COMMIT_FIRST, f"lease {lease} started before it was committed")
        return self.paid_by[lease]

    def renewal_leaves(self, lease: int, ends_us: int) -> None:
        known = ends_us <= self.ends.get(lease, 0)
        hold(known, Rule.COMMIT_FIRST, f"lease {lease} renewed before it was committed")

    def publication_begins(self, attempt: int) -> None:
        sent = self.sent[attempt]
        there = self.results.get((sent.bag, sent.index))
        accepted = there == (attempt, "succeeded")
        rule = Rule.COMMIT_FIRST if there is None else Rule.PUBLISHED
        hold(accepted, rule, f"attempt {attempt} published, its task has {there}")

    # what machines do

    def started(self, attempt: int, bag: int, index: int, host: str) -> None:
        before = self.runs.get(attempt)
        hold(before is None, Rule.ONCE, f"attempt {attempt} on {host}, before: {before}")
        beside = self.running[bag, index]
        alone = self.repeatable[bag] or not beside
        hold(alone, Rule.ALONE, f"attempt {attempt} of {(bag, index)} on {host} beside {beside}")
        self.runs[attempt] = Run(bag, index, host)
        beside.append(attempt)

    def ended(self, attempt: int, outcome: str) -> None:
        run = self.runs[attempt]
        run.ended = outcome
        self.running[run.bag, run.index].remove(attempt)

    def told(self, attempt: int, done: float | None) -> None:
        self.progress[attempt].append(done)

    def killed(self, attempt: int) -> None:
        self.ended(attempt, "killed")

    def forgotten(self, attempt: int, outcome: str, host: str) -> None:
        """The worker was told that it may forget this result."""
        self.forgot += 1
        sent = self.sent.get(attempt)
        known = sent is not None and sent.outcome is not None and sent.reported
        hold(known, Rule.KEPT, f"{outcome} of attempt {attempt} on {host}, the tables have {sent}")
        assert sent is not None
        if outcome == "succeeded" and self._late_count[self.pool_of[sent.host]]:
            there = (sent.bag, sent.index) in self.results
            hold(there, Rule.KEPT, f"success of {attempt}, but its task has no result")

    # when the faults have stopped

    def strays(self, lent: Iterable[int]) -> list[int]:
        """Machines that run though their leases do not stand."""
        return [lease for lease in lent if self.leases.get(lease) not in STANDING]

    # at the end

    def check_tables(self, link: sqlite3.Connection) -> None:
        """The tables, read as a whole, are what the triggers told; each body is its attempt's."""
        query = "SELECT r.bag, r.idx, r.attempt, r.outcome, a.body FROM results r"
        rows = link.execute(f"{query} JOIN attempts a USING (attempt)").fetchall()
        found = {(bag, index): (attempt, outcome) for bag, index, attempt, outcome, _ in rows}
        hold(found == self.results, Rule.KEPT, f"{found} in the tables, {self.results} committed")
        for bag, index, attempt, outcome, body in rows:
            if outcome == "succeeded":
                value = msgspec.json.decode(body)["value"]
                same = value == {"by": attempt}
                hold(same, Rule.ONE_RESULT, f"{(bag, index)} holds {value}, not of {attempt}")

    def check_counts(self, link: sqlite3.Connection) -> None:
        """Each bag has as many tasks for the scheduler as its content has; if it is finished, each
        of them has its result."""
        for bag in self.bags.values():
            count, row = reading.content(link, bag).count, reading.bag_row(link, bag)
            same = count == row.terms.count
            hold(same, Rule.KEPT, f"bag {bag} has {count} tasks, {row.terms.count} scheduled")
            there = [index for owner, index in self.results if owner == bag]
            whole = row.phase != "finished" or sorted(there) == list(range(count))
            hold(whole, Rule.ONE_RESULT, f"bag {bag} of {count} is finished, results of {there}")

    def check_work(self, link: sqlite3.Connection) -> None:
        """Counted with each commit, and by going through all attempts."""
        counts = "count(*), count(*) FILTER (WHERE outcome = 'succeeded')"
        query = f"SELECT bag, host, {counts} FROM attempts GROUP BY bag, host ORDER BY bag, host"
        did = link.execute(query).fetchall()
        found = link.execute("SELECT * FROM host_work ORDER BY bag, host").fetchall()
        hold(found == did, Rule.COUNTED, f"{found} is counted, the attempts are {did}")

    def check_outputs(self, outputs: dict[Task, str | None]) -> None:
        """What lies at the target of each task that has one: the winner's bytes."""
        for task, text in outputs.items():
            attempt, outcome = self.results.get(task, (0, ""))
            due = str(attempt) if outcome == "succeeded" else None
            hold(text == due, Rule.PUBLISHED, f"{task}: {text} is there, it should be {due}")

    def check_journal(self, link: sqlite3.Connection) -> None:
        pages = (body for (body,) in link.execute("SELECT body FROM journal ORDER BY n"))
        for number, step in enumerate(replay(pages)):
            hold(step.same, Rule.REPLAY, f"step {number}: {step.event} gave {step.decisions}")
            if isinstance(step.event, Progress):
                self._believed(step.event)

    def _believed(self, event: Progress) -> None:
        true = event.done in self.progress[event.attempt]
        run = self.runs.get(event.attempt)
        hold(true and run is not None, Rule.TOLD, f"{event}, said was {self.progress}")
        assert run is not None
        hold(run.host == event.host, Rule.TOLD, f"{event}, but it ran on {run.host}")


def hold(true: bool, rule: Rule, found: str) -> None:
    if not true:
        raise Violation(rule, found)
