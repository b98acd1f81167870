"""Sites, files and checkpoints in the virtual world, as a scenario names them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.scenarios import done_s, run, scenario

from tailrace.errors import BadInput
from tailrace.scheduler.events import Ended
from tailrace.simulation.engine import Stop
from tailrace.simulation.statistics import figures, links
from tailrace.simulation.world import World

GRID = """[sites.ghent]
lan = { rate = "1 Gbit/s" }
[sites.delft]
lan = { rate = "1 Gbit/s" }
[network]
wan = { rate = "5 Mbit/s", latency = "20ms" }
storage = { site = "ghent" }
"""
NEAR = '[pools.near]\nmachines = 1\nsite = "ghent"\ndetection = "reported"\n'
FAR = NEAR.replace("near", "far").replace("ghent", "delft")
BAG = "[bags.b]\nretries = { lost = 100 }\n"
LONE = '[pools.g]\nmachines = 1\ndetection = "reported"\n'


def found(world: World, name: str) -> dict[str, float]:
    return next(part.figures for part in links(world) if part.name == name)


# files


def test_input_and_output_travel_over_the_slowest_link() -> None:
    """Case 21: 1 GB + 1 GB over 5 Mbit/s take 3200 s, over the local network 16 s."""
    files = 'lengths = [100]\ninput = "1 GB"\noutput = "1 GB"\n'
    near, far = (run(GRID + pool + BAG + files) for pool in (NEAR, FAR))
    assert done_s(near) == pytest.approx([116])
    assert done_s(far) == pytest.approx([3300.04])
    assert found(far, "ghent-delft")["megabytes"] == pytest.approx(2000)
    assert found(near, "ghent-delft")["megabytes"] == 0


def test_inputs_share_a_local_network_and_reserve_their_slots() -> None:
    """Two inputs of 1 GB at once take 16 s; a third task waits for a slot, not for the network."""
    pool = NEAR.replace("machines = 1", "machines = 1\ncores = 2")
    world = run(GRID + pool + BAG + 'lengths = [10, 20, 1]\ninput = "1 GB"\n')
    assert done_s(world) == pytest.approx([26, 36, 35])
    assert figures(world)["busy"] < 1


def test_a_machine_takes_the_next_task_while_output_travels() -> None:
    """Each output takes 8 s alone: work goes on meanwhile, and the slot is never idle."""
    world = run(GRID + NEAR + BAG + 'lengths = [10, 10, 10]\noutput = "1 GB"\n')
    assert done_s(world) == pytest.approx([18, 28, 38])
    assert world.storage.used == 3_000_000_000
    assert figures(world)["makespan_s"] == pytest.approx(38)


def test_what_a_worker_measures_is_the_work_alone() -> None:
    told: list[Any] = []
    text = GRID + FAR + BAG + 'lengths = [100]\ninput = "1 GB"\noutput = "1 GB"\n'
    World(scenario(text), 1, watch=lambda event, *_: told.append(event)).run()
    assert [one.measured.run_us for one in told if isinstance(one, Ended)] == [100_000_000]


def test_a_failure_takes_output_that_is_on_its_way() -> None:
    """Up for 15 s, and 8 s of output after 10 s of work: only a second up time could do it."""
    life = 'up = "15s"\ndown = "5s"\n'
    files = 'lengths = [10]\noutput = "1 GB"\nretries = { lost = 3 }\n'
    world = run(GRID + NEAR + life + "[bags.b]\n" + files)
    assert (world.records[0].failed, world.records[0].attempts) == (1, 4)
    assert (world.storage.used, world.storage.refused) == (0, 0)
    assert found(world, "ghent lan")["megabytes"] == pytest.approx(4 * 625)


def test_one_that_works_while_an_output_travels_is_lost_with_its_machine() -> None:
    """At 15 s the second has worked for 5 s, beside the first one's output: neither was waiting."""
    life = 'up = "15s"\ndown = "5s"\n'
    files = 'lengths = [10, 10]\noutput = "1 GB"\nretries = { lost = 0 }\n'
    world = run(GRID + NEAR + life + "[bags.b]\n" + files)
    assert (world.records[0].failed, world.records[0].attempts) == (2, 2)


def test_a_full_storage_takes_no_more_and_says_so() -> None:
    grid = GRID.replace('{ site = "ghent" }', '{ site = "ghent", capacity = "2.5 GB" }')
    world = run(grid + NEAR + BAG + 'lengths = [10, 10, 10]\noutput = "1 GB"\n')
    assert (world.records[0].succeeded, world.records[0].failed) == (2, 1)
    assert world.storage.used == 2_000_000_000
    assert world.storage.refused >= 1
    assert figures(world)["work_useful_h"] * 3600 == pytest.approx(20)


def test_query_and_dispatch_are_waited_for() -> None:
    world = run('query = "3s"\ndispatch = "2s"\n' + LONE + BAG + "lengths = [10, 10]")
    assert done_s(world) == [15, 30]


@pytest.mark.parametrize(
    ("world", "times", "busy"),
    [
        ("dispatch = 10\n" + LONE + BAG, [20, 40, 60, 80], 0.5),
        ("dispatch = 10\n" + LONE + "cores = 2\n" + BAG, [20, 20, 40, 40], 0.5),
        ("dispatch = 10\n" + GRID + NEAR + BAG + 'input = "1 GB"\n', [28, 56, 84, 112], 10 / 28),
        (GRID + NEAR + BAG + 'input = "1.25 GB"\n', [20, 40, 60, 80], 0.5),
    ],
    ids=["one", "two cores", "with input", "input alone"],
)
def test_a_slot_is_reserved_while_an_attempt_is_on_its_way(
    world: str, times: list[float], busy: float
) -> None:
    found = run(world + "lengths = [10, 10, 10, 10]\n")
    assert done_s(found) == pytest.approx(times)
    told = figures(found)
    assert (told["busy"], told["full"]) == pytest.approx((busy, 1))


def test_what_is_on_its_way_is_lost_with_its_machine_and_handed_back_at_a_notice() -> None:
    """It is up for 25 s: the second, sent at 20, is lost on its way, or given back at the notice of
    24, so that nothing is lost by then."""
    pool = LONE + "up = 25\ndown = 5\n"
    for notice, lost in (("", 1), ("notice = 1\n", 0)):
        world = run("dispatch = 10\n" + pool + notice + BAG + "lengths = [10, 10]\n")
        assert done_s(world) == [20, 50]
        assert figures(world)["jobs_lost"] == lost


# sites


def test_machines_of_a_site_fail_together() -> None:
    sites = '[sites.a]\nup = "15s"\ndown = "5s"\n[sites.b]\n'
    pool = '[pools.g]\nmachines = 4\nsite = ["a", "b"]\ndetection = "reported"\n'
    world = run(sites + pool + BAG + "tasks = 12\nlength = 10")
    failures = [host.machine.usage().failures for host in world.every_host]
    assert failures == [2, 0, 2, 0]
    assert max(done_s(world)) == 40


def test_a_part_of_a_site_may_be_hit() -> None:
    sites = '[sites.a]\nup = "15s"\ndown = "5s"\nshare = 0.25\n'
    pool = '[pools.g]\nmachines = 200\nsite = "a"\ndetection = "reported"\n'
    world = World(
        scenario('stop = { time = "199s" }\n' + sites + pool + BAG + "lengths = [999]"), 3
    )
    world.run()
    failures = sum(host.machine.usage().failures for host in world.every_host)
    assert failures / (200 * 10) == pytest.approx(0.25, abs=0.04)


def test_a_world_whose_machines_are_all_dead_comes_to_rest() -> None:
    """Load, owners and failures of the site would go on without end, but hit nobody."""
    sites = '[sites.a]\nup = "15s"\ndown = "5s"\n'
    life = 'site = "a"\nup = "60s"\nowner_hours = { from = 1, to = 2 }\n'
    load = "owner_away = 30\nowner_there = 1\nload = { lasts = 7, share = 0.5 }\n"
    world = World(scenario(sites + LONE + life + load + "[bags.b]\nlengths = [999]"), 1)
    assert world.run() is Stop.EMPTY
    assert figures(world)["availability"] < 1


# checkpoints


def test_periodic_checkpoints_cost_what_the_thesis_says() -> None:
    """Case 14: W = 3600, I = 600, C = 5 makes five checkpoints, and 3625 s."""
    checkpoint = 'checkpoint = { every = "10m", pause = "5s" }\n'
    world = run(LONE + BAG + checkpoint + 'lengths = ["1h"]')
    assert done_s(world) == [3625]
    assert figures(world)["checkpoints"] == 5


def test_a_lost_attempt_goes_on_from_what_was_available() -> None:
    """Up for 100 s, down for 10 s. Checkpoints at 30, 61 and 92 after C = 1, available L = 20
    later: at 100 those up to 61 are, so that 60 s are saved. R = 5 before it goes on."""
    checkpoint = "checkpoint = { every = 30, pause = 1, latency = 20, recovery = 5 }\n"
    world = run(LONE + 'up = "100s"\ndown = "10s"\n' + BAG + checkpoint + "lengths = [120]")
    assert done_s(world) == [110 + 5 + 60 + 1]
    assert world.records[0].restarts == 1
    usage = world.every_host[0].machine.usage()
    assert usage.work_lost / 1e6 == pytest.approx(97 - 60)
    assert usage.useful_work / 1e6 == pytest.approx(120)


def test_without_checkpoints_the_same_is_never_done() -> None:
    text = LONE + 'up = "100s"\ndown = "10s"\n' + "[bags.b]\nlengths = [120]"
    assert run(text).records[0].succeeded == 0


def test_checkpoints_travel_take_room_and_are_forgotten_with_the_result() -> None:
    """1 GB takes 8 s on the local network: that of 30 is there at 39; at 45 the machine fails."""
    checkpoint = 'checkpoint = { every = 30, pause = 1, size = "1 GB" }\n'
    text = GRID + NEAR + 'up = "45s"\ndown = "10s"\n' + BAG + checkpoint + "lengths = [60]"
    world = run(text)
    assert done_s(world) == pytest.approx([55 + 8 + 30])
    assert world.storage.used == 0
    assert found(world, "ghent lan")["megabytes"] == pytest.approx(2000)


def test_a_checkpoint_without_room_saves_nothing() -> None:
    grid = GRID.replace('{ site = "ghent" }', '{ site = "ghent", capacity = "0.5 GB" }')
    checkpoint = 'checkpoint = { every = 30, pause = 1, size = "1 GB" }\nretries = { lost = 2 }\n'
    text = grid + NEAR + 'up = "45s"\ndown = "10s"\n[bags.b]\n' + checkpoint + "lengths = [60]"
    world = run(text)
    assert (world.records[0].succeeded, world.storage.refused) == (0, 3)


def test_checkpoints_carry_over_to_machines_of_another_speed() -> None:
    """40 s of 80 are saved on the slow machine; the rest takes 10 s on one four times as fast."""
    late = 'arrivals = { process = "listed", times = [60] }\n'
    slow = '[pools.slow]\nmachines = 1\ndetection = "reported"\nup = 50\n'
    pools = slow + "[pools.fast]\nmachines = 1\nslope = 0.25\n" + late
    checkpoint = "checkpoint = { every = 40 }\n"
    assert done_s(run(pools + BAG + checkpoint + "lengths = [80]")) == pytest.approx([70])


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (LONE + BAG + 'lengths = [1]\ninput = "1 GB"', "there is no storage", 4),
        (GRID + LONE + BAG + 'lengths = [1]\ninput = "1 GB"', "stand nowhere", 8),
        (GRID.replace("wan", "#") + FAR + BAG + 'lengths = [1]\noutput = "1 GB"',
         "no way leads from the storage at ghent to delft", 10),
        (LONE + 'site = "gent"\n' + BAG + "lengths = [1]", "there is no site 'gent'", 4),
        (GRID.replace("5 Mbit/s", "5 Mbit") + NEAR + BAG + "lengths = [1]", "is not a rate", 6),
        (GRID.replace('{ site = "ghent" }', '{ site = "gent" }') + NEAR + BAG + "lengths = [1]",
         "there is no site 'gent'", 7),
        ("[sites.a]\nup = 5\n" + LONE + BAG + "lengths = [1]", "up without down", 2),
        (LONE + BAG + 'lengths = [1]\ncheckpoint = { pause = "1s" }', "does not say how often", 7),
        (LONE + BAG + 'lengths = [1]\ncheckpoint = { every = 9, latency = 1, size = "1 GB" }',
         "latency beside size", 7),
    ],
)  # fmt: skip
def test_bad_stages_are_refused_where_they_stand(text: str, message: str, line: int) -> None:
    with pytest.raises(BadInput) as caught:
        scenario(text)
    assert message in caught.value.message
    assert (caught.value.file, caught.value.line) == ("s.toml", line)


# before a machine goes that knows it

GOES = LONE + 'up = "100s"\ndown = "10s"\n'


def lost_s(text: str) -> tuple[float, list[float], float]:
    """Work that was lost, when each task had its result, and how many attempts were lost."""
    world = run(text)
    told = figures(world)
    work = (told["work_done_h"] - told["work_useful_h"]) * 3600
    return work, done_s(world), told["jobs_lost"]


@pytest.mark.parametrize(
    ("notice", "more", "lost", "done"),
    [
        (None, "", 35, 110 + 70 + 5),  # from 60 on
        (20, "", 0, 110 + 55),  # at the notice 75 are done
        (5, "", 0, 110 + 40),  # written in the very last moment
        (4, "", 35, 110 + 70 + 5),  # no time for it: it works to the end, as without a notice
        (20, ", latency = 15", 0, 110 + 55),
        (20, ", latency = 16", 35, 110 + 70 + 5),
        (20, ", at_notice = false", 15, 110 + 70 + 5),  # handed back as it is
    ],
)
def test_what_is_done_at_the_notice_is_saved_if_there_is_time(
    notice: int | None, more: str, lost: float, done: float
) -> None:
    """130 s of work, machines that live for 100 s, and checkpoints after each 60 s of running."""
    text = GOES + (f"notice = {notice}\n" if notice else "") + BAG + "lengths = [130]\n"
    found = lost_s(f"{text}checkpoint = {{ every = 60, pause = 5{more} }}\n")
    assert found == (pytest.approx(lost), pytest.approx([done]), 0 if notice else 1)


@pytest.mark.parametrize(("notice", "lost"), [(9, 0), (8, 19), (None, 19)])
def test_a_checkpoint_at_the_notice_travels_if_there_is_time(
    notice: int | None, lost: float
) -> None:
    """1 GB takes 8 s, after a pause of 1 s: of 9 s of notice nothing is left. With 8 s it works
    on to the end at 50 s, and is sent again with the checkpoint of 30 s."""
    pool = NEAR + 'up = "50s"\ndown = "10s"\n' + (f"notice = {notice}\n" if notice else "")
    checkpoint = 'checkpoint = { every = 30, pause = 1, size = "1 GB" }\n'
    world = run(GRID + pool + BAG + checkpoint + "lengths = [60]")
    usage = world.every_host[0].machine.usage()
    assert usage.work_lost / 1e6 == pytest.approx(lost, abs=1e-3)
    assert (world.records[0].restarts, world.records[0].succeeded) == (1, 1)


def test_one_that_is_being_written_at_the_notice_does_as_well() -> None:
    """From 60 to 80 s; the notice comes at 70, and it is handed back at 80, with nothing lost."""
    text = GOES + "notice = 30\n" + BAG + "lengths = [110]\n"
    checkpoint = "checkpoint = { every = 60, pause = 20 }\n"
    assert lost_s(text + checkpoint) == (pytest.approx(0), pytest.approx([110 + 50]), 0)


def test_an_older_checkpoint_that_comes_late_is_not_taken_for_that_of_the_notice() -> None:
    """That of 65 s is there at 85, when that of the notice at 79 is still on its way, to 99."""
    text = GOES + "notice = 21\n" + BAG + "lengths = [130]\n"
    found = lost_s(text + "checkpoint = { every = 65, latency = 20 }\n")
    assert found == (pytest.approx(0), pytest.approx([110 + 130 - 79]), 0)


def test_an_output_travels_on_after_the_notice() -> None:
    """Its work is done at 10 s, it arrives at 18; the notice comes at 15, the end at 20."""
    pool = NEAR + 'up = "20s"\ndown = "1h"\nnotice = 5\n'
    world = run(GRID + pool + BAG + 'lengths = [10]\noutput = "1 GB"\n')
    assert done_s(world) == pytest.approx([18])
    assert world.records[0].attempts == 1


@pytest.mark.parametrize("calls", ["free", "worker"])
@pytest.mark.parametrize("checkpoint", ["pause = 10", "pause = 10, latency = 20", "pause = 50"])
def test_with_notice_no_more_work_is_lost(calls: str, checkpoint: str) -> None:
    pool = f"""[pools.spot]
machines = 5
calls = "{calls}"
up = {{ law = "exponential", mean = "20m" }}
down = "1m"
detection = "reported"
"""
    bag = f"""[bags.b]
tasks = 60
length = {{ law = "exponential", mean = "15m" }}
retries = {{ lost = 1000 }}
checkpoint = {{ every = "5m", {checkpoint} }}
"""
    lost = {}
    for notice in ("", 'notice = "40s"\n'):
        found = [figures(run(pool + notice + bag, seed=seed)) for seed in range(4)]
        assert all(told["tasks_done"] == 60 for told in found)
        lost[notice] = [told["work_lost"] for told in found]
    without, told = lost.values()
    if "50" in checkpoint:  # no time for it: as without, but that nothing begins so late
        assert sum(told) <= sum(without)
    else:
        assert max(told) < 0.2 * min(without)
