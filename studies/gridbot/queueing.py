"""What is wanted once more goes before all that was never sent, as it may have done in GridBot.

No bag can ask for it, since it makes bags take longer; so the study has a strategy of its own. Of
the paper it is the extreme case: there replicas stand in the queue with the others, it is not said
where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from studies.gridbot.tally import Told, tell
from tailrace.scheduler.replication.requirements import ByRequirements
from tailrace.scheduler.strategies import BY_POLICY
from tailrace.simulation.scenario import Scenario


class ReplicasFirst(ByRequirements):
    def goes_first(self) -> bool:
        return True


def tell_replicas_first(scenario: Scenario, seed: int) -> Told:
    with _replicas_first():
        return tell(scenario, seed)


@contextmanager
def _replicas_first() -> Iterator[None]:
    (name, own), *_ = BY_POLICY.items()
    BY_POLICY[name] = ReplicasFirst
    try:
        yield
    finally:
        BY_POLICY[name] = own
