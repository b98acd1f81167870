"""Scenarios that cannot be: told with file, line and remedy, and nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import ask

from tailrace.simulation import experiment

GOOD = """\
name = "good"
stop = { time = "1d" }
[pools.spot]
machines = 2
up = { law = "exponential", mean = "1h" }
[bags.b]
tasks = 5
length = "1m"
"""
LAW = '{ law = "exponential", mean = "1h" }'
WEEK = '["mon", "tue", "wed", "thu", "fri", "sat", "sun"]'
NONE = '{ law = "empirical", values = [0, 1] }'
POOL = "machines = 2\n"
END = 'length = "1m"\n'

# what is replaced, by what; the line it is told with; words of the message and its remedy
BAD = [
    ('"exponential"', '"exponentail"', 5, "there is no law 'exponentail'", "did you mean expon"),
    ('law = "exponential", ', "", 5, "pools.spot.up names no law", "laws are constant, uniform"),
    (', mean = "1h"', "", 5, "exponential lacks mean", "it takes mean, or rate"),
    ('mean = "1h"', 'mean = "-1h"', 5, "'-1h' is negative, and a duration is not", "write it as"),
    ('mean = "1h"', "rate = -2", 5, "pools.spot.up.rate: -2 is not above 0", "write it as in"),
    ('mean = "1h"', 'mean = "1h", sd = 3', 5, "unknown key pools.spot.up.sd", "known here are"),
    (LAW, '{ law = "uniform", from = "2h", to = "1h" }', 5, "which is less", "write it as in"),
    (LAW, '{ law = "weibull", shape = -1, scale = "1h" }', 5, "-1 is not above 0", "write it as"),
    (LAW, '{ law = "weibull", shape = 0.7, scale = "1h", mean = "1h" }', 5,
     "weibull has shape, scale and mean, more than it takes",
     "keep shape and scale, or mean and shape"),
    (LAW, '{ law = "weibull", shape = 0.7, scale = "1h", sd = "1h" }', 5,
     "weibull has shape, scale and sd, more than it takes", "keep shape and scale, without sd"),
    (LAW, '{ law = "exponential", mean = "1h", rate = "1/h" }', 5,
     "exponential has mean and rate, more than it takes", "keep mean, or rate"),
    (POOL, f"{POOL}owner_hours = {{ from = 8, to = 8 }}\n", 5,
     "from = 8 and to = 8 leave open whether it is a day or no time",
     "for whole days write from = 0, to = 24"),
    (POOL, f"{POOL}owner_hours = {{ from = 24, to = 0 }}\n", 5, "a day or no time", "from = 0"),
    (LAW, '{ law = "mixture", of = [] }', 5, "lacks its parts", "write it as in"),
    (LAW, '{ law = "mixture", of = [{ weight = 1, law = "constant", value = 3 }, 5] }', 5,
     "part 2 of the mixture is 5, not a law", "write it as in"),
    (POOL, f"{POOL}speed = nan\n", 5, "pools.spot.speed: NaN is not a number", "write it as in 10"),
    (LAW, "[1, 2]", 5, "should be a law", "such as up ="),
    (POOL, f"{POOL}owner = 3\n", 5, "pools.spot.owner is 3", 'such as owner = "alice"'),
    (POOL, f'{POOL}owner = ""\n', 5, "owner is one line of 1 to 256 characters", "leave it out"),
    (POOL, f'{POOL}cpu = "a\\nb"\n', 5, "cpu is one line of 1 to 256", "leave it out"),
    (POOL, f"{POOL}says = 3\n", 5, "pools.spot.says is 3", "HostRank"),
    (POOL, f"{POOL}says = {{ HostRank = 'BOT.Spede' }}\n", 5,
     "HostRank, column 1: there is no attribute BOT.Spede", "BOT."),
    (POOL, f"{POOL}says = {{ HostRank = 'BOT.Name' }}\n", 5, "HostRank: it ",
     "write what the number"),
    (POOL, f"{POOL}says = {{ Rank = '1' }}\n", 5, "unknown key pools.spot.says.Rank", "HostRank"),
    (f"up = {LAW}", 'down = "1h"', 5, "down without up", "say how long it is up"),
    (POOL, "", 3, "pool spot has no machines", "max (leased on demand)"),
    (POOL, "machines = -1\n", 4, "pools.spot.machines is -1", "a whole number from 0"),
    (POOL, "machines = 1000000000000\n", 4, "machines is 1,000,000,000,000", "0 to 1,000,000"),
    (POOL, "max = 1000001\n", 4, "pools.spot.max is 1,000,001", "from 0 to 1,000,000"),
    (POOL, "machines = 600000\nmax = 400001\n", 3,
     "all pools together have 1,000,001 machines", "at most 1,000,000 of them"),
    ("tasks = 5", "tasks = 100000001", 7, "tasks is 100,000,001", "from 1 to 100,000,000"),
    (END, f"{END}[bags.c]\ntasks = 99999996\nlength = 1\n", 6,
     "all bags together have 100,000,001 tasks", "at most 100,000,000 of them"),
    (END, f'{END}checkpoint = {{ every = "1us" }}\n', 9, "checkpoints every 0.000001s, but at",
     'every = "10m"'),
    (END, f'{END}order = "alpha"\n', 9, "order is 'alpha', but tasks of a scenario have no",
     'order = "shuffled"'),
    (POOL, 'machines = "two"\n', 4, "should be a whole number", "such as machines = 3"),
    (POOL, f"{POOL}machnes = 3\n", 5, "unknown key pools.spot.machnes", "did you mean machines?"),
    (POOL, f'{POOL}kind = ""\n', 5, "kind is empty", "name it, or leave it out"),
    (POOL, f"{POOL}kind = 3\n", 5, "pools.spot.kind is 3, but should be", "Linux-x86_64"),
    (POOL, f"{POOL}speed = 0\n", 5, "pools.spot.speed may be 0", "above 0"),
    (POOL, f"{POOL}spread = -1\n", 5, "pools.spot.spread may be -1", "above 0"),
    (POOL, f"{POOL}slope = 0\n", 5, "slope is 0, but must be above 0", ""),
    (POOL, f'{POOL}pace = {{ lasts = "1h", factor = 0 }}\n', 5, "pace.factor is always 0: no task",
     "only some"),
    (POOL, f'{POOL}driver = "lokal"\n', 5, "pools.spot.driver is 'lokal'", "did you mean local?"),
    (POOL, f'{POOL}lease = "2h"\n', 5, "pools.spot.lease would have no effect: no machine of it is",
     "leave lease out; or lease them: max = 2 instead of machines"),
    (POOL, f'{POOL}ending = "2m"\n', 5, "pools.spot.ending would have no effect", "max = 2"),
    (POOL, f"{POOL}never_up.share = 0.5\n", 5, "pools.spot.never_up would have no effect", "max"),
    (POOL, 'max = 2\ndown = "2m"\n', 5, "pools.spot.down would have no effect: all its machines",
     "leave down out; or let them come by themselves: machines = 2"),
    (POOL, 'max = 2\nprice = "1 USD/h"\ndown = "2m"\n', 6, "pools.spot.down would have no effect",
     "leave down out; or say with startup how long it takes until another is there"),
    (POOL, 'max = 2\nunit = "1m"\n', 5, "pools.spot.unit would have no effect: its machines cost",
     'leave unit out; or add price = "0.10 USD/h"'),
    (POOL, 'max = 2\nminimum = "1m"\n', 5, "pools.spot.minimum would have no effect", "price"),
    (POOL, f'{POOL}detection = "reported"\nsilent_after = "5m"\n', 6,
     'pools.spot.silent_after would have no effect: detection is "reported"', '= "silent"'),
    (POOL, f'{POOL}detection = "deadline"\nsilent_after = "5m"\n', 6,
     'pools.spot.silent_after would have no effect: detection is "deadline"', '= "silent"'),
    (POOL, f'{POOL}link = {{ rate = "1 Gbit/s" }}\n', 5, "pools.spot.link would have no effect",
     'leave link out; or say where: site = "…"'),
    ("[pools", "sites.g.share = 0.5\n[pools", 3, "sites.g.share would have no effect: the site",
     "say when the site fails: up and down"),
    ("[pools", 'network.wan = { rate = "1 Gbit/s" }\n[pools', 3,
     "network.wan would have no effect: there is no site", "add [sites.NAME]"),
    (END, f'{END}at = "2d"\n', 9, "bag b would come after 2d, but the run stops after 1d",
     "let it come earlier, or raise stop.time"),
    (f"tasks = 5\n{END}", "lengths = [1, 2, 3, 4, 5]\nfailing.known = [7]\n", 8,
     "there is no task 7, but 5 tasks", "counted from 0 to 4; leave 7 out"),
    (END, f'{END}arrivals = {{ process = "batches", size = 0, gap = "1h" }}\n', 9,
     "batches of 0, but at least one comes each time", "give a size of 1 or more"),
    (POOL, f"{POOL}owner_hour = {{ from = 9, to = 17 }}\n", 5, "unknown key pools.spot.owner_hour",
     "did you mean owner_hours?"),
    (POOL, f"{POOL}neverup.share = 0.5\n", 5, "unknown key pools.spot.neverup", "never_up"),
    (END, f'{END}checkpoints = {{ every = "1h" }}\n', 9, "unknown key bags.b.checkpoints",
     "did you mean checkpoint?"),
    (END, "lenghts = [1, 2]\n", 6, "bag b has no length", "you wrote lenghts; add length"),
    (END, f'{END}input = "50 Mb"\n', 9, "Mb may be bits or bytes", "as in"),
    (LAW, '"1h"\nnotice = "1h"', 6, "takes no work: it is never up for", "shorter than its life"),
    (POOL, f'{POOL}owner_away = "1h"\nnotice = "1h"\n', 6, "takes no work: it is never up for", ""),
    (POOL, f'{POOL}owner_hours = {{ from = 1, to = 23, days = {WEEK} }}\nnotice = "2h"\n', 6,
     "takes no work: it is never up for", "shorter than its life"),
    (f"up = {LAW}\n", 'notice = "1m"\n', 5, "notice without up", "or when its owner wants it"),
    (LAW, '0\ndown = "1h"', 5, "pools.spot.up is always 0: no task would ever end", "some time"),
    (LAW, f"{NONE}\ndown = {NONE}", 6,
     "pools.spot.up and pools.spot.down may both be 0", "at_least = 1"),
    (LAW, '{ law = "weibull", shape = 0.02, scale = "1h" }', 5,
     "pools.spot.up: this weibull law reaches 2.39e+69 s, beyond all time", "a higher shape"),
    ('"1m"', '{ law = "lognormal", mu = 0, sigma = 20 }', 8,
     "bags.b.length: this lognormal law reaches 1.25e+52 s, beyond all time", "less mean, sd,"),
    (POOL, f'{POOL}offset = {{ law = "lognormal", mu = 0, sigma = 20 }}\n', 5,
     "pools.spot.offset: this lognormal law reaches 1.25e+52 s", "less mean, sd, sigma"),
    (POOL, f'{POOL}speed = {{ law = "lognormal", mu = 0, sigma = 300 }}\n', 5,
     "pools.spot.speed: this lognormal law reaches beyond all numbers", "less mean, sd, sigma"),
    (END, f'{END}arrivals = {{ process = "poisson", rate = 1e-300 }}\n', 9,
     "this exponential law reaches 2.07e+301 s, beyond all time", "write it as in"),
    (POOL, f'{POOL}calls = "worker"\nwhen_full = "reject"\n', 6, "it rejects nothing", "leave"),
    (POOL, f"{POOL}returns = 2\n", 5, "pools.spot.returns is 2", "between 0 and 1"),
    (POOL, f'{POOL}returns = {{ from = ["0s", "1h"], share = [0.5] }}\n', 5,
     "pools.spot.returns has 2 times and 1 shares", "as many of both"),
    (POOL, f'{POOL}returns = {{ from = ["1h"], share = [0.5] }}\n', 5,
     "pools.spot.returns has 1 times", "of which the first is 0"),
    (POOL, f'{POOL}returns = {{ from = ["0s"], share = [1.5] }}\n', 5, "is 1.5", "between 0 and 1"),
    (POOL, f'{POOL}detection = "told"\n', 5, "is 'told'", '"reported" or "silent"'),
    (POOL, f'{POOL}price = "1 USD/h"\n', 5, "come by themselves cost nothing", "max = 2"),
    (POOL, 'max = 2\nprice = "cheap"\n', 5, "'cheap' is not a price such as 0.10 USD/h", ""),
    (POOL, 'max = 2\nbilling = "per_result"\n', 5, "results are paid, but have no price", "price"),
    (POOL, 'max = 2\nprice = "1 USD/h"\npays = "accepted"\n', 6, "pays says which results are paid",
     'billing = "per_result"'),
    (POOL, f'{POOL}speed = {{ law = "normal", mean = -1, sd = 2 }}\n', 5,
     "pools.spot.speed.mean: -1 is below 0, where the law is cut off", "write it as in"),
    (GOOD[GOOD.index(POOL) :], 'max = 2\nprice = "1 USD/h"\n[bags.b]\ntasks = 5\nbudget = "5 EUR"\n'
     + END, 8, "the budget of 5 EUR does not bind: its machines are paid in USD", "give it in USD"),
    ("[pools.spot]", "[pool.spot]", None, "there are no pools", "you wrote pool; add one under"),
    ("[bags.b]", "[bag.b]", None, "there are no bags", "you wrote bag; add one under"),
    ("tasks = 5\n", "", 6, "bag b has no tasks", "add tasks = 1000"),
    ("tasks = 5", "tasks = 0", 7, "bags.b.tasks is 0", "a whole number from 1"),
    (END, "", 6, "bag b has no length", 'add length = "10m"'),
    ('"1m"', "-5", 8, "-5 is negative", "write it as in"),
    ('"1m"', "nan", 8, "NaN is not a duration", "write it as in"),
    ('"1m"', '{ law = "empirical", file = "no.csv", column = "s" }', 8, "no.csv: there is no such",
     "looked in"),
    (END, f"{END}lenght = 3\n", 9, "unknown key bags.b.lenght", "did you mean length?"),
    (END, f'{END}matching = "fcsf"\n', 9, "no matching strategy 'fcsf'", "did you mean fcfs?"),
    (END, f'{END}replication = {{ strategy = "wqr", mots = 2 }}\n', 9, "no option 'mots'", "most"),
    (END, f'{END}arrivals = {{ process = "poison" }}\n', 9, "no process 'poison'", "poisson?"),
    (END, f'{END}arrivals = {{ process = "poisson", rate = "-3/h" }}\n', 9, "not a rate above 0",
     "write it as in"),
    (END, f'{END}arrivals = {{ process = "listed", times = [0, 5] }}\n', 9, "only 2 come", "list"),
    (END, f'{END}pools = ["spto"]\n', 9, "there is no pool 'spto'", "the pools are spot"),
    (END, f'{END}budget = "5"\n', 9, "bags.b.budget: '5' is not an amount", ""),
    (END, f"{END}budget = true\n", 9, "bags.b.budget is true, but should be an amount",
     'such as budget = "20 USD"'),
    (END, f"{END}budget = 1979-05-27\n", 9, "budget is 1979-05-27, but should be", "20 USD"),
    (END, f"{END}budget = {{}}\n", 9, "budget is a table, but should be an amount", "20 USD"),
    ("tasks = 5", f"tasks = 1{'0' * 5000}", None, "a number in it is too long", "4,300 digits"),
    (GOOD, f"a = {'[' * 3000}{']' * 3000}\n", None, "nested too deeply", "fewer brackets"),
    (END, f'{END}limits.memory = "1 GB"\n', 9, "limits.memory would have no effect",
     "needs.memory says what a task takes"),
    ('time = "1d"', "tasks = 6", 2, "stops after 6 results, but there are 5 tasks", "lower it"),
    ('time = "1d"', "failed = 6", 2, "stops after 6 failed tasks, but there are 5 tasks",
     "lower it"),
    ('time = "1d"', 'spent = "3 USD"', 2, "nothing is paid in USD", "give a pool a price"),
    (POOL, f"{POOL}departs = 0\n", 5, "it departs when it comes", "leave it out"),
    (POOL, 'max = 2\ndeparts = "2h"\n', 5, "spot.departs would have no effect", "machines = 2"),
    ('"1d"', '"0s"', 2, "stop.time: 0s is no time at all", ""),
    ('{ time = "1d" }', '"1d"', 2, "stop is '1d', but should be a table", '{ time = "1w" }'),
    ('"good"', "3", 1, "name is 3, but should be a text", 'such as name = "…"'),
    ('"good"\n', '"good"\nquery = -3\n', 2, "query: -3 is negative", 'as in query = "90s"'),
    ('"good"\n', f'"good"\ndispatch = {LAW}\n', 2, "dispatch: a table is not a quantity",
     'write it as in dispatch = "90s"'),
    (END, f"{END}round = -5\n", 9, "bags.b.round: -5 is negative", 'as in round = "5m"'),
    (END, f'{END}deadline = "-1h"\n', 9, "bags.b.deadline: '-1h' is negative", '= "6h"'),
    (END, f"{END}checkpoint.every = 0\n", 9, "checkpoint.every: 0 is no time at all", '= "10m"'),
    (END, f"{END}needs = {{ cores = 0 }}\n", 9, "needs.cores is 0", "leave it out"),
    (POOL, f"{POOL}owner_hours.from = 25\n", 5, "25 is not an hour of the day", "in from = 9"),
    (POOL, 'max = 2\nprice = "-1 USD/h"\n', 5, "'-1 USD/h' is not a price such as 0.10 USD/h",
     'write it as in price = "0.10 USD/h"'),
    ("stop", "stpo", 2, "unknown key stpo", "did you mean stop?"),
    ("tasks = 5", "tasks = 5\ntasks = 6", 8, "tasks is given twice", "keep one"),
    (END, f"{END}[bags.b]\n", 9, "[bags.b] is given twice", "under one of them"),
    (END, f"{END}x = hello\n", 9, "this is not valid TOML", "texts need quotes"),
    (GOOD, "", None, "there are no pools", "add one under [pools.NAME]"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(todo: object) -> None:
        raise AssertionError("it was run")

    monkeypatch.setattr(experiment, "run_one", run)


def refused(folder: Path, *words: str) -> str:
    told = ask(folder, "simulate", "-j", "1", *words)
    assert told.code == 2 and told.out == "", told
    return told.err


@pytest.mark.parametrize(("old", "new", "line", "message", "remedy"), BAD)
def test_a_bad_scenario_is_refused(
    tmp_path: Path, old: str, new: str, line: int | None, message: str, remedy: str
) -> None:
    assert old in GOOD
    (tmp_path / "s.toml").write_text(GOOD.replace(old, new, 1))
    said = refused(tmp_path, "s.toml")
    assert said.startswith(f"tailrace: s.toml:{line}: " if line else "tailrace: s.toml: ")
    assert message in said.splitlines()[0]
    assert remedy in said.partition("\n")[2]


def test_a_scenario_in_utf_16_is_told_how_to_become_utf_8(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(GOOD, "utf-16")
    assert "it looks like UTF-16; save the file as UTF-8, for instance with iconv -f UTF-16" in (
        refused(tmp_path, "s.toml")
    )


@pytest.mark.parametrize("way", ['detection = "deadline"', "returns = 0.5"])
def test_what_would_never_end_is_refused(tmp_path: Path, way: str) -> None:
    endless = GOOD.replace('stop = { time = "1d" }\n', "").replace(POOL, f"{POOL}{way}\n")
    (tmp_path / "s.toml").write_text(endless)
    said = refused(tmp_path, "s.toml")
    assert "s.toml:6: nothing tells bag b that an attempt is lost" in said and "timeout" in said


FRAIL = """\
[pools.spot]
machines = 1
up = "5m"
down = "1m"
{}
[bags.b]
tasks = 2
length = "6m"
{}"""


@pytest.mark.parametrize("endless", ['notice = "10s"', "[bags.b.retries]\nlost = 1000000"])
def test_tasks_that_outlive_every_machine_are_refused(tmp_path: Path, endless: str) -> None:
    """A preemption costs no retry; with few of them, such tasks fail, and that is an end."""
    pool, bag = (endless, "") if "notice" in endless else ("", endless)
    (tmp_path / "s.toml").write_text(FRAIL.format(pool, bag))
    said = refused(tmp_path, "s.toml")
    assert "s.toml:6: no task of bag b can end: the shortest takes 6m, and no machine" in said
    assert "a checkpoint, or the scenario a stop.time" in said
    for mended in ("pools.spot.speed=2", "bags.b.checkpoint.every=1m", "stop.time=1d"):
        told = ask(tmp_path, "simulate", "-j", "1", "s.toml", "--set", mended)
        assert told.code != 2 and "it was run" in told.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "0"], "'--seeds': 0 is not in the range 1<=x<=1000000"),
        (["--seeds", "999999999999"], "is not in the range 1<=x<=1000000"),
        (["--expand", "s.toml"], "--expand s.toml: it would be written over\n  name another file"),
        (["--trace", "./s.toml"], "--trace ./s.toml: it would be written over\n  name another"),
        (["-j", "0"], "'-j': 0 is not in the range x>=1"),
        (["--set", "pools.spot"], "--set pools.spot: this is no KEY=VALUE"),
        (["--set", "pools.spot.max="], "this is no KEY=VALUE"),
        (["--set", "pools.sopt.max=3"], "there is no pools.sopt\n  did you mean spot?"),
        (["--set", "stop=5"], "--set stop=5: stop is 5, but should be a table"),
        (["--set", "stop.time.x=5"], "stop.time is not a table\n  set stop.time itself"),
        (["--set", "pools.spot.up.law=uniform"], "s.toml:5: uniform lacks from and to (with --set"),
        (
            ["--set", 'pools.spot.up={law="exponential", rate=-1}'],
            "rate=-1}: pools.spot.up.rate: -1",
        ),
        (
            ["--set", 'bags.b.arrivals={process="poisson", every=0}'],
            'bags.b.arrivals={process="poisson", every=0}: bags.b.arrivals.every: 0 is not',
        ),
        (
            ["--vary", "bags.b.tasks=,"],
            "--vary bags.b.tasks=,: value 1 of 2 is empty\n  write each",
        ),
        (["--vary", "bags.b.tasks="], "--vary bags.b.tasks=: this is no KEY=VALUE\n  write --vary"),
        (["--vary", "bags.b.tasks=1,,2"], "value 2 of 3 is empty\n  write each value"),
        (["--vary", "bags.b.tasks=1,2,"], "value 3 of 3 is empty\n  write each value"),
        (["--vary", "bags.b.lengths=[1,2"], "[1,2 is not a whole value\n  as in TOML"),
        (["--vary", 'bags.b.tasks="5'], '"5 is not a whole value\n  as in TOML'),
        (["--set", "bags.b.lengths=[1,2],[3]"], "[1,2],[3] is not a whole value\n  as in TOML"),
        (["--set", "bags.b.tasks=1,2"], "tasks is '1,2', but should be a whole number"),
        (["--set", "#=5"], "--set #=5: unknown key #"),
        (["--set", "[t]#=5"], "--set [t]#=5: unknown key [t]#"),
        (["--set", f"bags.b.tasks={'9' * 5000}"], "but should be a whole number"),
        (["--vary", "bags.b.tasks=5,6,5"], "--vary bags.b.tasks=5,6,5: 5 is there twice"),
        (
            ["--vary", "bags.b.length={law='constant',value=1},{ law = 'constant', value = 1 }"],
            "constant 1 is there twice",
        ),
        (["--vary", "pools.spot.machnes=1,2"], "unknown key pools.spot.machnes\n  did you mean"),
        (["--vary", "pools.spot.machines=1,-2"], "pools.spot.machines is -2"),
        (["--vary", "bags.b.tasks=1", "--vary", "bags.b.tasks=2"], "bags.b.tasks is varied twice"),
        (["--set", "pools.spot.machines=0"], "bag b has no machines to run on"),
        (["--figure", "makespan"], "did you mean makespan_s?"),
        (["--trace", "no/t.jsonl"], "--trace no/t.jsonl: there is no folder no"),
        (["--expand", "."], "--expand .: is a directory"),
        (["--trace", "t", "--vary", "bags.b.tasks=1,2"], "of one run, but there are 2 scenarios"),
        (["--trace", "-", "--json"], "--json does nothing beside --trace -\n  name a file"),
        (["--trace", "-", "--plot", "p.png"], "--plot does nothing beside --trace -"),
        (["--trace", "-", "--machines"], "--machines does nothing beside --trace -"),
        (["--plot", "runs.gif"], "no picture of this kind is drawn\n  its name ends with .png"),
        (["--plot", "no/runs.png"], "--plot no/runs.png: there is no folder no"),
        (["--events", "no.csv"], "--events no.csv:"),
        (["no.toml"], "no.toml: there is no such file"),
    ],
)
def test_a_bad_flag_is_refused(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "s.toml").write_text(GOOD)
    said = refused(tmp_path, "s.toml", *words)
    assert message in said and said.splitlines()[0].count("--set") <= 1


@pytest.mark.parametrize(
    ("old", "new", "flag"),
    [
        (POOL, f'{POOL}silent_after = "5m"\n', "pools.spot.detection=reported"),
        (END, f'{END}at = "2h"\n', "stop.time=1h"),
        (f"tasks = 5\n{END}", "lengths = [1, 2]\nfailing.known = [1]\n", "bags.b.tasks=1"),
    ],
)
def test_a_flag_may_take_the_effect_from_what_the_file_says(
    tmp_path: Path, old: str, new: str, flag: str
) -> None:
    (tmp_path / "s.toml").write_text(GOOD.replace(old, new, 1))
    told = ask(tmp_path, "simulate", "-j", "1", "s.toml", "--set", flag)
    assert told.code != 2 and "it was run" in told.err


SWF = "1 {} -1 {} 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
BAD_FILES = [
    ("s\n" + "x" * 200_000 + "\n", "r.csv:2: this is not CSV: field larger", "mend the line"),
    ("", "r.csv:1: there is no column 's'", "its columns are none"),
    ("s\n", "r.csv: there is no row in it", "a header line, then rows"),
    ("x\n1\n", "r.csv:1: there is no column 's'", "its columns are x"),
    ("s\n1e999\n", "r.csv:2: s is '1e999', not a number", "mend the cell"),
    ("s\nnan\n", "r.csv:2: s is 'nan', not a number", "mend the cell"),
    ("s\n-5\n", "r.csv:2: s is -5", "shorter than nothing"),
    ("s\n1e300\n", "r.csv:2: s is 1e300", "146,000 years"),
    (SWF.format("1e14", 5), "r.swf:1: submit is 1e14, beyond all time", "it is in seconds"),
    (SWF.format(5, "1e14"), "r.swf:1: run is 1e14, beyond all time", "it is in seconds"),
    (SWF.format(5, "nan"), "r.swf:1: field 4 (run) is 'nan', not a number", "write -1"),
    (SWF.format(5, "-1"), "r.swf: no job of it can be used", "take another log"),
    ("1 2 3\n", "r.swf:1: this line has 3 fields", "a job has 18 numbers"),
]


@pytest.mark.parametrize(("text", "message", "remedy"), BAD_FILES)
def test_a_bad_file_of_lengths_or_jobs_is_refused(
    tmp_path: Path, text: str, message: str, remedy: str
) -> None:
    name = "r.swf" if "r.swf" in message else "r.csv"
    (tmp_path / name).write_text(text)
    given = 'jobs = "r.swf"' if name == "r.swf" else 'lengths = { file = "r.csv", column = "s" }'
    (tmp_path / "s.toml").write_text(GOOD.replace('tasks = 5\nlength = "1m"', given))
    said = refused(tmp_path, "s.toml")
    assert message in said.splitlines()[0] and remedy in said.partition("\n")[2]


def test_a_recorded_load_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text("time,share\n0,1\n60,1\n")
    (tmp_path / "s.toml").write_text(SITES.replace('{ lasts = "1h", share = 0.5 }',
                                                   '{ file = "load.csv" }'))  # fmt: skip
    assert "s.toml:9: pools.spot.load.share is always 1" in refused(tmp_path, "s.toml")


SITES = """\
stop = { time = "1d" }
[sites.here]
lan = { rate = "100 MB/s", latency = "1ms" }
[network]
storage = { site = "here" }
[pools.spot]
machines = 4
site = "here"
load = { lasts = "1h", share = 0.5 }
[bags.small]
tasks = 60
length = "10m"
input = "10 MB"
"""
BAD_SITES = [
    ('"100 MB/s"', '"100 MB"', 3, "'100 MB' is not a rate such as 5 Mbit/s", ""),
    ('"100 MB/s"', "0", 3, "sites.here.lan.rate: 0 is no rate above 0", 'as in rate = "1 Gbit/s"'),
    ('"here" }', '"here", capacity = -5 }', 5, "network.storage.capacity: -5 is negative",
     'write it as in capacity = "4 GiB"'),
    ('rate = "100 MB/s", ', "", 3, "the link has no rate", "a link is such as"),
    ('{ site = "here" }', '{ site = "hree" }', 5, "there is no site 'hree'", "did you mean here?"),
    ('storage = { site = "here" }\n', "", 9, "there is no storage", "add [network] with storage"),
    ('site = "here"\nload', 'site = "hree"\nload', 8, "no site 'hree'", "did you mean here?"),
    ('site = "here"\nload', "load", 6, "the machines of spot stand nowhere", "say at which site"),
    ("share = 0.5", "share = 1.5", 9, "pools.spot.load.share may be 1.5", "between 0 and 1"),
    ("share = 0.5", "share = -1", 9, "pools.spot.load.share may be -1", "between 0 and 1"),
    ("share = 0.5", "share = 1", 9, "load.share is always 1: no task would ever", "only some"),
    ('lasts = "1h"', "lasts = 0", 9, "steps that last no time", "above 0"),
    ('{ lasts = "1h", share = 0.5 }', '{ file = "no.csv" }', 9, "no.csv: there is no such file",
     "looked in"),
    ("machines = 4", 'trace = "no.tab"', 7, "no.tab: there is no such file", "looked in"),
    ('length = "10m"', 'jobs = "no.swf"', 12, "no.swf: there is no such file", "looked in"),
    ('length = "10m"', 'lengths = { file = "no.csv", column = "s" }', 12, "no.csv: there is no",
     "looked in"),
    ('"10 MB"', '"10 MBB"', 13, "'10 MBB' is not a size", "write it as in 10 or { law"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message", "remedy"), BAD_SITES)
def test_a_bad_site_network_or_file_is_refused(
    tmp_path: Path, old: str, new: str, line: int, message: str, remedy: str
) -> None:
    assert old in SITES
    (tmp_path / "s.toml").write_text(SITES.replace(old, new, 1))
    said = refused(tmp_path, "s.toml")
    assert said.startswith(f"tailrace: s.toml:{line}: ")
    assert message in said.splitlines()[0] and remedy in said.partition("\n")[2]


@pytest.mark.parametrize(
    ("more", "line"), [("bag/1/lengths,0,1e300", "e.csv:2: value is 1e300"),
                       ("bag/1/lengths,0,60\nstartup/spot,0,5e12", "e.csv:3: value is 5e12")],
)  # fmt: skip
def test_an_event_beyond_all_time_is_refused(tmp_path: Path, more: str, line: str) -> None:
    (tmp_path / "s.toml").write_text(GOOD)
    (tmp_path / "e.csv").write_text(f"what,number,value\n{more}\n")
    said = refused(tmp_path, "s.toml", "--events", "e.csv")
    assert line in said and "nothing here may be beyond 146,000 years" in said
