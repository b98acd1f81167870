"""Pools that are rehearsed on this machine: several machines, some of which really die."""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path

import pytest

from tailrace.bag.policy import HostPolicy
from tailrace.simulation.reading import load_scenario

from .conftest import Folder

THREE = """
[pools.local]
max = 3
cores = 1
"""
MIXED = """
[pools.spot]
price = "0.06 USD/min"
max = 2
cores = 1
reliable = false
up = {up}
{more}

[pools.owned]
price = "0.60 USD/min"
cores = 1
speed = 2
startup = "0.2s"
"""
# A task of 4 s does not end on machines that live 3 s; it does on the one that is twice as fast.
NAPS = """
command = '''
sleep "$(awk 'BEGIN {{ print {seconds} / ENVIRON["TAILRACE_SPEED"] }}')"
echo "{{\\"speed\\": $TAILRACE_SPEED}}"
'''
repeatable = true
[parameters]
seconds = [0.1, 0.1, 0.1, 4]
"""


def store(folder: Folder) -> Path:
    return folder.path / ".tailrace/store.db"


def leases(folder: Folder) -> list[dict]:
    link = sqlite3.connect(store(folder))
    return [json.loads(row) for (row,) in link.execute("SELECT row FROM leases ORDER BY lease")]


def attempts(folder: Folder, task: int) -> list[tuple[str, int, str]]:
    link = sqlite3.connect(store(folder))
    query = "SELECT outcome, accepted, why FROM attempts WHERE idx = ? ORDER BY attempt"
    return link.execute(query, (task,)).fetchall()


def replays(folder: Folder) -> bool:
    return "identical" in folder.tailrace("replay", "--check").stdout


def test_an_idle_machine_repeats_a_straggler_and_the_first_success_wins(folder: Folder):
    """The first attempt of task 0 would sleep for long; the third machine is busy meanwhile, so
    that the bag does not end with the straggler."""
    folder.write("tailrace.toml", THREE)
    folder.write("bag.toml", 'command = "sh work.sh {n}"\nreplication = "wqr"\nrepeatable = true\n'
                             "[parameters]\nn = [0, 1, 2]\n")  # fmt: skip
    folder.write("work.sh", """
        if [ "$1" = 0 ] && mkdir first; then exec sleep 100; fi
        if [ "$1" = 2 ]; then exec sleep 2; fi
    """)  # fmt: skip
    done = folder.tailrace("run", "--quiet")
    assert done.returncode == 0, done.stderr
    assert folder.outcomes() == ["succeeded"] * 3
    first, second = attempts(folder, 0)
    assert first[:2] == ("cancelled", 0)
    assert second == ("succeeded", 1, "another beside 1: wqr")
    assert "\n  replication wqr\n" in folder.tailrace("status", "1").stdout
    assert replays(folder)


def test_where_losers_run_on_the_straggler_comes_to_its_end(folder: Folder):
    """The first attempt of task 0 ends when the second has won; task 2 keeps the bag open, and the
    machines of the others are free to repeat these two."""
    folder.write("tailrace.toml", THREE.replace("3", "4"))
    folder.write("bag.toml", 'command = "sh work.sh {n}"\nrepeatable = true\n'
                             "[parameters]\nn = [0, 1, 2, 3]\n[policy]\nlosers = 'run on'\n"
                             "ReplicationRequirements = 'NumberOfReplicas < 2'\n")  # fmt: skip
    folder.write("work.sh", """
        until_there() { while [ ! -e "$1" ]; do sleep 0.1; done; }
        if [ "$1" = 2 ]; then until_there end; fi
        if [ "$1" = 0 ] && mkdir first; then until_there won; fi
    """)  # fmt: skip
    run = folder.start("run", "--quiet")
    folder.wait_for((folder.path / "first").exists)
    folder.wait_for(lambda: ("succeeded", 1) in ended(folder, 0))
    folder.write("won", "")
    folder.wait_for(lambda: ended(folder, 0) == [("succeeded", 0), ("succeeded", 1)])
    folder.write("end", "")
    run.communicate()
    assert run.returncode == 0 and folder.outcomes() == ["succeeded"] * 4
    assert "losers run on" in folder.tailrace("policy", "show").stdout
    assert replays(folder)


def ended(folder: Folder, task: int) -> list[tuple[str, int]]:
    return [one[:2] for one in attempts(folder, task)]


@pytest.mark.parametrize(
    ("more", "outcome", "why"),
    [("", "lost", "its machine failed"), ('notice = "0.5s"', "preempted", "taken away")],
)
def test_machines_of_a_failing_pool_are_killed_and_paid(
    folder: Folder, more: str, outcome: str, why: str
):
    folder.write("tailrace.toml", MIXED.format(up='"3s"', more=more))
    folder.write("bag.toml", NAPS)
    done = folder.tailrace("run", "--quiet", "--budget", "40 USD", "--order", "-seconds")
    assert done.returncode == 0, done.stderr
    results = folder.results()
    assert [result["outcome"] for result in results] == ["succeeded"] * 4
    long = results[3]
    assert long["pool"] == "owned" and long["value"] == {"speed": 2}
    lost = [lease for lease in leases(folder) if why in lease.get("why", "")]
    assert lost and all(lease["pool"] == "spot" for lease in lost)
    assert all(lease["gone_us"] - lease["wanted_us"] < 20_000_000 for lease in lost)
    assert outcome in [one[0] for one in attempts(folder, 3)]
    bill = 0.06 * sum(lease["pool"] == "spot" for lease in leases(folder)) + 0.6
    told = json.loads(folder.tailrace("status", "1", "--json").stdout)
    assert told["spent"] == {"USD": pytest.approx(bill)}
    assert replays(folder)


def test_a_machine_that_stands_idle_is_given_back_and_the_run_says_so(folder: Folder):
    """The second task lasts until the first machine, which has nothing left to do, is gone."""
    folder.write("tailrace.toml", '[pools.cloud]\nmax = 2\ncores = 1\nprice = "1 USD/min"\n'
                                  'unit = "10s"\n')  # fmt: skip
    folder.write("work.sh", '[ "$1" = short ] || until [ -e enough ]; do sleep 0.1; done\n')
    run = folder.start("run", "--quiet", "--", "sh", "work.sh", "{}", ":::", "short", "long")
    folder.wait_for(lambda: store(folder).exists() and given_back(folder), 100)
    folder.write("enough", "")
    run.communicate()
    assert run.returncode == 0
    (idle,) = given_back(folder)
    assert idle["gone_us"] - idle["wanted_us"] >= 8_000_000  # no sooner: it was paid
    assert idle["why"] == "idle at the end of a paid 10s"
    explained = folder.tailrace("explain").stdout
    assert "1 idle machine was given back at the end of a paid unit." in explained
    report = Path(folder.tailrace("report").stdout.strip()).read_text()
    assert "gone: idle at the end of a paid 10s" in report
    assert replays(folder)


def given_back(folder: Folder) -> list[dict]:
    return [lease for lease in wanted(folder) if lease.get("idle")]


def test_a_run_whose_machines_are_still_starting_can_be_interrupted_and_goes_on(folder: Folder):
    slow = '[pools.spot]\nstartup = "1h"\n'
    folder.write("tailrace.toml", slow)
    run = folder.start("run", "--quiet", "--", "echo", "{}", ":::", "a")
    folder.wait_for(lambda: store(folder).exists() and wanted(folder))
    run.send_signal(signal.SIGINT)
    run.communicate()
    assert run.returncode == 130
    assert [lease["state"] for lease in leases(folder)] == ["gone"]
    folder.write("tailrace.toml", slow.replace("1h", "0s"))
    assert folder.tailrace("resume", "--quiet").returncode == 0
    assert folder.outcomes() == ["succeeded"]


def wanted(folder: Folder) -> list[dict]:
    try:
        return leases(folder)
    except sqlite3.OperationalError:  # the tables are not there yet
        return []


def test_machines_that_are_played_have_the_owner_and_the_words_of_their_pool(
    folder: Folder,
) -> None:
    owned = 'owner = "ada"\nsays = { HostRank = """1 +\n 2""", HostRequirements = "true" }\n'
    folder.write("pools.toml", f"{THREE}{owned}")
    assert folder.tailrace("run", "--quiet", "echo", ":::", "1").returncode == 0
    told = json.loads(folder.tailrace("hosts", "--json").stdout)[0]
    assert told["owner"] == "ada" and "benchmark" not in told
    assert told["says"] == {"host_rank": "1 +\n    2", "host_requirements": "true"}
    assert folder.tailrace("simulate", ".", "--as-scenario", "made.toml").returncode == 0
    (pool,) = load_scenario(folder.path / "made.toml").pools
    assert (pool.whose, pool.cpu) == ("ada", told["cpu"])
    assert pool.says == HostPolicy("true", "1 +\n    2")


def test_a_policy_over_the_number_of_machines_leases_so_many_and_keeps_them(folder: Folder) -> None:
    """It does not buy machines that it refuses then, until the money is gone."""
    folder.write("tailrace.toml", '[pools.spot]\nmax = 4\ncores = 1\nprice = "1 USD/h"\n'
                                  'startup = "0.2s"\n')  # fmt: skip
    folder.write("bag.toml", "command = 'sleep 0.5; echo {n}'\nbudget = \"60 USD\"\n"
                             "[parameters]\nn = { from = 1, to = 12 }\n"
                             "[policy]\nGridPolicy = 'Pool.Machines < 3'\n")  # fmt: skip
    done = folder.tailrace("run", "--quiet", "bag.toml")
    assert done.returncode == 0, done.stderr
    assert folder.outcomes() == ["succeeded"] * 12
    assert len(leases(folder)) == 3
    assert replays(folder)
