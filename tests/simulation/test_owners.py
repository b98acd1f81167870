"""Machines of the virtual world have owners, processors and words, as real ones do."""

from __future__ import annotations

from tests.simulation.scenarios import run, scenario

from tailrace.bag.policy import HostPolicy

OWNED = """\
[pools.desktops]
machines = 2
speed = 1.5
owner = "alice"
cpu = "Xeon E5"
says = { HostRequirements = 'BOT.Owner == "alice"', HostRank = "BOT.Priority" }
[pools.cluster]
machines = 1
[bags.b]
tasks = 5
length = "1m"
"""


def test_a_scheduler_is_told_whose_machines_they_are() -> None:
    world = run(OWNED.replace("HostRequirements = 'BOT.Owner == \"alice\"', ", ""))
    hosts = world.scheduler.state.hosts
    told = {name: (host.owner, host.cpu, host.says) for name, host in hosts.items()}
    desktop = ("alice", "Xeon E5", HostPolicy(host_rank="BOT.Priority"))
    assert told == {"desktops-0": desktop, "desktops-1": desktop, "cluster-0": ("", "", None)}
    assert [host.row().felt_speed for host in hosts.values()] == [1.5, 1.5, 1.0]


def test_both_words_of_a_pool_are_read() -> None:
    says = scenario(OWNED).pools[0].says
    assert says == HostPolicy('BOT.Owner == "alice"', "BOT.Priority")
