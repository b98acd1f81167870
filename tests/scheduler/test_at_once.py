"""How many attempts of a task run at once, as far as its policy can look at them."""

from __future__ import annotations

import pytest

from tailrace.bag.policy import BagPolicy, Policy
from tailrace.bag.terms import Retries
from tailrace.policy.attributes import MOST_REPLICAS
from tailrace.pools.terms import Pool

from .stage import Stage, dropped

NAMES = tuple(f"h{number:03}" for number in range(150))


@pytest.mark.parametrize("replicates", ["true", "NumberOfReplicas < 2", "false"])
def test_those_that_expired_count_and_the_oldest_goes_for_each_that_comes(replicates: str) -> None:
    """Their hosts never answer."""
    stage = Stage(Pool("home", max=0))
    stage.hosts(*NAMES)
    policy = BagPolicy(Policy(deadline="100", replication_requirements=replicates))
    stage.submit(1, policy=policy, trial_us=0, repeatable=True, retries=Retries(expired=99))
    for name in NAMES:
        stage.offer(name)
    most = 0
    for _ in range(60):
        stage.wait(20)
        live = stage.scheduler.state.bags[1].live[0]
        running = [one for one in live if one.dropping is None]
        most = max(most, len(running))
        assert any(not one.expired for one in running), "it does not wait for those that never end"
    assert most == MOST_REPLICAS
    gone = {one.attempt for one in live} - {one.attempt for one in running}
    assert gone and gone == set(dropped(stage.all)), "they hold their hosts until these say so"
    assert max(gone) < min(one.attempt for one in running)
