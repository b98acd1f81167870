"""Calls go only where their pickled results are believed."""

from __future__ import annotations

from msgspec.structs import replace

from tailrace.bag.bag import Bag
from tailrace.bag.policysaid import may_use
from tailrace.bag.terms import Terms
from tailrace.errors import BadInput
from tailrace.pools.terms import Pool


def trusted_pools(described: tuple[Pool, ...], joined: list[str]) -> list[str]:
    """What the server says of its own pools stands above what tokens say."""
    terms = {pool.name: pool.trusted for pool in described}
    return [name for name in dict.fromkeys([*terms, *joined]) if terms.get(name, True)]


def with_trusted(bag: Bag, trusted: list[str]) -> Terms:
    """The bag's terms; those of calls name the trusted pools, so that no machine is asked for a
    result that would be refused."""
    terms = bag.terms()
    if bag.spec.function is None:
        return terms
    chosen = [name for name in trusted if may_use(terms, name)]
    if not chosen:
        raise BadInput(
            "no pool here is trusted with calls: who unpickles a result runs what its maker put in",
            remedy="An admin makes one: `tailrace tokens add NAME --pool --trusted`; or the server "
            "runs calls itself: `tailrace serve --local`.",
        )
    return replace(terms, pools=tuple(chosen))
