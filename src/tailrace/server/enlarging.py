"""Tasks that are added to a stored bag: what the scheduler is told of them, and what is stored."""

from __future__ import annotations

from array import array
from typing import NamedTuple

import msgspec

from tailrace.bag.additions import Added, Addition, add
from tailrace.bag.columns import Columns, columns, names_of
from tailrace.bag.policy import BagPolicy
from tailrace.bag.ranking import by_parameter_of
from tailrace.errors import BadInput
from tailrace.policy.parameters import names_in
from tailrace.scheduler.events import BagChanged, Change, More
from tailrace.scheduler.rows import BagPhase
from tailrace.server.batch import MoreTasks
from tailrace.server.people.principals import Principal
from tailrace.server.records import reading
from tailrace.server.submission import check_files, check_numbers, check_spec, check_values
from tailrace.server.tables.link import Link


class Enlarged(msgspec.Struct, frozen=True):
    """The answer."""

    bag: int
    name: str
    phase: str  # before
    count: int  # tasks it has now
    added: int
    there: int  # tasks that were asked for, and were there already


class Enlarging(NamedTuple):
    told: Enlarged
    event: BagChanged | None  # None: nothing is new
    more: MoreTasks | None


def enlarge(link: Link, number: int, asked: Addition, who: Principal) -> Enlarging:
    """Looks at the bag alone: nothing is changed yet."""
    if not reading.has_bag(link, number):  # forgotten just now
        raise BadInput(f"there is no bag {number}", remedy="`tailrace status` lists them.")
    row = reading.bag_row(link, number)
    terms, phase = row.terms, row.phase
    if phase is BagPhase.CANCELLED:
        raise BadInput(
            f"bag {number} is cancelled",
            remedy=f"`tailrace resume {number}` takes it up again; then add to it.",
        )
    bag = reading.content(link, number)
    spec = msgspec.structs.replace(bag.spec, axes=asked.axes, blocks=())
    check_numbers(spec)
    check_files(spec, who)
    try:
        check_values(spec, asked.chunks)
        added = add(bag, asked)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise BadInput(f"the new tasks cannot be used: {error}") from error
    told = Enlarged(number, spec.name, phase, added.bag.count, added.new, added.there)
    if not added.new:
        return Enlarging(told, None, None)
    order, columns = _order(added), _columns(added, terms.policy)
    event = BagChanged(number, Change.GROW, more=More(bag.count, added.new, order, columns))
    whole = _behind(reading.permutation(link, number), order, bag.count)
    encoded, _ = added.bag.encode()
    check_spec(encoded)
    more = MoreTasks(number, bag.count, encoded, added.chunks, bag.blocks.chunks, whole,
                     looked_at=names_of(columns))  # fmt: skip
    return Enlarging(told, event, more)


def _columns(added: Added, policy: BagPolicy | None) -> Columns | None:
    """What the bag's policy looks at of the new tasks: they have the groups that there are, or new
    ones."""
    names = names_in(policy)
    return columns(added.bag, names).since(added.before) if names else None


def _order(added: Added) -> bytes | None:
    """Of the new tasks, counted from the first of them, when they are ordered by a parameter."""
    if added.bag.spec.order in ("listed", "shuffled"):
        return None
    first = added.before
    numbers = by_parameter_of(added.bag, range(first, added.bag.count))
    return bytes(array("I", [number - first for number in numbers]))


def _behind(permutation: bytes | None, order: bytes | None, first: int) -> bytes | None:
    if permutation is None or order is None:
        return permutation
    numbers = array("I")
    numbers.frombytes(order)
    return permutation + bytes(array("I", [number + first for number in numbers]))
