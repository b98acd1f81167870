"""Why a run ended before all tasks had their results, where the scenario did not ask for that."""

from __future__ import annotations

from tailrace.scheduler.rows import BagPhase
from tailrace.simulation.engine import Stop
from tailrace.simulation.settings import quoted
from tailrace.simulation.world import World

HELD = (BagPhase.PAUSED, BagPhase.BRAKED, BagPhase.STOPPED)
ASKED = (Stop.TIME, Stop.COUNT, Stop.CONDITION)  # by the scenario
NOTHING = "nothing was left to happen: "
OUT = "their attempts are out, on machines that stand still or are lost without a word"
IDLE = "there are machines, but none that may do them"
GONE = "every machine is gone, and no other would come"


def unfinished(world: World, stop: Stop) -> str:
    """Empty: it ended as it should."""
    if stop in ASKED or left(world) <= 0:
        return ""
    if world.given_up:
        return world.given_up
    held = [bag for bag in world.scheduler.state.bags.values() if bag.phase in HELD]
    if held:
        return f"bag {held[0].terms.name} was {held[0].phase}: {held[0].why}"
    return NOTHING + _nothing(world)


def left(world: World) -> int:
    """Results that were wanted and did not come."""
    wanted = world.scenario.stop.tasks or sum(len(record.done) for record in world.records)
    return wanted - sum(record.settled for record in world.records)


def _nothing(world: World) -> str:
    if any(bag.live for bag in world.scheduler.state.bags.values()):
        return OUT
    if any(host.presence.up for host in world.hosts.values()):
        return IDLE
    return GONE + _never_mended(world)


def _never_mended(world: World) -> str:
    """What is easily forgotten, if it is why."""
    keys = {
        f"pools.{quoted(pool.terms.name)} has {there}, but no {away}": None
        for pool in world.scenario.pools
        for life, there, away in (
            (pool.failures, "up", "down"), (pool.owner, "owner_away", "owner_there"),
        )
        if pool.count and life is not None and life.away is None
    }  # fmt: skip
    return f" ({'; '.join(keys)})" if keys else ""
