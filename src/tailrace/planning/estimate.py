"""What strategies would come to: many repetitions of each, on all cores, and what they tell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
from numpy.typing import NDArray

from tailrace.errors import BadInput
from tailrace.planning.kernel import life, model
from tailrace.planning.kernel.model import FROM_THE_BEGINNING, Standing
from tailrace.planning.setting import Hosts, Setting
from tailrace.planning.strategy import Strategy

Floats = NDArray[np.float64]

LOW, HIGH = 0.05, 0.95
MOST_SEEDS = 2**63
MOST_VALUES = 200_000_000  # repetitions times strategies times figures: 1.6 GB


class Spread(msgspec.Struct, frozen=True):
    """Of one figure over the repetitions; `se` is the standard error of the mean."""

    mean: float
    se: float | None  # of one repetition nobody knows
    p05: float
    p95: float


class Estimate(msgspec.Struct, frozen=True):
    """Times in seconds, costs in cents."""

    makespan: Spread
    tail_makespan: Spread
    cost_per_task: Spread
    reliable_sent: Spread
    used_mr: Spread
    reliable_queue_max: Spread


NAMES = Estimate.__struct_fields__


class Samples(msgspec.Struct, frozen=True):
    """By repetition and strategy. The n-th repetition meets the same chance under each strategy, so
    that differences between strategies are sharper than each of them."""

    strategies: tuple[Strategy, ...]
    of: dict[str, Floats]  # by the names of Estimate

    def estimates(self) -> list[Estimate]:
        columns = [_spreads(self.of[name]) for name in NAMES]
        return [Estimate(*spreads) for spreads in zip(*columns, strict=True)]

    def means(self, name: str) -> Floats:
        mean: Floats = self.of[name].mean(axis=0)
        return mean


def sample(
    setting: Setting, strategies: Sequence[Strategy], repetitions: int, seed: int = 0,
    threads: int | None = None, standing: Standing = FROM_THE_BEGINNING, endless: bool = False,
) -> Samples:  # fmt: skip
    """From the beginning of the bag, or as it stands in its tail: then its tasks are those left.
    With `endless` strategies by which some task had no result are left out, not refused."""
    if repetitions < 1:
        raise BadInput(f"{repetitions} repetitions: it takes at least 1")
    setting.check(strategies)
    _check_size(len(strategies), repetitions)
    rows = np.array([_row(one, setting) for one in strategies], dtype=np.float64)
    there = int(max(standing.out[:, 1].sum(), standing.hosts[:, 0].sum()))
    most_dear = max(int(rows[:, 3].max()), there)
    made = setting.model(most_dear)
    out = np.empty((repetitions, len(strategies), len(model.FIGURES)))
    seed %= MOST_SEEDS
    _fill(made, standing, rows, seed, out, threads or len(os.sched_getaffinity(0)))
    ended = np.flatnonzero(np.isfinite(out[:, :, model.MAKESPAN]).all(axis=0))
    if len(ended) < (1 if endless else len(strategies)):
        _refuse_endless(strategies[int(np.setdiff1d(np.arange(len(strategies)), ended)[0])])
    kept = tuple(strategies[at] for at in ended.tolist())
    return Samples(kept, _of(setting, out[:, ended]))


def _row(one: Strategy, setting: Setting) -> tuple[float, ...]:
    """Each task goes to a reliable host once: of more than there are tasks none would be used."""
    n = model.NOBODY if one.n is None else one.n
    dear = 0 if one.n is None else min(one.dear_hosts(setting.cheap.hosts), setting.tasks)
    return float(n), one.t_s, one.d_s, float(dear)


def _check_size(strategies: int, repetitions: int) -> None:
    most = MOST_VALUES // len(model.FIGURES)
    if strategies * repetitions > most:
        raise BadInput(
            f"{repetitions:,} repetitions of {strategies:,} strategies do not fit in memory",
            remedy=f"Together there may be {most:,}.",
        )


def _fill(
    made: model.Model, standing: Standing, rows: Floats, seed: int, out: Floats, threads: int
) -> None:  # fmt: skip
    """Each thread has repetitions of its own, which depend on their numbers alone."""
    share = -(-len(out) // threads)

    def some(first: int) -> None:
        left = len(standing.tasks)
        work, other = model.room_for(made, left), model.room_for(made, left)
        part = out[first : first + share]
        life.simulate(made, standing, rows, seed, first, part, work, other)

    firsts = range(0, len(out), share)
    if len(firsts) == 1:
        some(0)
        return
    with ThreadPoolExecutor(len(firsts)) as pool:
        for done in [pool.submit(some, first) for first in firsts]:
            done.result()


def _refuse_endless(strategy: Strategy) -> None:
    raise BadInput(
        f"{strategy}: after {model.MOST_SENT} attempts of each task some had no result",
        remedy="The reliability is too low, or the time-outs are too short.",
    )


def _of(setting: Setting, out: Floats) -> dict[str, Floats]:
    found = dict(zip(model.FIGURES, np.moveaxis(out, 2, 0), strict=True))
    return {
        "makespan": found["makespan"],
        "tail_makespan": found["tail_makespan"],
        "cost_per_task": _cost(setting, found) / setting.tasks,
        "reliable_sent": found["dear_sent"],
        "used_mr": found["most_dear"] / setting.cheap.hosts,
        "reliable_queue_max": found["dear_queue"],
    }


def _cost(setting: Setting, found: dict[str, Floats]) -> Floats:
    total: Floats = np.zeros_like(found["makespan"])
    for kind, hosts in (("cheap", setting.cheap), ("dear", setting.dear)):
        if hosts is not None:
            total += hosts.per_result * found[f"{kind}_results"]
            total += hosts.per_result_s * found[f"{kind}_result_s"]
            total += hosts.per_lease_s * found[f"{kind}_lease_s"]
    return total


def _spreads(values: Floats) -> list[Spread]:
    count = len(values)
    mean = values.mean(axis=0)
    several = count > 1
    se = (values.std(axis=0, ddof=1) / np.sqrt(count)).tolist() if several else [None] * mean.size
    low, high = np.quantile(values, (LOW, HIGH), axis=0)
    rows = zip(mean.tolist(), se, low.tolist(), high.tolist(), strict=True)
    return [Spread(*row) for row in rows]


def warm_up() -> None:
    """What has to be compiled is, in one thread, before many would wait for it."""
    one = Hosts(1, np.ones(1))
    setting = Setting(1, one, one, 2.0, np.zeros(1), np.ones(1))
    made = setting.model(1)
    out = np.empty((1, 1, len(model.FIGURES)))
    rows = np.array([[1.0, 1.0, 2.0, 1.0]])
    work, other = model.room_for(made), model.room_for(made)
    life.simulate(made, FROM_THE_BEGINNING, rows, 0, 0, out, work, other)
