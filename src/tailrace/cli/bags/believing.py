"""Whether the policy of a bag can be believed, before the bag is handed in or run."""

from __future__ import annotations

from tailrace.bag.bag import Bag
from tailrace.bag.places import Path
from tailrace.bag.policy import EXPRESSIONS
from tailrace.bag.policysaid import Says
from tailrace.bag.tables import Origin
from tailrace.cli.bags.bagplace import bad
from tailrace.errors import BadInput


def believe(says: Says, origin: Origin, path: Path) -> None:
    """With the line of a fault, where the library is here; a server that gets the bag has it."""
    from tailrace.policy.bagpolicy import check_policy
    from tailrace.policy.library import is_installed

    if is_installed():
        check_policy(says, origin, path)


def try_here(bag: Bag) -> None:
    """In a process of its own, as a server would."""
    if bag.spec.policy is None:
        return
    from tailrace.policy.parameters import looked_at
    from tailrace.server.policytrial import try_policy

    try:
        policy, _ = looked_at(bag.spec.policy, bag)
        assert policy is not None
        try_policy(policy)
    except BadInput as fault:
        named = tuple(name for name in EXPRESSIONS if fault.message.startswith(name))
        raise bad(bag.spec, ("policy", *named), fault.message, fault.remedy) from None
