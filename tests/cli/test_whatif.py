"""A recorded run as a scenario: what is written is what was measured, and what is simulated."""

from __future__ import annotations

import itertools
import math
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cli.conftest import Live, ask, clean_environment, tailrace

from tailrace.bag.policy import BagPolicy, Plain, Policy
from tailrace.bag.tables import read_toml
from tailrace.bag.terms import Growth, Limits, Retries, Strategy, Terms
from tailrace.cli.virtual import whatif
from tailrace.cli.virtual.scenariofile import ScenarioFile, key_of
from tailrace.pools.terms import HOUR_US, SECOND_US, Billing, Late, Pays, Pool
from tailrace.quantities import price
from tailrace.server.records.measuring import Lifetime, MeasuredPool, MeasuredRun
from tailrace.server.records.occupancy import Held, Occupancy, occupancy
from tailrace.server.records.paces import paces
from tailrace.server.records.slopes import Ran, slopes
from tailrace.simulation.laws import Constant, Empirical, Exponential, Law, Uniform
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.scenario import Scenario


def measured(terms: Terms, pool: Pool | None = None, **facts: Any) -> MeasuredRun:
    found: dict[str, Any] = {
        "machines": 0, "capacity": {"cores": 2000, "memory": 1 << 30}, "slots": 2, "slope": 1.0,
        "kind": "Linux-x86_64", "speeds": [1.0],
        "slot": Occupancy(4000, 30_000), "startup_us": [200_000], "ending_us": [], "paces": [1.0],
        "lifetimes": [], "never_up_us": [], **facts,
    }  # fmt: skip
    return MeasuredRun(
        bag=1, terms=terms, pools=[MeasuredPool(terms=pool or Pool("local"), **found)],
        run_us={n: 100_000 * n for n in range(1, min(terms.count, 12))} or {0: 100_000},
        failing=[], failing_attempts=0.0, attempts=11, done=11, failed=0, makespan_us=None,
        paused_us=0, spent={},
    )  # fmt: skip


def read(run: MeasuredRun, folder: Path) -> Scenario:
    made = ScenarioFile(run, "run.toml")
    for name, text in made.files().items():
        (folder / name).write_text(text)
    return read_scenario(read_toml(made.text, "run.toml"), "run.toml", made.text, folder)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=12)
AMOUNTS = st.dictionaries(st.sampled_from(("USD", "kWh", "SU")), st.integers(1, 10**12), max_size=2)
TIMES = st.none() | st.integers(1, 10**12)
STRATEGIES = st.sampled_from((Strategy("fcfs"), Strategy("random"), Strategy("minmax")))
POLICIES = st.sampled_from(
    (
        None,
        BagPolicy(Policy(rank="Host.Speed", concurrency='Host.Name == "a\\\\b" ? 1 : 2')),
        BagPolicy(Policy(job_requirements="!Tail // so\n|| true"), Plain(priority=-2.5)),
        BagPolicy(plain=Plain(priority=3, tasks_per_host=2, max_attempts=3)),
    )
)
REPLICATION = st.sampled_from((None, Strategy("wqr", {"most": 3}), Strategy("wqr")))


@given(
    name=NAMES.filter(lambda name: name.isprintable() and bool(name.strip())),
    count=st.integers(1, 1000),
    retries=st.builds(Retries, *[st.integers(0, 9)] * 5),
    budget=AMOUNTS,
    deadline_us=TIMES,
    timeout_us=TIMES,
    max_failures=st.none() | st.integers(1, 100),
    most_running=st.none() | st.integers(1, 100),
    matching=STRATEGIES,
    replication=REPLICATION,
    round_us=st.sampled_from((0, 90 * SECOND_US)),
    limits=st.builds(Limits, st.none() | st.integers(1, 10**11)),
    cores=st.integers(1, 2000),
    weight=st.sampled_from((1.0, 0.25, 7.0)),
    policy=POLICIES,
    tail=st.sampled_from(((None, False), (9, False), (9, True))),
    losers_run_on=st.booleans(),
)
def test_the_terms_of_a_bag_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    count: int,
    cores: int,
    tail: tuple[int | None, bool],
    **rules: Any,
) -> None:
    rules["tail_below"], rules["tail_stays"] = tail
    if rules["policy"] is not None and rules["policy"].replicates:
        rules["replication"] = None  # both are refused
    growth = None
    if rules["limits"].time_us is not None:
        growth = Growth(1.5, {"time": 10**12}, ("time",))
    terms = Terms(count, name, needs={"cores": cores}, growth=growth, **rules)
    scenario = read(measured(terms), tmp_path_factory.getbasetemp())
    assert scenario.bags[0].terms == terms
    assert scenario.name == name and not scenario.bags[0].even


@given(
    billing=st.builds(
        Billing, st.integers(0, 10**9).map(lambda n: n * 60), st.just("USD"),
        st.sampled_from((SECOND_US, 60 * SECOND_US, HOUR_US)), st.sampled_from((0, HOUR_US)),
    ) | st.sampled_from((
        Billing.at(price("0.0028 USD/h"), SECOND_US),
        Billing.at(price("0.0028 USD/h"), 1, pays=Pays.RETURNED),
        Billing.at(price("5 USD/min"), 60 * SECOND_US, pays=Pays.ACCEPTED),
    )),
    most=st.integers(1, 1000),
    lease_us=st.integers(1, 10**12),
    silent_after_us=st.integers(1, 10**12),
    late=st.sampled_from(Late),
    reliable=st.booleans(),
)  # fmt: skip
def test_the_terms_of_a_pool_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory,
    billing: Billing,
    most: int,
    late: Late,
    **facts: Any,
) -> None:
    pool = Pool(
        "my pool", driver="simulated", billing=billing, max=most, late_results=late, **facts
    )
    found = read(measured(Terms(3), pool), tmp_path_factory.getbasetemp()).pools[0]
    free = Pool("", billing=Billing())
    told: dict[str, Any] = {  # of leases deaths are told; what they take to come was seen
        "silent_after_us": free.silent_after_us, "startup_us": 200_000,
    }  # fmt: skip
    wanted = Pool(**_fields(pool) | told | ({} if billing.price else {"billing": free.billing}))
    assert found.terms == wanted
    assert found.startup.mean() == 0.2
    assert (found.cores, found.slots, found.type.offset) == (2, 2, Constant(0.004))


def _fields(pool: Pool) -> dict[str, Any]:
    return {name: getattr(pool, name) for name in pool.__struct_fields__}


def life(deaths: list[int], given_back: list[int], folder: Path) -> Law | None:
    lives = [Lifetime(s * SECOND_US, True) for s in deaths]
    lives += [Lifetime(s * SECOND_US, False) for s in given_back]
    failures = read(measured(Terms(3), lifetimes=lives), folder).pools[0].failures
    return None if failures is None else failures.here


def test_deaths_become_a_law_of_life(tmp_path: Path) -> None:
    assert life([], [10, 20], tmp_path) is None
    assert life([5, 7], [10, 20], tmp_path) == Exponential(21.0)
    aging = life([98, 99, 100, 101, 102, 103], [50], tmp_path)
    assert aging is not None and not isinstance(aging, Exponential)
    assert aging.mean() == pytest.approx(100.5, rel=0.01) and aging.sd() < 3


def test_all_that_tasks_need_comes_back_as_it_was(tmp_path: Path) -> None:
    needs = {"cores": 500, "memory": 1 << 29, "gpus": 250, "licences": 1000}
    capacity = {"cores": 8000, "memory": 1 << 30, "gpus": 2000, "licences": 3000}
    scenario = read(measured(Terms(3, needs=needs), capacity=capacity), tmp_path)
    assert scenario.bags[0].terms.needs == needs and scenario.pools[0].capacity == capacity


def test_parts_of_cores_are_told_as_slots(tmp_path: Path) -> None:
    scenario = read(measured(Terms(3), capacity={"cores": 2500}), tmp_path)
    assert scenario.pools[0].slots == 2 and scenario.bags[0].terms.needs == {"cores": 1000}


def test_each_task_keeps_its_own_time_and_only_the_others_are_drawn(tmp_path: Path) -> None:
    run = replace(measured(Terms(14)), failing=[3, 5])
    tasks = read(run, tmp_path).bags[0]
    known = {n: round(s, 6) for n, s in enumerate(tasks.lengths.seconds) if not math.isnan(s)}
    assert known == {n: us / 1e6 for n, us in run.run_us.items()} and len(known) == 11
    assert isinstance(tasks.lengths.others, Empirical) and tasks.terms.count == 14
    assert tasks.failing.known == (3, 5) and tasks.failing.tasks == pytest.approx(2 / 11)


def test_what_scatters_is_drawn_and_a_slow_machine_is_itself(tmp_path: Path) -> None:
    """Few start-ups say little of the next one; the second machine of the run is the slow one."""
    slot = Occupancy(10_000, 0, (-4000, -1000, 0, 1000, 4000))
    facts = {"startup_us": [200_000, 300_000], "ending_us": [50_000], "paces": [1.0, 4.0, 1.0]}
    scenario = read(measured(Terms(3), slot=slot, **facts), tmp_path)
    pool = scenario.pools[0]
    assert pool.startup == Uniform(0.133333, 0.4) and pool.ending == Uniform(0.025, 0.075)
    assert pool.type.offset.mean() == pytest.approx(0.01) and pool.type.offset.sd() > 0.002
    assert scenario.events is not None and list(scenario.events["spread/local"]) == [1, 4, 1]
    assert pool.type.spread.mean() == pytest.approx(2)


def test_speeds_that_were_told_are_told_again(tmp_path: Path) -> None:
    """What passed between tasks passed as it did: in a scenario, fast machines are quick at that,
    too."""
    slot = Occupancy(10_000, 0)
    fast = read(measured(Terms(3), slot=slot, speeds=[2.0, 2.0], paces=[1.0, 1.0]), tmp_path)
    assert fast.pools[0].speed == Constant(2.0) and fast.events is None
    assert fast.pools[0].type.offset == Constant(0.02)
    mixed = read(measured(Terms(3), speeds=[1.0, 4.0, 1.0], paces=[1.0] * 3), tmp_path)
    assert mixed.events is not None and list(mixed.events["speed/local"]) == [1, 4, 1]
    assert mixed.pools[0].speed.mean() == pytest.approx(2) and mixed.pools[0].type.offset.mean()


NAPS = """
command = '''sleep "$(awk 'BEGIN {{ print {s} / ENVIRON["TAILRACE_SPEED"] }}')"'''
[parameters]
s = [3, 3, 3, 3, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]
"""
SLOW_AND_FAST = "[pools.slow]\ncores = 1\n[pools.fast]\ncores = 1\nspeed = 2\n"


def test_pools_of_one_machine_are_of_one_kind_and_keep_their_speeds(tmp_path: Path) -> None:
    """Long tasks come first, and most go to whoever is there first: that is no slope. What it takes
    to start a program heeds no speed, and is one; of naps this long, a small one."""
    (tmp_path / "bag.toml").write_text(NAPS)
    (tmp_path / "pools.toml").write_text(SLOW_AND_FAST)
    assert tailrace(tmp_path, "run", "--quiet").code == 0
    assert ask(tmp_path, "simulate", ".", "--as-scenario", "made.toml").code == 0
    pools = read_toml((tmp_path / "made.toml").read_text(), "made.toml")["pools"]
    assert {name: pool.get("speed", 1) for name, pool in pools.items()} == {"slow": 1, "fast": 2}
    assert len({pool["kind"] for pool in pools.values()}) == 1
    assert all(pool.get("slope", 1) == pytest.approx(1, rel=0.25) for pool in pools.values())


TIMES_AT = {"a": [100, 120, 90, 110, 130, 80] * 5, "b": [90, 110, 100, 120, 80] * 6}


def test_only_a_machine_that_is_clearly_slower_is_taken_for_slow() -> None:
    """Not one that had few tasks, nor one whose tasks differ as much among themselves."""
    assert paces(TIMES_AT) == {"a": 1.0, "b": 1.0}
    assert paces({**TIMES_AT, "c": [6000]})["c"] == 1.0
    assert paces({**TIMES_AT, "c": [6000, 90, 100, 110, 120, 80]})["c"] == 1.0
    slow = paces({**TIMES_AT, "c": [400, 480, 360, 440, 520, 320]})
    assert slow["c"] == pytest.approx(4.1, rel=0.1) and slow["a"] == 1.0
    assert paces({}) == {} and paces({"a": [5] * 9}) == {"a": 1.0}


def sent_in_turn(lengths: list[float], pools: str, told: dict[str, float], really: float) -> Any:
    """Slopes of pool f beside s, whose machines tell this speed, and f's are really as fast."""
    ran = []
    for length, pool in zip(lengths, itertools.cycle(pools)):
        took_us = round(length * SECOND_US / (really if pool == "f" else 1))
        ran.append(Ran(pool, told.get(pool, 1.0), took_us))
    return slopes(ran)


SORTED = [8 - n / 10 for n in range(72)]


def test_a_pool_that_had_the_long_tasks_is_not_slow() -> None:
    """The slow one has the first half of a sorted bag mostly, the fast one the second: the means
    say more than twice the truth."""
    turns = "sssf" * 9 + "fffs" * 9
    assert sent_in_turn(SORTED, turns, {"f": 2.0}, 2.0) == {"s": 1.0, "f": 1.0}
    unknown = sent_in_turn(SORTED, turns, {}, 2.0)
    assert unknown["s"] / unknown["f"] == pytest.approx(2, rel=0.05)


def test_a_speed_that_tasks_do_not_heed_is_found_out() -> None:
    told = sent_in_turn([1.0, 1.1, 0.9, 1.05] * 10, "sff", {"f": 2.0}, 1.0)
    assert told["f"] / told["s"] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("told", [{}, {"f": 3.0}])
def test_what_chance_may_have_brought_makes_no_slope(told: dict[str, float]) -> None:
    really = told.get("f", 1.0)
    chance = Random(5)
    found = [
        sent_in_turn([chance.lognormvariate(0, 1) for _ in range(60)], "fs", told, really)
        for _ in range(200)
    ]
    ratios = sorted(one["s"] / one["f"] for one in found)
    assert ratios.count(1.0) > (190 if told else 110) and ratios[100] == 1.0
    assert sent_in_turn([1.0, 2.0, 4.0, 8.0] * 2, "ssssffff", {}, 1.0) == {"s": 1.0, "f": 1.0}
    assert slopes([]) == {}


@given(st.integers(1, 4), st.integers(0, 50_000), st.data())
def test_the_time_between_tasks_is_found_again(
    slots: int, between: int, data: st.DataObject
) -> None:
    """All are sent at once, as a bundle is; each slot takes the next when it is free."""
    many = {"min_size": 3 * slots, "max_size": 40}
    free, held = [0] * slots, []
    for run in data.draw(st.lists(st.integers(1000, 10**6), **many)):
        place = free.index(min(free))
        free[place] += run + between
        held.append(Held(0, free[place], run))
    assert occupancy([held], slots)[:2] == pytest.approx((between, 0), abs=5)


def test_the_way_to_the_machine_is_told_from_the_time_between_tasks() -> None:
    """Twelve lie ready, then each is sent when the one before has ended: 30 ms there and back."""
    held, now = [], 30_000
    for place in range(24):
        run, sent = 100_000 + 7_000 * place, 0 if place < 12 else now
        now += (0 if place < 12 else 30_000) + run + 4_000
        held.append(Held(sent, now, run))
    assert occupancy([held], 1)[:2] == pytest.approx((4_000, 30_000), abs=5)
    assert occupancy([held[12:]], 1) == (34_000, 0, (0, 0, 0, 0, 0))
    assert occupancy([], 2) == (0, 0, ())


def test_the_time_between_tasks_scatters_as_it_did() -> None:
    held = [Held(10**6 * n, 10**6 * n + 1000 + n * 10, 1000) for n in range(101)]
    found = occupancy([held], 1)
    assert found.scatter_us == (-400, -200, 0, 200, 400) and sum(found.scatter_us) == 0


def test_a_run_is_simulated_as_the_file_made_of_it(swept: Path, tmp_path: Path) -> None:
    target = tmp_path / "sweep.toml"
    told = ask(swept, "simulate", ".", "--as-scenario", str(target))
    assert told.code == 0 and str(target) in told.out
    run = ask(swept, "simulate", "--seeds", "5", "--json").json[0]
    file = ask(tmp_path, "simulate", "sweep.toml", "--seeds", "5", "--json").json[0]
    assert run["runs"] == file["runs"] and "recorded" not in file
    assert run["recorded"]["cost_USD"]["recorded"] == 0.6
    assert (
        run["recorded"]["attempts"]["recorded"] == 8 and run["figures"]["tasks_failed"]["mean"] == 2
    )
    again = ask(swept, "simulate", ".", "--as-scenario", str(target))
    assert again.code == 2 and f"{target}: it is there already" in again.err


def test_what_if(swept: Path) -> None:
    asked = ("simulate", "--seeds", "3", "--json", "--set")
    poor = ask(swept, *asked, "bags.sweep.budget=0.5 USD").json[0]
    assert poor["figures"]["tasks_done"]["mean"] == 0 and poor["recorded"] == {}
    told = ask(swept, "simulate", "--seeds", "3", "--set", "bags.sweep.budget=0.5 USD").out
    assert "None of the runs finished: there is nothing to compare" in told
    assert "makespan_s is not known" in told and "median beside it" not in told
    many = ask(swept, *asked, "pools.local.max=6").json[0]
    assert many["figures"]["cost_USD"]["mean"] > 0.6
    wrong = ask(swept, *asked, "bags.swept.budget=1 USD")
    assert wrong.code == 2 and "the bags are sweep" in wrong.err
    shown = ask(swept, "simulate", ".", "--seeds", "3", "--vary", "pools.local.max=1,2").out
    assert shown.count("median beside it") == 2 and "inside" not in shown


def test_runs_that_tell_nothing(tmp_path: Path, swept: Path) -> None:
    assert "Name a scenario file, or a folder" in ask(tmp_path, "simulate").err
    assert "bag.toml is a scenario" in ask(swept, "simulate", "bag.toml", "--bag", "1").err
    assert "there is no bag 'x'" in ask(swept, "simulate", ".", "--bag", "x").err
    assert ask(swept, "simulate", "bag.toml", "--as-scenario", "x.toml").code == 2
    done = tailrace(tmp_path, "run", "--quiet", "--price", "1 USD/h", "--budget", "0.1 USD", "--",
                    "true", ":::", "a")  # fmt: skip
    assert done.code == 4
    told = ask(tmp_path, "simulate")
    assert told.code == 2 and "nothing was measured" in told.err


@pytest.mark.parametrize(
    "more", [(), ("--until", "1s"), ("--as-scenario", "made.toml")], ids=["run", "until", "write"]
)
def test_a_folder_that_is_named_stands_for_itself_alone(
    swept: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """Only without a name is the run of a folder above meant."""
    shutil.copytree(swept, tmp_path / "copy")
    below = tmp_path / "copy" / "below"
    below.mkdir()
    for named, where in ((".", below), ("below", tmp_path / "copy")):
        told = ask(where, "simulate", named, *more)
        assert told.code == 2 and f"{named}: nothing was run in this folder" in told.err
        assert "without a name, the nearest above" in told.err
    for words in ((), ("..",), ("../.tailrace",)):
        told = ask(below, "simulate", *words, *(more or ("--seeds", "1", "-j", "1")))
        assert told.code == 0, told.err
        for made in below.iterdir():
            made.unlink()


def test_a_run_that_has_not_finished_says_so(halfway: Path, tmp_path: Path) -> None:
    shutil.copytree(halfway, tmp_path / "copy")
    told = ask(tmp_path / "copy", "simulate", "--seeds", "3")
    assert told.code == 0 and "has not finished: 2 of 3 tasks are done" in told.out


@pytest.mark.parametrize(("end", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_time_without_a_server_is_no_part_of_the_run(
    tmp_path: Path, end: signal.Signals, code: int
) -> None:
    """Interrupted or killed while its third task waits, and resumed a second later. Its machine
    ended with it, and has not failed."""
    (tmp_path / "jobs.txt").write_text("true\ntrue\ntest -e go || sleep 60\n")
    words = [sys.executable, "-m", "tailrace.cli.main", "run", "--commands", "jobs.txt", "--quiet"]
    process = subprocess.Popen(words, cwd=tmp_path, env=clean_environment({}), stderr=-3)
    Live(tmp_path, process).wait_until(done=2)
    process.send_signal(end)
    assert process.wait(30) == code
    (tmp_path / "go").touch()
    time.sleep(1)
    assert tailrace(tmp_path, "resume", "--quiet").code == 0
    found = whatif.measured(tmp_path, None)
    assert found.makespan_us is not None and found.paused_us > 1_000_000
    assert [life.died for life in found.pools[0].lifetimes] == [False, False]
    assert found.pools[0].lifetimes[0].us < found.makespan_us
    assert "It stood still for" in ask(tmp_path, "simulate", "--seeds", "2").out


def test_every_term_of_a_bag_is_written_or_known_to_be_left_out() -> None:
    """A new one must be thought of here."""
    written = {"count", "name", "needs", "retries", "timeout_us", "deadline_us", "budget",
               "max_failures", "most_running", "matching", "replication", "round_us", "trial_us",
               "limits", "growth", "last", "policy", "weight", "tail_below",
               "tail_stays", "losers_run_on"}  # fmt: skip
    left_out = {"order_seed", "repeatable", "like_failures", "pools", "owner"}
    assert written | left_out == set(Terms.__struct_fields__)


def test_names_that_no_key_can_hold() -> None:
    assert key_of("sweep-2") == "sweep-2" and key_of("a.b") == "bag" == key_of("ä")


def beside(recorded: float, simulated: list[float]) -> whatif.Compared:
    run = whatif.Recorded(1, {"makespan_s": recorded}, [])
    return whatif.compare(run, [{"makespan_s": one} for one in simulated])["makespan_s"]


def test_the_median_of_an_even_number_is_between_the_two_in_the_middle() -> None:
    assert beside(1, [4, 1, 3, 2]).median == 2.5
    assert beside(1, [3, 1, 2]).median == 2


@pytest.mark.parametrize("runs", [1, 2, 20, 38, 39, 40, 78, 79, 100, 1000])
def test_one_more_run_lies_inside_as_often_as_it_is_said(runs: int) -> None:
    """Of `runs + 1` of one kind, each may be the one more: none of them is told from the others."""
    every = [math.sqrt(n) for n in range(runs + 1)]
    inside = [beside(one, every[:n] + every[n + 1 :]).inside for n, one in enumerate(every)]
    level = beside(0, every[1:]).level
    assert sum(inside) == pytest.approx(level * (runs + 1))
    least = 0.95 if runs >= 39 else (runs - 1) / (runs + 1)
    assert least - 1e-9 <= level <= least + 2 / (runs + 1)


def test_a_recorded_run_lies_among_a_hundred_and_a_scenario_takes_twenty(
    swept: Path, tmp_path: Path
) -> None:
    (found,) = ask(swept, "simulate", ".", "--json").json
    assert len(found["runs"]) == 100 and found["recorded"]["cost_USD"]["level"] > 0.95
    assert "  95 % of runs  " in ask(swept, "simulate", ".").out
    assert "  90 % of runs  " in ask(swept, "simulate", ".", "--seeds", "20").out
    ask(swept, "simulate", ".", "--as-scenario", str(tmp_path / "s.toml"))
    assert len(ask(tmp_path, "simulate", "s.toml", "--json").json[0]["runs"]) == 20
