"""The ranks of many bags on one host. Bags that say the same, and look the same to what they say,
are asked about once: of a thousand with one policy most do."""

from __future__ import annotations

from tailrace.policy.attributes import Plain
from tailrace.policy.expression import Expression
from tailrace.scheduler import facts, policies
from tailrace.scheduler.policies import BAG, HOST
from tailrace.scheduler.state import Bag, Host, State

OF_BOT = "Host.RunningOfBot"  # the only fact of a host that another bag sees otherwise
Looks = tuple[Expression, int, tuple[Plain, ...]]  # the expression, and what it sees of a bag


class Ranks:
    def __init__(self, state: State, host: Host) -> None:
        self._state, self._host = state, host
        self._known: dict[Looks, float] = {}

    def of(self, bag: Bag) -> float:
        asked = None if bag.rules is None else bag.rules.policy.rank
        if asked is None or asked.value is not None:
            return policies.rank(self._state, bag, self._host)
        seen = facts.of_bag(self._state, bag, asked.keys[BAG])
        differs = OF_BOT in asked.keys[HOST]
        running = facts.running_of(self._state, bag, self._host) if differs else 0
        looks = asked, running, tuple(seen.values())
        found = self._known.get(looks)
        if found is None:
            found = policies.rank(self._state, bag, self._host, seen)
            self._known[looks] = found
        return found
