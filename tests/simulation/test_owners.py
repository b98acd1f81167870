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


def test_a_lost_task_goes_back_to_the_only_machine_whose_owner_takes_it() -> None:
    """The others are idle, but will never have it."""
    text = OWNED.replace("machines = 1\n", 'machines = 1\nup = "90s"\ndown = "10s"\n')
    world = run('stop.time = "1h"\n' + text + 'owner = "bob"\n')
    assert world.records[0].restarts > 0
    assert (world.records[0].succeeded, world.records[0].failed) == (5, 0)


def test_a_bag_is_paused_whose_tasks_fail_alike_wherever_they_may_go() -> None:
    """One host may say no more than a quarter of that, unless it is the only one that takes it."""
    text = OWNED.replace("tasks = 5", "tasks = 50\nfailing.tasks = 1") + 'owner = "bob"\n'
    world = run('stop.time = "1d"\n' + text)
    assert "in a row failed alike" in world.scheduler.state.bags[1].why
