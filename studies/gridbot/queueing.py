"""What is wanted once more goes before all that was never sent, as it may have done in GridBot.

The scheduler has no such setting, since it makes bags take longer; so the study changes its order
for a run. Of the paper it is the extreme case: there replicas stand in the queue with the others,
it is not said where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from studies.gridbot.tally import Told, tell
from tailrace.scheduler import offers
from tailrace.scheduler.offers import Turn
from tailrace.scheduler.state import Host, State
from tailrace.simulation.scenario import Scenario


def tell_replicas_first(scenario: Scenario, seed: int) -> Told:
    with _replicas_first():
        return tell(scenario, seed)


@contextmanager
def _replicas_first() -> Iterator[None]:
    own = offers._repeat_first

    def first(state: State, host: Host, turn: Turn) -> None:
        for bag in state.replicating.values():
            if offers._wants_on(bag, host):
                offers._repeat(state, bag, host, turn)

    offers._repeat_first = first
    try:
        yield
    finally:
        offers._repeat_first = own
