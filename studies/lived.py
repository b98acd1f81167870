"""One run of a bag on unreliable machines and reliable ones: how long, how long from its tail on,
and what it costs where results are paid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from studies.observed import Observer
from tailrace.knowledge.sendings import Fate, Floats, Sendings
from tailrace.simulation.host import Sent
from tailrace.simulation.scenario import Scenario
from tailrace.simulation.world import World

SECOND = 1_000_000
C_UR, C_R = 1 / 3600, 34 / 3600  # cents a second (Table 2 of ExPERT)


class Lived(NamedTuple):
    makespan_s: float
    tail_s: float
    cents: float  # a task
    sent: int  # to reliable machines

    @property
    def product(self) -> float:
        """ExPERT 6.1: of the tail, not of the whole makespan."""
        return self.tail_s * self.cents


def lived(scenario: Scenario, seed: int) -> Lived:
    """The tail is as long as if it began when fewer tasks are left than there are unreliable
    machines, also where the strategy knows none."""
    world, seen = ran(scenario, seed)
    return came_to(world, seen, tail_of(scenario, done_s(world)))


def lived_by_itself(scenario: Scenario, seed: int) -> Lived:
    """The tail is what the scheduler takes for it."""
    world, seen = ran(scenario, seed)
    return came_to(world, seen, began_s(world))


def ran(scenario: Scenario, seed: int) -> tuple[World, Sendings]:
    watch = Observer()
    world = World(scenario, seed, watch=watch)
    world.run()
    assert world.records[0].complete, world.given_up
    return world, watch.sendings()


def done_s(world: World) -> Floats:
    return np.sort(np.array(world.records[0].done)) / SECOND


def began_s(world: World) -> float:
    """Its tail."""
    tail_us = world.scheduler.state.bags[1].tail_us
    assert tail_us is not None
    return tail_us / SECOND


def came_to(world: World, seen: Sendings, tail_s: float) -> Lived:
    done = done_s(world)
    cheap, dear = (seen.of(*_pools(world.scenario, reliable=kind)) for kind in (False, True))
    paid_s = [_returned_s(some) + _yet_to_return_s(world, reliable=kind)
              for some, kind in ((cheap, False), (dear, True))]  # fmt: skip
    cents = (C_UR * paid_s[0] + C_R * paid_s[1]) / len(done)
    return Lived(float(done[-1]), float(done[-1] - tail_s), cents, dear.count)


def tail_of(scenario: Scenario, done: Floats) -> float:
    pools = [pool for pool in scenario.pools if not pool.terms.reliable]
    hosts = sum(max(pool.count, pool.terms.max) for pool in pools)
    return float(done[max(len(done) - hosts, 0)])


def _pools(scenario: Scenario, *, reliable: bool) -> list[str]:
    return [pool.terms.name for pool in scenario.pools if pool.terms.reliable is reliable]


def _returned_s(seen: Sendings) -> float:
    return float(seen.took_s[seen.how(Fate.RETURNED)].sum())


def yet_to_return(world: World) -> list[tuple[Sent, float]]:
    """Losers that run on when the bag has ended, and are paid: the world ends with the bag. They do
    so until their time-out, or beyond it if that had passed before."""
    jobs = [job for host in world.hosts.values() for job in host.attempts.values()]
    live = world.scheduler.state.attempts
    return [(job.tag, job.work) for job in jobs
            if _returns(job.tag, job.work, live[job.tag.attempt].expired)]  # fmt: skip


def _returns(sent: Sent, run_us: float, overdue: bool) -> bool:
    in_time = sent.forgotten_us is None or sent.began_us + run_us < sent.forgotten_us
    return sent.returns and (overdue or in_time)


def _yet_to_return_s(world: World, *, reliable: bool) -> float:
    return sum(run_us for sent, run_us in yet_to_return(world)
               if sent.host.pool.terms.reliable is reliable) / SECOND  # fmt: skip
