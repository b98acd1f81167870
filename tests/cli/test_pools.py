"""Pools of this machine, described in `tailrace.toml`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import ask, tailrace

from tailrace.cli import settings
from tailrace.cli.pools.poolsfile import rehearsal
from tailrace.errors import BadInput
from tailrace.pools.terms import Billing
from tailrace.server.pools.command_pool import CommandPool

SPOT = """
[pools.spot]
price = "0.03 USD/min"
max = 3
cores = 2
reliable = false
startup = { law = "uniform", from = 1, to = 2 }
up = { law = "exponential", mean = "10m" }
notice = "30s"
speed = 1.5
seed = 7

[pools.owned]
price = "1.20 USD/h"
unit = "15m"
"""


def load(folder: Path, text: str) -> settings.Settings:
    (folder / "tailrace.toml").write_text(text)
    return settings.load({"cores": 1}, folder)


def test_terms_are_those_of_a_scenario(tmp_path: Path):
    spot, owned = settings.pools(load(tmp_path, SPOT))
    assert (spot.terms.name, spot.terms.max, spot.terms.reliable) == ("spot", 3, False)
    assert spot.terms.billing == Billing(30_000, "USD", 60_000_000)
    assert owned.terms.billing == Billing(300_000, "USD", 15 * 60_000_000)
    assert (spot.capacity.cores, owned.capacity.cores) == (2, 1)
    assert (spot.terms.capacity, owned.terms.capacity) == ({"cores": 2000}, {})
    assert spot.rehearsal and spot.rehearsal.notice_us == 30_000_000
    assert spot.rehearsal.speed(1) == 1.5


def test_a_lease_has_the_same_fate_whenever_it_is_asked_for(tmp_path: Path):
    spot = load(tmp_path, SPOT).pools["spot"]
    first, again = rehearsal(spot), rehearsal(spot)
    assert [first.life_us(n) for n in (3, 1, 2)] == [again.life_us(n) for n in (3, 1, 2)]
    lives = np.array([first.life_us(n) or 0 for n in range(1, 2001)]) / 1e6
    assert abs(lives.mean() - 600) < 5 * 600 / 2000**0.5
    starts = [first.startup_us(n) for n in range(1, 200)]
    assert 1_000_000 <= min(starts) < 1_100_000 and 1_900_000 < max(starts) <= 2_000_000
    other = rehearsal(load(tmp_path, SPOT.replace("seed = 7", "seed = 8")).pools["spot"])
    assert first.life_us(1) != other.life_us(1)


@pytest.mark.parametrize(
    ("line", "said", "remedy"),
    [
        ("mox = 2", "unknown key pools.spot.mox", "did you mean max?"),
        ("max = 0", "pool spot has no machines", "give max = 1 or more"),
        (
            "machines = 2",
            "unknown key pools.spot.machines",
            "a pool of this machine takes driver, max",
        ),
        ('owner = ""', "pools.spot.owner is one line", "leave it out"),
        ("says = { HostRank = 'x' }", "HostRank, column 1: there is no attribute x", ""),
        (
            'owner = "ada"\ndriver = "command"\nstart = "a {name}"\nstop = "b {name}"\nlist = "c"',
            "pools.spot.owner: real machines say it themselves",
            "worker.conf",
        ),
        ('driver = "cloud"', "pools.spot.driver is 'cloud'", 'it may be "local"'),
        ('up = { law = "expo", mean = 3 }', "there is no law 'expo'", "exponential"),
        ("up = { law = 'exponential', mean = -3 }", "-3", "exponential"),
        ('notice = "1m"', "notice without up", "say how long it is up"),
        ('price = "cheap"', "is not a price such as 0.10 USD/h", ""),
        ("speed = 0", "speed", "above 0"),
        ("has = { licences = 0 }", "pools.spot.has.licences is 0", "above 0"),
        ("has = { memory = 2 }", "memory is no name of your own", "write memory = … beside has"),
    ],
)
def test_what_cannot_be_is_told_with_its_line(line: str, said: str, remedy: str, tmp_path: Path):
    with pytest.raises(BadInput) as fault:
        load(tmp_path, f"\n[pools.spot]\n{line}\n")
    assert said in fault.value.message and remedy in str(fault.value)
    assert (fault.value.file, fault.value.line) == (str(tmp_path / "tailrace.toml"), 3)


COMMANDS = """
[pools.far]
driver = "command"
start = "sbatch -J {name} --wrap {run}"
stop = "scancel -n {name}"
list = "squeue -o %j"
"""


@pytest.mark.parametrize(
    ("old", "new", "said", "remedy"),
    [
        ("{name} --wrap", "{nmae} --wrap", "there is no word {nmae}", "did you mean name?"),
        ("{name} --wrap", "{name} --mem {memory} --wrap", "asks for {memory}", "memory = "),
        ("{run}", "'{run}'", "{run} stands in quotes", "without quotes around it"),
        ("stop =", "halt =", "unknown key pools.far.halt", "takes driver, max"),
        ('start = "sbatch -J {name} --wrap {run}"', 'start = ""', "start is missing", "--wrap"),
        ('"squeue -o %j"', '"x"\nid = "job ("', "pools.far.id", "([0-9]+)"),
        ('"squeue -o %j"', '"x"\nurl = "far:80"', "pools.far.url", "https://HOST:PORT"),
        ('"squeue -o %j"', '"x"\nurl = "http://t@far:80"', "more than an address", "leave out"),
        ('"squeue -o %j"', '"x"\nlook = "1ms"', "less than a second", 'look = "10s"'),
        ("[pools.far]", '[pools."fär"]', "'fär' is not a name", "letters"),
        ('driver = "command"', "", "without commands", 'driver = "command"'),
    ],
)
def test_a_slip_in_a_command_is_told(old: str, new: str, said: str, remedy: str, tmp_path: Path):
    assert old in COMMANDS
    with pytest.raises(BadInput) as fault:
        load(tmp_path, COMMANDS.replace(old, new))
    assert said in fault.value.message and remedy in str(fault.value)
    assert fault.value.file == str(tmp_path / "tailrace.toml") and fault.value.line


def test_pools_have_a_file_of_their_own_that_stands_before_others(tmp_path: Path):
    (tmp_path / "pools.toml").write_text(COMMANDS)
    loaded = load(tmp_path, SPOT)
    (far,) = settings.pools(loaded)
    assert isinstance(far, CommandPool) and far.terms.driver == "command"
    assert far.commands.folder == str(tmp_path)
    assert loaded.origin("pools").startswith(str(tmp_path / "pools.toml"))
    served = settings.served_pools(loaded, local=True)
    assert [pool.terms.name for pool in served] == ["far", "local"]
    (tmp_path / "pools.toml").write_text("cores = 3\n")
    with pytest.raises(BadInput, match="unknown key cores"):
        load(tmp_path, "")


def test_a_pool_of_commands_can_be_copied_into_a_scenario(tmp_path: Path):
    text = f"{COMMANDS}max = 2\n[bags.sleep]\ntasks = 9\nlength = 1\n"
    (tmp_path / "s.toml").write_text(text)
    assert ask(tmp_path, "simulate", "s.toml", "--seeds", "1").code == 0


def test_the_commands_know_them(tmp_path: Path):
    (tmp_path / "tailrace.toml").write_text(SPOT)
    told = ask(tmp_path, "config", "pools.spot").out
    assert told.startswith("3 machines, 0.03 USD per minute, 2 cores each, start-up 1.5s")
    assert "1.20 USD/h" not in told and "fails after 10m" in told
    assert ask(tmp_path, "config", "--json").json["pools"]["value"]["owned"].startswith("1 machine")
    bag = tmp_path / "bag.toml"
    bag.write_text('command = "true"\n\npools = ["sopt"]\n')
    wrong = ask(tmp_path, "check")
    assert wrong.code == 2 and "bag.toml:3: there is no pool 'sopt'" in wrong.err
    bag.write_text('command = "true"\n[needs]\ncores = 3\n')
    wrong = ask(tmp_path, "check")
    assert wrong.code == 2 and "bag.toml:3: no task fits on any machine" in wrong.err
    wrong = ask(tmp_path, "run", "--price", "1 USD/h", "--", "true", "{}", ":::", "1")
    assert wrong.code == 2 and "give each its price in" in wrong.err


def test_machines_offer_what_they_have_under_names_of_ones_own(tmp_path: Path):
    """Two cores, but one licence: one task at a time; and as a scenario it is the same."""
    pool = '[pools.lab]\nmax = 1\ncores = 2\nmemory = "1 GB"\nhas = { licences = 1 }\n'
    (tmp_path / "tailrace.toml").write_text(pool)
    bag = tmp_path / "bag.toml"
    text = 'command = "sleep 0.3"\nrepeat = 3\nneeds = { licences = LICENCES, memory = "100 MB" }\n'
    bag.write_text(text.replace("LICENCES", "2"))
    wrong = ask(tmp_path, "check")
    assert wrong.code == 2 and "2 licences wanted, 1 licences there" in wrong.err
    bag.write_text(text.replace("LICENCES", "1"))
    assert tailrace(tmp_path, "run", "--quiet").code == 0
    told = ask(tmp_path, "simulate", ".", "--seeds", "5", "--json").json[0]
    assert told["recorded"]["makespan_s"]["low"] > 0.9
    assert ask(tmp_path, "simulate", ".", "--as-scenario", "s.toml").code == 0
    lines = (tmp_path / "s.toml").read_text().splitlines()
    assert {"memory = 1000000000", "has.licences = 1", "needs.licences = 1"} <= set(lines)


def test_what_was_agreed_holds_when_a_bag_goes_on(tmp_path: Path):
    spot, owned = settings.pools(load(tmp_path, SPOT), {"spot": Billing(5)}.get)
    assert spot.terms.billing == Billing(5)
    assert owned.terms.billing.price == 300_000
