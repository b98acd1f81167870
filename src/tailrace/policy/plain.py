"""Plain words for what most policies say; each becomes a clause of a ClassAd.

* `priority = 5`: bags with a higher one are served first.
* `max_running = 100`: so many tasks are under way at a time.
* `tasks_per_host = 4`: a host takes no more of the bag while it holds so many of it.
* `pools = ["!spot"]`, `hosts = "node0*"`: where tasks may run; `!` in front: where not.
* `max_attempts = 3`: a task may have so many attempts at once.
* `timeout = "2h"`: of an attempt.

What a bag says in plain words and in an expression of its own has both to hold. Of `priority` and
`Rank`, and of `timeout` and `Deadline`, there can be only one.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tailrace.bag.policy import Plain, Policy
from tailrace.errors import BadInput
from tailrace.policy.globs import condition
from tailrace.policy.policies import WORDS, texts
from tailrace.policy.tokens import without_comments

MICROS = 1_000_000


class Clause(msgspec.Struct, frozen=True):
    policy: str  # to which it belongs
    text: str
    word: str  # from which it came: `max_running = 100`

    @property
    def key(self) -> str:
        return self.word.partition(" ")[0]


def clauses(plain: Plain) -> list[Clause]:
    """BadInput: a pattern that is none."""
    return [*_numbers(plain), *_places(plain)]


def _numbers(plain: Plain) -> Iterator[Clause]:
    if plain.priority is not None:
        yield Clause("Rank", f"{plain.priority}", f"priority = {plain.priority}")
    if plain.max_running is not None:
        word = f"max_running = {plain.max_running}"
        yield Clause("JobRequirements", f"BOT.JobsRunning < {plain.max_running}", word)
    if plain.tasks_per_host is not None:
        word = f"tasks_per_host = {plain.tasks_per_host}"
        yield Clause("JobRequirements", f"Host.RunningOfBot < {plain.tasks_per_host}", word)
    if plain.max_attempts is not None:
        word = f"max_attempts = {plain.max_attempts}"
        text = f"Job.NumberOfReplicas < {plain.max_attempts}"
        yield Clause("ReplicationRequirements", text, word)
    if plain.timeout_us is not None:
        seconds = f"{plain.timeout_us / MICROS:.6f}".rstrip("0").rstrip(".")
        yield Clause("Deadline", seconds, f"timeout = {seconds}s")


def _places(plain: Plain) -> Iterator[Clause]:
    """Pools that are not wanted are neither asked for machines nor given tasks."""
    if plain.pools:
        word = f"pools = {_list(plain.pools)}"
        yield Clause("JobRequirements", condition("Host.Pool", plain.pools), word)
        yield Clause("GridPolicy", condition("Pool.Name", plain.pools), word)
    if plain.hosts:
        word = f"hosts = {_list(plain.hosts)}"
        yield Clause("JobRequirements", condition("Host.Name", plain.hosts), word)


def _list(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def joined(policy: Policy, plain: Plain) -> Policy:
    """The whole policy. BadInput: both say what only one can."""
    found = texts(policy)
    for name, given in _by_policy(plain).items():
        own = found.get(name)
        found[name] = join(name, given, own)
    return Policy(**{word.field: found.get(word.name) for word in WORDS})


def _by_policy(plain: Plain) -> dict[str, list[Clause]]:
    found: dict[str, list[Clause]] = {}
    for clause in clauses(plain):
        found.setdefault(clause.policy, []).append(clause)
    return found


def join(name: str, given: list[Clause], own: str | None) -> str:
    said = [clause.text for clause in given]
    if own is None:
        return said[0] if len(said) == 1 else _both(said)
    if name in ("Rank", "Deadline"):
        raise BadInput(
            f"the bag has both {given[0].key} and {name}", remedy=f"keep one: {name} = '{own}'"
        )
    return _both([*said, without_comments(own)])  # which refuses `true) || (true`


def _both(said: list[str]) -> str:
    return " && ".join(f"({text})" for text in said)
