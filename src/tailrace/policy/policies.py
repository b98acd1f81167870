"""The policies of a bag, and those of a worker: as texts, and read.

```toml
[policy]
JobRequirements = '!Tail ? true : Host.ErrorRate < 0.1'
Concurrency = '2 * Host.NumCpus'
Deadline = 'Concurrency * 2000'
```
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from tailrace.bag.places import Path
from tailrace.bag.policy import HostPolicy, Policy
from tailrace.bag.policykeys import expressions
from tailrace.bag.tables import Origin, Table
from tailrace.policy.ads import Ad, Scene
from tailrace.policy.attributes import Scope
from tailrace.policy.expression import Expression, Kind, keys_by_part
from tailrace.policy.flat import Terms
from tailrace.policy.names import Params
from tailrace.policy.needs import Needs
from tailrace.policy.reading import read_expression

MOST_KEPT = 256
EVERYWHERE = tuple(Scope)
NO_HOST = (Scope.JOB, Scope.BOT, Scope.QUEUE, Scope.OURS)
NO_TASK = (Scope.POOL, Scope.BOT, Scope.QUEUE, Scope.OURS)


class Word(msgspec.Struct, frozen=True):
    """One policy: its name in a file, its field here, what it gives and what it may look at."""

    name: str
    field: str
    kind: Kind
    about: str
    scopes: tuple[Scope, ...] = EVERYWHERE


WORDS = (
    Word("JobRequirements", "job_requirements", Kind.BOOLEAN, "may this host have this task?"),
    Word("Rank", "rank", Kind.NUMBER, "bags with a higher one are served first"),
    Word(
        "ReplicationRequirements",
        "replication_requirements",
        Kind.BOOLEAN,
        "may the task have one more attempt now?",
        NO_HOST,
    ),
    Word("Concurrency", "concurrency", Kind.COUNT, "tasks that the host may hold, of all bags"),
    Word("Deadline", "deadline", Kind.SECONDS, "time-out of an attempt"),
    Word("GridPolicy", "grid_policy", Kind.BOOLEAN, "may the pool be asked for machines?", NO_TASK),
)
HOST_WORDS = (
    Word(
        "HostRequirements",
        "host_requirements",
        Kind.BOOLEAN,
        "does the host take tasks of this bag?",
    ),
    Word("HostRank", "host_rank", Kind.NUMBER, "of those it takes, it prefers the higher ones"),
)


class Compiled(msgspec.Struct, frozen=True):
    """The policy of a bag, ready to be evaluated."""

    job_requirements: Expression | None = None
    rank: Expression | None = None
    replication_requirements: Expression | None = None
    concurrency: Expression | None = None
    deadline: Expression | None = None
    grid_policy: Expression | None = None
    keys: tuple[tuple[str, ...], ...] = ((), (), (), ())  # of all of them, by part of the ads

    def show(self, scene: Scene, *ads: Ad) -> None:
        """To be done once, before several of them are asked for what they have `found(scene)`."""
        for ad in ads:
            scene.show(ad.values, self.keys[ad.part])


class CompiledHost(msgspec.Struct, frozen=True):
    host_requirements: Expression | None = None
    host_rank: Expression | None = None


def texts(policy: Policy | HostPolicy) -> dict[str, str]:
    """By name, those that are there."""
    words = WORDS if isinstance(policy, Policy) else HOST_WORDS
    found = {word.name: getattr(policy, word.field) for word in words}
    return {name: text for name, text in found.items() if text is not None}


def compile_policy(policy: Policy, params: Params | None = None) -> Compiled:
    """BadInput names the policy that cannot be read. `params`: some values of each parameter."""
    return _compiled_with(policy, params) if params else _compiled_once(policy)


@lru_cache(MOST_KEPT)
def _compiled_once(policy: Policy) -> Compiled:
    """Bags come in hundreds with the same policy, and are all read again after a restart."""
    return _compiled_with(policy, {})


def _compiled_with(policy: Policy, params: Params) -> Compiled:
    given = texts(policy)
    found = _compiled(given, WORDS, params, given)
    read = [one for expression in found.values() for one in expression.needs.attributes]
    return Compiled(**found, keys=keys_by_part(Needs(tuple(dict.fromkeys(read)))))


def compile_host_policy(policy: HostPolicy) -> CompiledHost:
    given = texts(policy)
    return CompiledHost(**_compiled(given, HOST_WORDS, {}, given))


def _compiled(
    given: Mapping[str, str], words: tuple[Word, ...], params: Params, others: Mapping[str, str]
) -> dict[str, Expression]:
    return {
        word.field: read_expression(
            given[word.name], word.kind, Terms(word.name, word.scopes, params, others)
        )
        for word in words
        if word.name in given
    }


def check_texts(given: Mapping[str, str], others: Mapping[str, str], params: Params) -> None:
    """BadInput names the policy and the place in it. `others`: the policies that they may read."""
    _compiled(given, WORDS, params, others)


def read_host_policy(table: Table) -> HostPolicy:
    """`HostRequirements` and `HostRank` of the file of a worker, checked."""
    found = HostPolicy(**expressions(table, {word.name: word.field for word in HOST_WORDS}))
    check_at(table.origin, table.path, texts(found), HOST_WORDS)
    return found


def check_at(
    origin: Origin,
    path: Path,
    given: Mapping[str, str],
    words: tuple[Word, ...] = WORDS,
    others: Mapping[str, str] | None = None,
    params: Params | None = None,
) -> None:
    """Faults say the line of the file. `others`: the policies that they may read."""
    for word in words:
        if word.name in given:
            with origin.at(*path, word.name):
                known = given if others is None else others
                terms = Terms(word.name, word.scopes, params or {}, known)
                read_expression(given[word.name], word.kind, terms)
