"""The policy of a bag: plain words and expressions side by side, checked and shown."""

from __future__ import annotations

import msgspec

from tailrace.bag.places import Path
from tailrace.bag.policy import NO_POLICY, BagPolicy, Policy
from tailrace.bag.policysaid import Says
from tailrace.bag.tables import Origin
from tailrace.errors import BadInput
from tailrace.policy.parameters import reads_parameters
from tailrace.policy.plain import Clause, clauses, joined
from tailrace.policy.policies import (
    WORDS,
    Compiled,
    check_at,
    check_texts,
    compile_policy,
    texts,
)
from tailrace.policy.tokens import without_comments


def whole(policy: BagPolicy) -> Policy:
    """In one set of expressions."""
    return joined(policy.own, policy.plain)


def compiled(policy: BagPolicy) -> Compiled:
    """As the scheduler asks it. What a host holds of a bag it counts by itself, so that hosts do
    not have to be asked about anew whenever that changes."""
    asked = msgspec.structs.replace(policy.plain, tasks_per_host=None)
    return compile_policy(joined(policy.own, asked), policy.params)


def check_own(policy: BagPolicy) -> None:
    """Each expression for itself: a fault is told with its place in what its owner wrote. Joined
    with plain words it would stand elsewhere, or be hidden."""
    check_texts(texts(policy.own), named(policy), policy.params)


def named(policy: BagPolicy) -> dict[str, str]:
    """What its own expressions find when they name another policy."""
    return {**texts(joined(NO_POLICY, policy.plain)), **texts(policy.own)}


def show(policy: BagPolicy) -> str:
    """As `policy show` prints it: an expression per policy, a clause per line."""
    own = texts(policy.own)
    given = clauses(policy.plain)
    blocks = []
    for word in WORDS:
        lines = [(one.text, one.word) for one in given if one.policy == word.name]
        if word.name in own:
            text = own[word.name]
            lines.append((without_comments(text) if lines else text.strip(), ""))
        if lines:
            blocks.append(_block(word.name, lines))
    return "\n".join(blocks)


def check_policy(says: Says, origin: Origin, path: Path = ()) -> None:
    """Faults say the line of the file in which the bag stands under this path."""
    policy = says.policy
    if policy is None:
        return
    if not policy.params and reads_parameters(policy):
        return  # whoever knows the bag's tasks sees to it
    # Each for itself first: a fault is told in what its owner wrote, with its line.
    check_at(origin, (*path, "policy"), texts(policy.own), others=named(policy),
             params=policy.params)  # fmt: skip
    for clause in clauses(policy.plain):
        with origin.at(*path, clause.key):
            _check_clause(clause)
    try:
        compiled(policy)
    except BadInput as fault:
        raise origin.bad((*path, "policy"), fault.message, fault.remedy) from None


def _check_clause(clause: Clause) -> None:
    word = next(word for word in WORDS if word.name == clause.policy)
    try:
        compile_policy(Policy(**{word.field: clause.text}))
    except BadInput as fault:
        told = fault.message.removeprefix(word.name).lstrip(":, ")
        raise BadInput(f"{clause.key}: {told}", remedy=fault.remedy) from None


def _block(name: str, lines: list[tuple[str, str]]) -> str:
    """All that is said has to hold."""
    if len(lines) == 1:
        return f"{name} = {lines[0][0]}{_comment(lines[0][1])}"
    last = len(lines) - 1
    said = [
        f"    ({text}){' &&' if at < last else ''}{_comment(word)}"
        for at, (text, word) in enumerate(lines)
    ]
    return "\n".join([f"{name} =", *said])


def _comment(word: str) -> str:
    return f"  // {word}" if word else ""
