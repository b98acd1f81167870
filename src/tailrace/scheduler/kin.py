"""Bags that look the same to the rank that they ask for: one answer serves them all.

A rank that is not the same for every host has to be asked for at each offer. What it sees of a bag
is mostly what never changes, and whether the bag is in its tail: a thousand bags with one policy
are two kins then, and each is asked about once. A kin stands in line as bags of one rank do (see
`lines`); who comes into its tail, or leaves it, goes over to another. Where a rank looks at what
tells each bag from all others, or changes with every task, or by itself, each is judged alone.
"""

from __future__ import annotations

from tailrace.policy.attributes import Plain
from tailrace.policy.expression import Expression
from tailrace.scheduler import facts, tails
from tailrace.scheduler.state import Bag, State

Kin = tuple[str, tuple[Plain, ...]]  # what they say, and what that sees of each of them
HOST, BAG, JOB = 0, 1, 2  # parts of what an expression looks at
OF_BOT = "Host.RunningOfBot"  # the only fact of a host that another bag sees otherwise
OF_ALL = ("Queue.BOTsInQueue", "Now", "HourOfDay")  # every bag sees them alike
TAIL = "BOT.Tail"
STEADY = ("BOT.Owner", "BOT.Priority", TAIL)


def has_kin(rank: Expression | None) -> bool:
    """Can many bags with this rank look the same to it, for a while?"""
    if rank is None or rank.value is not None or rank.keys[JOB] or OF_BOT in rank.keys[HOST]:
        return False
    return all(key in STEADY or key in OF_ALL for key in rank.keys[BAG])


def sees_tail(rank: Expression | None) -> bool:
    return rank is not None and TAIL in rank.keys[BAG]


def kin_of(state: State, bag: Bag) -> Kin | None:
    """None: its rank is known, or it is judged alone. A strategy with a tail of its own knows when
    that begins, and tells nobody."""
    rules = bag.rules
    if rules is None or not rules.has_kin or bag.terms.replication is not None:
        return None
    rank = rules.policy.rank
    assert rank is not None
    keys = [key for key in rank.keys[BAG] if key in STEADY]
    return rank.flat.text, tuple([facts.BAG[key](state, bag) for key in keys])


def look(state: State, bag: Bag) -> None:
    """It may look otherwise now: then it stands elsewhere."""
    rules = bag.rules
    if rules is None or not rules.has_kin:
        return
    in_tail = rules.sees_tail and tails.in_tail(bag)
    if rules.looked and in_tail is rules.in_tail:
        return
    rules.looked, rules.in_tail = True, in_tail
    rules.kin = kin = kin_of(state, bag)
    if kin is not None:
        for lines in state.lines.values():
            if bag.id in lines.standing:
                lines.enter(bag, kin)


def look_at_all(state: State) -> None:
    """Hosts have come or gone, and with them changes where a tail begins."""
    state.resized = False
    for bag in state.open.values():
        if bag.rules is not None:
            look(state, bag)
