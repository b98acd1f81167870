"""What the owner of a bag says of who runs his tasks: expressions and plain words, as written.

What they mean, the room `policy` knows; here they only travel with the bag.
"""

from __future__ import annotations

import msgspec

Samples = dict[str, tuple[str | int | float | bool, ...]]  # of values, by parameter


class Policy(msgspec.Struct, frozen=True, omit_defaults=True, rename="pascal"):
    """Expressions in the language of ClassAds, in files and JSON under the names that GridBot gave
    them: `JobRequirements`. None: nothing was said."""

    job_requirements: str | None = None
    rank: str | None = None
    replication_requirements: str | None = None
    concurrency: str | None = None
    deadline: str | None = None
    grid_policy: str | None = None


class Plain(msgspec.Struct, frozen=True, omit_defaults=True):
    """The same in plain words."""

    priority: int | float | None = None
    max_running: int | None = None
    tasks_per_host: int | None = None
    pools: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    max_attempts: int | None = None
    timeout_us: int | None = None


# By the name in a file: the field.
EXPRESSIONS = dict(zip(Policy.__struct_encode_fields__, Policy.__struct_fields__, strict=True))

NO_POLICY = Policy()
NOTHING_PLAIN = Plain()


class BagPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that was said, in both ways."""

    own: Policy = NO_POLICY
    plain: Plain = NOTHING_PLAIN
    params: Samples = {}  # some values of each parameter that is read

    @property
    def replicates(self) -> bool:
        """Does it say when a task gets another attempt?"""
        own = self.own.replication_requirements is not None
        return self.plain.max_attempts != 1 and (own or self.plain.max_attempts is not None)


class HostPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the owner of a machine says in the file of its worker."""

    host_requirements: str | None = None
    host_rank: str | None = None
