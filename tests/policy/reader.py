"""Expressions and tables, as tests write them."""

from __future__ import annotations

from typing import Any

from tailrace.bag.policy import BagPolicy
from tailrace.bag.policykeys import read_policies
from tailrace.bag.policysaid import check_policies, whole
from tailrace.bag.tables import Origin, Table, read_toml
from tailrace.bag.terms import Terms as BagTerms
from tailrace.policy.attributes import Scope
from tailrace.policy.bagpolicy import check_policy
from tailrace.policy.expression import Expression, Kind
from tailrace.policy.flat import Terms
from tailrace.policy.reading import read_expression

PARAMS: dict[str, tuple[Any, ...]] = {"alpha": (1, 2.5), "my file": ("a.txt",)}


def read(text: str, kind: Kind = Kind.BOOLEAN, **terms: Any) -> Expression:
    given = {"scopes": tuple(Scope), "params": PARAMS, **terms}
    return read_expression(text, kind, Terms("JobRequirements", **given))


def table(text: str) -> Table:
    """The `[policy]` of a bag file."""
    whole = f"[policy]\n{text}"
    return Table(read_toml(whole, "bag.toml")["policy"], Origin("bag.toml", whole), ("policy",))


def of_bag(own: str = "", plain: str = "") -> BagTerms:
    """What a bag file says, checked: plain words above the first line of its `[policy]`."""
    text = f"{plain}\n[policy]\n{own}"
    origin = Origin("bag.toml", text)
    table = Table(read_toml(text, "bag.toml"), origin)
    terms = BagTerms(1, **read_policies(table))
    table.finish()
    check_policies(terms, origin, check_policy)
    return terms


def policy(own: str = "", plain: str = "") -> BagPolicy:
    """All of it, also what the scheduler knows by itself."""
    return whole(of_bag(own, plain))
