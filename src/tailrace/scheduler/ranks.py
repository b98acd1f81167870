"""The ranks of many bags on one host. Bags that say the same, and look the same to what they say,
are asked about once: of a thousand with one policy most do."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.policy.attributes import Plain
from tailrace.policy.expression import Expression
from tailrace.scheduler import facts, policies, restless
from tailrace.scheduler.kin import BAG, HOST, OF_BOT, TAIL
from tailrace.scheduler.state import Bag, Host, State

Looks = tuple[Plain, ...]  # what an expression sees of a bag
Fact = Callable[[State, Bag], Plain]


class Asked:
    """An expression, on one host: what it asks of a bag, and what it said of those that look so."""

    __slots__ = ("differs", "facts", "found", "restless")

    def __init__(self, expression: Expression) -> None:
        self.facts: list[Fact] = [facts.BAG[key] for key in expression.keys[BAG]]
        self.differs = OF_BOT in expression.keys[HOST]
        self.restless = restless.looks(expression) or TAIL in expression.keys[BAG]
        self.found: dict[Looks, float] = {}


class Ranks:
    def __init__(self, state: State, host: Host) -> None:
        self._state, self._host = state, host
        self._asked: dict[Expression, Asked] = {}
        self.restless = False  # one of them may change with each task that is sent

    def of(self, bag: Bag) -> float:
        expression = None if bag.rules is None else bag.rules.policy.rank
        if expression is None or expression.value is not None:
            return policies.rank(self._state, bag, self._host)
        asked = self._asked.get(expression)
        if asked is None:
            asked = self._asked[expression] = Asked(expression)
            self.restless = self.restless or asked.restless
        state = self._state
        looks: Looks = tuple([fact(state, bag) for fact in asked.facts])
        if asked.differs:
            looks = (*looks, facts.running_of(state, bag, self._host))
        found = asked.found.get(looks)
        if found is None:
            seen = dict(zip(expression.keys[BAG], looks, strict=False))
            found = asked.found[looks] = policies.rank(state, bag, self._host, seen)
        return found
