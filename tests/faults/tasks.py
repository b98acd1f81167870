"""The bags of a run, and what their tasks do when they are executed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import msgspec

from tailrace.bag.bag import Bag
from tailrace.bag.spec import BagSpec, FileRule
from tailrace.bag.terms import Growth, Limits, Retries, Terms
from tailrace.bag.values import Range
from tailrace.pools.terms import Billing, Late, Pool

from .engine import MINUTE, SECOND

MB = 1_000_000
NATURES = ("good",) * 16 + ("flaky", "flaky", "broken", "hungry", "impossible", "long")


class Doing(msgspec.Struct, frozen=True):
    """How an execution will end if nobody ends it before."""

    lasts_us: int
    outcome: str
    exit: int | None = None
    limit: str | None = None
    stderr: str = ""
    outputs: tuple[Path, ...] = ()


class BagPlan(msgspec.Struct, frozen=True):
    name: str
    spec: BagSpec
    terms: Terms
    natures: tuple[str, ...]
    typical_us: int
    at_us: int


def draw_bag(random: Random, number: int, pools: tuple[Pool, ...], folder: Path) -> BagPlan:
    count = random.choice((1, 2, 5, 8, 12, 20))
    tame = random.random() < 0.5
    natures = tuple("good" if tame else random.choice(NATURES) for _ in range(count))
    memory = random.random() < 0.3
    name = f"bag-{number}"
    spec = BagSpec(
        name,
        str(folder),
        command=("run", "{i}"),
        axes=((Range("i", "0", "1", count),),),
        needs={
            "cores": random.choice((500, 1000, 1000, 2000)),
            **({"memory": MB} if memory else {}),
        },
        limits=Limits(memory=MB) if memory else Limits(),
        growth=Growth(2.0, {"memory": 4 * MB}, ("memory",)) if memory else None,
        retries=Retries(random.choice((0, 1, 1, 3)), random.choice((0, 1))),
        order=random.choice(("listed", "shuffled")),
        seed=number,
        repeatable=random.random() < 0.5,
        timeout_us=random.choice((None, None, 5 * SECOND, 30 * SECOND)),
        budget=random.choice(({}, {}, {"USD": random.randint(1, 12) * 1000})),
        max_failures=random.choice((None, None, None, 2)),
        pools=random.choice(((), (), tuple(pool.name for pool in pools[:2]))),
        grace_us=2 * SECOND,
        **_files(random, name),
    )
    like = random.choice((20, 20, 4))
    terms = msgspec.structs.replace(Bag(spec, lambda k: b"").terms(), like_failures=like)
    typical = int(10 ** random.uniform(4.5, 7.2))
    return BagPlan(name, spec, terms, natures, typical, random.randint(0, 20 * SECOND))


def _files(random: Random, name: str) -> dict[str, Any]:
    """Every third bag has outputs, some of them two."""
    if random.random() < 0.67:
        return {}
    rules = [FileRule(f"{k}.txt", f"{name}/{{i}}-{k}.txt") for k in range(random.choice((1, 2)))]
    return {"files": "staged", "outputs": tuple(rules)}


def draw_pools(random: Random) -> tuple[Pool, ...]:
    """One of machines that are just there, and one or two that are leased."""
    silent = random.choice((10, 30, 60)) * SECOND
    late = (Late.ACCEPT, Late.ACCEPT, Late.ACCEPT, Late.IGNORE)
    own = Pool("own", max=0, silent_after_us=silent, late_results=random.choice(late))
    leased = Pool(
        "leased",
        billing=Billing(
            price=random.choice((0, 1000)), unit_us=random.choice((10 * SECOND, MINUTE))
        ),
        max=random.choice((0, 1, 2)),
        lease_us=random.choice((30 * SECOND, 30 * SECOND, MINUTE, 3 * MINUTE, 60 * MINUTE)),
        silent_after_us=silent,
        late_results=random.choice(late),
    )
    other = Pool("other", max=random.choice((0, 0, 1)), lease_us=5 * MINUTE, silent_after_us=silent)
    return own, leased, other


def execute(random: Random, plan: BagPlan, order: dict[str, Any], unlucky: float) -> Doing:
    """One execution of a task; `unlucky` is how often this machine spoils things by itself."""
    nature = plan.natures[order["index"] % len(plan.natures)]
    lasts = int(plan.typical_us * random.uniform(0.3, 2.0)) + 1
    if nature == "long" and random.random() < 0.5:
        lasts *= 20
    if random.random() < unlucky:
        return Doing(lasts // 2, "host_failed", stderr="no room on the device")
    if nature == "broken" or (nature == "flaky" and random.random() < 0.5):
        return Doing(lasts, "task_failed", 1, stderr=f"cannot do {order['index']}")
    memory = (order.get("limits") or msgspec.to_builtins(plan.terms.limits)).get("memory", 4 * MB)
    if nature == "impossible" or (nature == "hungry" and memory < 4 * MB):
        return Doing(lasts // 2, "over_limit", None, "memory")
    return Doing(lasts, "succeeded", 0)
