"""What is asked of a server in the same words by every reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tailrace.cli.servers.waiting import Say, Wait, insist, sleep, to_the_terminal
from tailrace.scheduler.events import Change
from tailrace.server.records.reader import Details, HostTold
from tailrace.server.records.reading import FeedItem
from tailrace.server.tables.lock import Owner

if TYPE_CHECKING:
    from tailrace.bag.additions import Addition
    from tailrace.server.enlarging import Enlarged
    from tailrace.server.policysetting import PolicyChange, PolicyTold, PolicyTrial


class Asked:
    def __init__(self, owner: Owner, say: Say = to_the_terminal, wait: Wait = sleep) -> None:
        self.owner = owner
        self._say, self._wait = say, wait

    def get(self, path: str, kind: Any = Any) -> Any:
        return self._call("GET", f"/api/v1/{path}", kind=kind)

    def details(self, number: int) -> Details:
        details: Details = self.get(f"bags/{number}/details", Details)
        return details

    def hosts(self) -> list[HostTold]:
        found: list[HostTold] = self.get("hosts", list[HostTold])
        return found

    def explain(self, subject: str) -> list[str]:
        lines: list[str] = self.get(f"explain?subject={quote(subject)}", list[str])
        return lines

    def events(self, number: int, after: int, wait_s: float) -> list[FeedItem]:
        path = f"bags/{number}/events?after={after}&wait={wait_s:g}"
        items: list[FeedItem] = self.get(path, list[FeedItem])
        return items

    def change(self, number: int, what: Change, tasks: tuple[int, ...] = (), why: str = "") -> None:
        body = {"change": what.value, "tasks": tasks, "why": why}
        self._call("POST", f"/api/v1/bags/{number}/change", body)

    def add(self, number: int, asked: Addition) -> Enlarged:
        from tailrace.server.enlarging import Enlarged

        path = f"/api/v1/bags/{number}/add"
        found: Enlarged = self._call("POST", path, asked, Enlarged)
        return found

    def policy(self, number: int) -> PolicyTold:
        from tailrace.server.policysetting import PolicyTold

        found: PolicyTold = self.get(f"bags/{number}/policy", PolicyTold)
        return found

    def try_policy(self, number: int) -> PolicyTrial:
        from tailrace.server.policysetting import PolicyTrial

        found: PolicyTrial = self.get(f"bags/{number}/policy/trial", PolicyTrial)
        return found

    def set_policy(self, number: int, asked: PolicyChange) -> PolicyTold:
        from tailrace.server.policysetting import PolicyTold

        path = f"/api/v1/bags/{number}/policy"
        found: PolicyTold = self._call("POST", path, asked, PolicyTold)
        return found

    def _call(self, method: str, path: str, body: Any = None, kind: Any = Any) -> Any:
        return insist(self.owner, method, path, body, kind, self._say, self._wait)
