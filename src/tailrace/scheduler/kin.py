"""Bags that look the same to the rank that they ask for: one answer serves them all.

A rank that is not the same for every host has to be asked for at each offer. What it sees of a bag
is mostly what never changes, and whether the bag is in its tail: a thousand bags with one policy
are two kins then, and each is asked about once. A kin stands in line as bags of one rank do (see
`lines`); who looks otherwise than before, goes over to another. Where a rank looks at what changes
with every task, or by itself, each bag is judged alone.
"""

from __future__ import annotations

from tailrace.policy.attributes import Plain
from tailrace.policy.expression import Expression
from tailrace.scheduler import facts
from tailrace.scheduler.state import Bag, State

Kin = tuple[Expression, tuple[Plain, ...]]
HOST, BAG, JOB = 0, 1, 2  # parts of what an expression looks at
OF_BOT = "Host.RunningOfBot"  # the only fact of a host that another bag sees otherwise
OF_ALL = ("Queue.BOTsInQueue", "Now", "HourOfDay")  # every bag sees them alike
STEADY = ("BOT.Name", "BOT.Owner", "BOT.Jobs", "BOT.Priority", "BOT.Deadline", "BOT.Tail")


def has_kin(rank: Expression | None) -> bool:
    """Can bags with this rank be told apart by what seldom changes?"""
    if rank is None or rank.value is not None or rank.keys[JOB] or OF_BOT in rank.keys[HOST]:
        return False
    return all(key in STEADY or key in OF_ALL for key in rank.keys[BAG])


def kin_of(state: State, bag: Bag) -> Kin | None:
    """None: its rank is known, or it is judged alone. A strategy with a tail of its own knows when
    that begins, and tells nobody."""
    rules = bag.rules
    if rules is None or not rules.has_kin or bag.terms.replication is not None:
        return None
    rank = rules.policy.rank
    assert rank is not None
    keys = [key for key in rank.keys[BAG] if key in STEADY]
    return rank, tuple([facts.BAG[key](state, bag) for key in keys])


def look(state: State, bag: Bag) -> None:
    """It may look otherwise now: then it stands elsewhere."""
    rules = bag.rules
    if rules is None or not rules.has_kin:
        return
    found = kin_of(state, bag)
    if found == rules.kin:
        return
    rules.kin = found
    if found is not None:
        for lines in state.lines.values():
            if bag.id in lines.standing:
                lines.enter(bag, found)
