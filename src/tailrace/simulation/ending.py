"""Why a run ended before all tasks had their results, where the scenario did not ask for that."""

from __future__ import annotations

from tailrace.scheduler.rows import BagPhase
from tailrace.simulation.engine import Stop
from tailrace.simulation.world import World

HELD = (BagPhase.PAUSED, BagPhase.BRAKED, BagPhase.STOPPED)
NOTHING = "nothing was left to happen: no machine that could do them would ever come"


def unfinished(world: World, stop: Stop) -> str:
    """Empty: it ended as it should."""
    wanted = world.scenario.stop.tasks or sum(len(record.done) for record in world.records)
    if stop is Stop.TIME or sum(record.settled for record in world.records) >= wanted:
        return ""
    held = [bag for bag in world.scheduler.state.bags.values() if bag.phase in HELD]
    return f"bag {held[0].terms.name} was {held[0].phase}: {held[0].why}" if held else NOTHING
