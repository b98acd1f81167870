"""The policy of a bag, and what the owner of a machine says, read: what of it is asked, when it may
change, and what was found."""

from __future__ import annotations

from tailrace.bag.policy import BagPolicy, HostPolicy
from tailrace.errors import BadInput
from tailrace.policy import bagpolicy
from tailrace.policy.attributes import Pace
from tailrace.policy.expression import Expression, No
from tailrace.policy.names import PARAMS
from tailrace.policy.policies import Compiled, CompiledHost, compile_host_policy
from tailrace.scheduler import looking, restless
from tailrace.scheduler.kin import TAIL, Kin, has_kin, sees_tail
from tailrace.scheduler.state import ENDLESS

PARTS = range(4)  # of the ads
HOST, BAG, JOB, POOL = PARTS
Keys = tuple[tuple[str, ...], ...]  # by part


class Ruling:
    """What is said of a host, for a task of a bag."""

    __slots__ = ("matches", "most", "timeout_us", "why")

    def __init__(self, matches: bool, why: str = "") -> None:
        self.matches = matches
        self.why = why  # it does not
        self.most = ENDLESS  # attempts that the host may hold, of all bags
        self.timeout_us: int | None = None  # None: nothing was said


class Rules:
    """The policy of a bag, read."""

    __slots__ = (
        "bound",
        "bound_changes",
        "bound_sees",
        "broken",
        "by_group",
        "changes",
        "draws",
        "has_kin",
        "heeds_tail",
        "in_tail",
        "job_keys",
        "kept",
        "keys",
        "kin",
        "looked",
        "of_its_own",
        "policy",
        "rank",
        "restless",
        "ruled",
        "sees",
        "sees_tail",
    )

    def __init__(self, policy: BagPolicy) -> None:
        self.broken = ""
        self.of_its_own = policy.plain.tasks_per_host  # that a host may hold; None: as many as fit
        try:
            self.policy = bagpolicy.compiled(policy)
        except BadInput as fault:  # it was read before: where this server runs, something lacks
            self.policy, self.broken = Compiled(), str(fault)
        self.changes, self.sees = _changes(*self.matching(), self.policy.grid_policy)
        self.bound_changes, self.bound_sees = _changes(self.policy.concurrency)
        asked = [one for one in self.matching() if one is not None]
        self.keys: Keys = tuple(
            tuple(dict.fromkeys(key for one in asked for key in one.keys[part])) for part in PARTS
        )
        self.job_keys = self.keys[JOB]
        self.draws = restless.LOTTERY in self.keys[BAG]
        self.restless = restless.looks(*asked)
        self.heeds_tail = TAIL in self.keys[BAG]
        self.by_group = any(key.startswith(PARAMS) for key in self.job_keys)
        rank = self.policy.rank
        self.rank = 0.0 if rank is None else None if rank.value is None else as_rank(rank.value)
        self.has_kin, self.sees_tail = has_kin(rank), sees_tail(rank)
        self.looked = self.in_tail = False  # when its kin was last looked for
        self.kin: Kin | None = None  # among which it stands in line; None: it is judged alone
        self.bound = ENDLESS  # attempts that it may hold, by what went there from those that waited
        self.kept: dict[tuple[str, int | None], Ruling] = {}  # by host and group, if all stays
        self.ruled: Ruling | None = None  # the last, on the host that is being served

    def forget(self, host: str) -> None:
        if not self.by_group:
            self.kept.pop((host, None), None)
            return
        for key in [key for key in self.kept if key[0] == host]:
            del self.kept[key]

    @property
    def replicates(self) -> bool:
        return self.policy.replication_requirements is not None

    def matching(self) -> tuple[Expression | None, ...]:
        policy = self.policy
        return policy.job_requirements, policy.concurrency, policy.deadline


def _changes(*asked: Expression | None) -> tuple[bool, int]:
    """Does what they say change when things happen? And what makes it change besides?"""
    said = [one for one in asked if one is not None]
    pace = max((one.needs.pace.value for one in said), default=0)
    keys = [key for one in said for key in one.needs.keys]
    return pace >= Pace.EVENT.value, looking.sees(keys, clock=pace >= Pace.TIME.value)


class HostRules:
    """What the owner of a machine says, read."""

    __slots__ = ("broken", "changes", "policy", "restless", "says", "sees")

    def __init__(self, says: HostPolicy) -> None:
        self.says, self.broken = says, ""
        try:
            self.policy = compile_host_policy(says)
        except BadInput as fault:
            self.policy, self.broken = CompiledHost(), str(fault)
        self.changes, self.sees = _changes(self.policy.host_requirements)
        self.restless = restless.looks(self.policy.host_requirements)


def as_rank(value: bool | int | float | No) -> float:
    """What gives no number, comes last."""
    return float("-inf") if isinstance(value, No) else float(value)
