"""Which parameters of a bag's tasks its policy looks at, and what of them the scheduler gets."""

from __future__ import annotations

from math import isfinite

from msgspec.structs import replace

from tailrace.bag.bag import Bag
from tailrace.bag.columns import Columns, columns, samples
from tailrace.bag.policy import BagPolicy
from tailrace.errors import BadInput
from tailrace.policy.ads import MOST_TEXT, fitting
from tailrace.policy.names import below_params, is_parameter
from tailrace.policy.policies import texts
from tailrace.policy.tokens import Sort, Token, tokens

MOST_TRIED = 16  # values of a parameter that go with a policy, to be tried on


def looked_at(policy: BagPolicy | None, bag: Bag) -> tuple[BagPolicy | None, Columns | None]:
    """The policy with some values of each parameter that it names; and these parameters of all
    tasks. BadInput: what cannot be had, with the policy that asks for it."""
    asked = {} if policy is None else _asked(policy)
    if policy is None or not asked:
        return policy, None
    by = next(iter(asked.values()))  # the policy that names the first of them
    try:
        if bag.last is not None:
            message = "it looks at parameters, but the bag's last task (`then`) has none"
            raise BadInput(message, remedy="run that command afterwards, or as a bag of its own")
        names = _names(list(asked), bag.sweep.names())
        if names is None:
            return replace(policy, params=samples(bag)), None  # who reads it names what lacks
        found = columns(bag, names)
        _check_values(found)
    except BadInput as fault:
        raise BadInput(f"{by}: {fault.message}", remedy=fault.remedy) from None
    return replace(policy, params=_tried(found)), found


def reads_parameters(policy: BagPolicy) -> bool:
    return bool(_asked(policy))


def names_in(policy: BagPolicy | None) -> tuple[str, ...]:
    """Those that the policy of a stored bag looks at."""
    return () if policy is None else tuple(policy.params)


def _asked(policy: BagPolicy) -> dict[str, str]:
    """Parameters as they are written: the first policy that names each."""
    found: dict[str, str] = {}
    for name, text in texts(policy.own).items():
        try:
            words = tokens(text)
        except BadInput:
            continue  # whoever reads it says so
        for path in _paths(words):
            if is_parameter(path):
                found.setdefault(below_params(path), name)
    return found


def _paths(words: list[Token]) -> list[tuple[str, ...]]:
    """`Job.Params.x`: names between which stand dots."""
    found: list[list[str]] = []
    open_ = False  # the last of them goes on
    for before, word in zip([None, *words], words, strict=False):
        if word.sort in (Sort.NAME, Sort.QUOTED):
            if not open_ or not found:
                found.append([])
            found[-1].append(word.text.strip("'"))
        named = before is not None and before.sort in (Sort.NAME, Sort.QUOTED)
        open_ = word.sort is Sort.SIGN and word.text == "." and named
    return [tuple(path) for path in found]


def _names(asked: list[str], known: list[str]) -> tuple[str, ...] | None:
    """As the bag writes them; None: it does not have one of them, or has two that are so alike."""
    found: dict[str, None] = {}
    for written in asked:
        same = [name for name in known if name.lower() == written.lower()]
        if written not in known and len(same) != 1:
            return None
        found[written if written in known else same[0]] = None
    if len(dict.fromkeys(name.lower() for name in found)) < len(found):
        remedy = "upper and lower case are alike in a policy: name one of them otherwise"
        raise BadInput(f"{' and '.join(found)} differ in nothing else", remedy=remedy)
    return tuple(found)


def _check_values(found: Columns) -> None:
    for row in found.rows:
        for name, value in zip(found.names, row, strict=True):
            if fitting(value) is None or (isinstance(value, float) and not isfinite(value)):
                raise BadInput(
                    f"Params.{name} has a value that no policy can hold: {str(value)[:40]!r}",
                    remedy=f"numbers are finite and of 64 bits, texts of at most {MOST_TEXT} "
                    "characters",
                )


def _tried(found: Columns) -> dict[str, tuple[str | int | float | bool, ...]]:
    by_name = zip(found.names, zip(*found.rows, strict=True), strict=True)
    return {name: tuple(dict.fromkeys(values))[:MOST_TRIED] for name, values in by_name}
