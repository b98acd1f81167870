"""A scenario file becomes a scenario. Bags have the words of bag files, laws those of `laws`.

name = "spot machines"
stop = { time = "5w" }              # or tasks = 7000; default: when all tasks have a result

[pools.grid]
machines = 10                       # that come by themselves; `max` are leased on demand
cores = 4                           # and memory = "16 GB", disk, gpus
up = { law = "uniform", from = "1m", to = "500m" }
down = { law = "uniform", from = "1m", to = "40m" }

[bags.short]
tasks = 1000
length = "10m"                      # on the reference machine, alone
arrivals = { process = "uniform", from = "1m", to = "5m" }
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tailrace.bag.needs import BYTES, THOUSANDTHS
from tailrace.bag.policy import HostPolicy
from tailrace.bag.policysaid import check_policies
from tailrace.bag.rules import read_rules
from tailrace.bag.strategies import admit_strategies
from tailrace.bag.tables import Origin, Table, read_toml
from tailrace.bag.terms import Terms
from tailrace.bag.textfile import read_text
from tailrace.policy.bagpolicy import check_policy
from tailrace.policy.policies import read_host_policy
from tailrace.pools.commands import KEYS as COMMANDED
from tailrace.pools.terms import HOUR_US, Billing, Late, Pays, Pool
from tailrace.quantities import Price, duration_us, money, price, price_unit_us, size_bytes
from tailrace.scheduler import strategies
from tailrace.simulation.arrivals import AtOnce
from tailrace.simulation.changes import read_change
from tailrace.simulation.checks import (
    check_bag,
    check_end,
    check_pool,
    check_sites,
    check_size,
    check_stop,
    check_ways,
)
from tailrace.simulation.effects import check_begin, check_priced, check_silence
from tailrace.simulation.eventsfile import read_events_of
from tailrace.simulation.files import read_files
from tailrace.simulation.keys import (
    MOST_MACHINES,
    read_arrivals_of,
    read_count,
    read_law_of,
    read_line,
    read_own,
    read_share,
    some_time,
)
from tailrace.simulation.laws import Constant, Law
from tailrace.simulation.laws.reading import Place, number, signed_seconds
from tailrace.simulation.lives import read_hours, read_trace
from tailrace.simulation.lots import Lot, read_lots
from tailrace.simulation.parameters import read_parameters, seen_by
from tailrace.simulation.reach import check_reach
from tailrace.simulation.returning import read_returning
from tailrace.simulation.scenario import (
    NO_TIME,
    Alternation,
    Calling,
    Detection,
    Failures,
    Machines,
    NeverUp,
    News,
    Scenario,
    Stopping,
    Tasks,
    Telling,
    WhenFull,
)
from tailrace.simulation.sites import read_link, read_network, read_sites
from tailrace.simulation.workload import Given, MachineType

LONGEST_STARTUP_S = 1e9
EXACTLY_US = 1  # the unit of a result's run time, unless another is named


def load_scenario(path: Path) -> Scenario:
    shown = str(path)
    text = read_text(path, shown)
    return read_scenario(read_toml(text, shown), shown, text, path.absolute().parent)


def read_scenario(
    data: dict[str, Any],
    shown: str,
    text: str,
    folder: Path,
    typed: Mapping[Any, str] | None = None,
) -> Scenario:
    """`typed`: the flags that changed values of the file, by their paths."""
    table = Table(data, Origin(shown, text, typed=typed))
    place = Place(table.origin, (), folder)
    name = table.take("name", str) or Path(shown).stem
    stop, news = _stop(table.table("stop", '{ time = "1w" }')), _news(table, place)
    progress = _progress(table.table("progress", '{ every = "30s" }'))
    dispatch_us, query_us = (table.read(key, duration_us, 0) for key in ("dispatch", "query"))
    network = read_network(table, place)
    pools = tuple(read_pool(inner, place) for inner in _named(table, "pools"))
    read = [(inner, tasks) for inner in _named(table, "bags") for tasks in _bags(inner, place)]
    bags = tuple(tasks for _, tasks in read)
    events = read_events_of(table, folder, [one.terms.name for one in pools], len(bags))
    table.finish()
    check_size(table, pools, bags)
    check_sites(table, pools, network)
    for inner, tasks in read:
        check_bag(inner, tasks, pools)
        check_begin(inner, tasks, stop)
        check_end(inner, tasks, pools, network, stop)
        check_ways(inner, tasks, pools, network)
        if events is None:
            check_reach(inner, tasks, pools, stop)
    check_stop(table, stop, bags, pools)
    return Scenario(pools, bags, name, stop, news, dispatch_us, events, query_us, network, progress)


def _named(table: Table, key: str) -> list[Table]:
    """`[pools.grid]`, `[pools.spot]`: each a table under a name of the user's own."""
    tables = table.table(key)
    found = []
    for name, value in tables.items():
        if not isinstance(value, dict):
            raise tables.bad(name, f"{key}.{name} is not a table", f"write [{key}.{name}]")
        found.append(Table(value, table.origin, (key, name)))
    if not found:
        remedy = f"{table.instead_of(key)}add one under [{key}.NAME]"
        raise table.bad(key, f"there are no {key}", remedy)
    return found


def _stop(table: Table) -> Stopping:
    time_us = table.read("time", some_time, None, example='"1w"')
    counted = ("tasks", "events", "failed")
    tasks, events, failed = (read_count(table, key, None, least=1) for key in counted)
    stop = Stopping(time_us, tasks, events, failed, table.read("spent", money, None))
    table.finish()
    return stop


def _news(around: Table, place: Place) -> News:
    table = around.table("news", '{ every = "10m" }')
    delay = read_law_of(table, "delay", place, None)
    every_us = table.read("every", some_time, None, example='"10m"')
    outage = _outage(table)
    table.finish()
    if delay is not None and every_us:
        raise table.bad("every", "news is both delayed and polled", "keep delay or every")
    if outage and (delay is not None or every_us):
        remedy = "keep outage, or delay or every"
        raise table.bad("outage", "news that is delayed or polled has no outage", remedy)
    return News(delay, every_us or 0, outage)


def _outage(around: Table) -> tuple[int, int] | None:
    if "outage" not in around:
        around.take("outage", dict)
        return None
    table = around.table("outage", '{ from = "9d", to = "9d6h" }')
    ends = [table.read(key, duration_us, None) for key in ("from", "to")]
    table.finish()
    begins_us, ends_us = ends
    if begins_us is None or ends_us is None or begins_us >= ends_us:
        message = f"{around.label('outage')} has no beginning before its end"
        raise around.bad("outage", message, 'such as outage = { from = "9d", to = "9d6h" }')
    return begins_us, ends_us


def _progress(table: Table) -> Telling:
    telling = Telling(table.read("every", some_time, None, example='"30s"') or 0)
    table.finish()
    return telling


# pools


def read_pool(table: Table, place: Place) -> Machines:
    _rehearsed(table)
    cores, detection = read_count(table, "cores", 1, least=1), _detection(table)
    terms, trace = _terms(table), read_trace(table, place)
    departs = read_law_of(table, "departs", place, None)
    notice_us = table.read("notice", some_time, None, example='"2m"')
    startup = read_law_of(table, "startup", place, NO_TIME)
    nodes = len(trace.away) if trace is not None and not terms.max else 0
    machines = Machines(
        terms=replace(terms, startup_us=_expected_us(startup)),
        count=read_count(table, "machines", nodes, most=MOST_MACHINES),
        arrivals=read_arrivals_of(table, place),
        cores=cores,
        slots=read_count(table, "slots", cores, least=1),
        has=_has(table),
        sharing=table.choice("sharing", ("equal", "reserved"), "equal"),
        speed=read_law_of(table, "speed", place, Constant(1.0), number),
        type=_type(table, place),
        startup=startup,
        departs=departs,
        notice_us=notice_us,
        ending=read_law_of(table, "ending", place, None),
        never_up=_never_up(table, place),
        failures=_alternation(table, "up", "down", place, notice_us),
        owner=_alternation(table, "owner_away", "owner_there", place, notice_us),
        owner_hours=read_hours(table, place),
        trace=trace,
        load=read_change(table, "load", "share", place),
        pace=read_change(table, "pace", "factor", place),
        sites=read_sites(table),
        link=read_link(table, "link"),
        luck=read_law_of(table, "luck", place, Constant(1.0), number),
        returns=read_returning(table),
        detection=detection,
        calls=Calling(table.choice("calls", tuple(Calling), Calling.FREE)),
        kind=_kind(table),
        when_full=WhenFull(table.choice("when_full", tuple(WhenFull), WhenFull.WAIT)),
        whose=read_line(table, "owner", '"alice"'),
        cpu=read_line(table, "cpu", '"Xeon E5-2650"'),
        says=_says(table),
    )
    table.finish()
    if nodes and machines.count > nodes:
        message = f"there are {machines.count} machines, but the trace has {nodes} nodes"
        raise table.bad("machines", message, "ask for fewer, or leave it out to have them all")
    if notice_us is not None and not machines.may_go:
        remedy = "say how long it is up, when it departs, or when its owner wants it"
        raise table.bad("notice", "notice without up", remedy)
    check_pool(table, machines)
    return machines


def _expected_us(startup: Law) -> int:
    """By which a plan reckons before any machine has come; nothing, where there is no mean."""
    mean = startup.mean()
    return round(mean * 1e6) if 0 <= mean <= LONGEST_STARTUP_S else 0


def _rehearsed(table: Table) -> None:
    """What a pool of this machine says beside, so that it can be copied from `pools.toml`. Here
    every machine is simulated, and all is drawn by the seed of the run: of many runs with the seed
    of the pool all would be one."""
    table.choice("driver", ("local", "command", "simulated"), "simulated")
    table.take("seed", int)
    for key in COMMANDED:
        table.take(key, str, int)


def _terms(table: Table) -> Pool:
    return Pool(
        str(table.path[-1]),
        driver="simulated",
        billing=_billing(table),
        max=read_count(table, "max", 0, most=MOST_MACHINES),
        lease_us=table.read("lease", some_time, None, example='"1h"') or HOUR_US,
        silent_after_us=_silence_us(table),
        late_results=Late(table.choice("late_results", tuple(Late), Late.ACCEPT)),
        reliable=table.take("reliable", bool) is not False,
        trusted=table.take("trusted", bool) is not False,
        min_timeout_us=table.read("min_timeout", duration_us, 0),
    )


def _detection(table: Table) -> Detection | None:
    """Who says how long a silence is makes it count."""
    told = "silent_after" in table
    given = table.choice("detection", tuple(Detection), Detection.SILENT if told else "")
    if given and given != Detection.SILENT:
        check_silence(table, given)
    return Detection(given) if given else None


def _kind(table: Table) -> str:
    written: str | None = table.take("kind", str, example='"Linux-x86_64"')
    if written == "":
        raise table.bad("kind", "kind is empty", "name it, or leave it out: the name of the pool")
    return written or ""


def _says(table: Table) -> HostPolicy | None:
    """In the words of a worker's own file."""
    if "says" not in table:
        return None
    inner = table.table("says", "{ HostRank = 'BOT.Priority' }")
    found = read_host_policy(inner)
    inner.finish()
    return found


def _has(table: Table) -> dict[str, int]:
    """Beside cores; what is not named is not there."""
    sizes = {name: table.read(name, size_bytes, 0) for name in BYTES}
    found = sizes | {"gpus": read_count(table, "gpus", 0) * THOUSANDTHS}
    return {name: amount for name, amount in found.items() if amount} | read_own(table)


def _silence_us(table: Table) -> int:
    return table.read("silent_after", some_time, None, example='"5m"') or 60_000_000


def _price(written: Any) -> Price:
    return price(str(written))


def _billing(table: Table) -> Billing:
    check_priced(table)
    written = table.peek("price")
    agreed = table.read("price", _price, None, example='"0.10 USD/h"')
    unit_us = table.read("unit", some_time, None, example='"1m"')
    minimum_us = table.read("minimum", duration_us, 0)
    pays = _pays(table, priced=agreed is not None)
    if agreed is None:
        return Billing()
    unit_us = unit_us or (price_unit_us(written) if pays is Pays.LEASE else EXACTLY_US)
    return Billing.at(agreed, unit_us, minimum_us, pays)


def _pays(table: Table, *, priced: bool) -> Pays:
    """A lease by its time; or results, those that are accepted or all that return."""
    if table.choice("billing", ("per_lease", "per_result"), "per_lease") == "per_lease":
        if "pays" in table:
            remedy = 'add billing = "per_result", or leave pays out'
            raise table.bad("pays", "pays says which results are paid, but none are", remedy)
        return Pays.LEASE
    if not priced:
        remedy = 'add price = "0.10 USD/h", or leave billing out'
        raise table.bad("billing", "results are paid, but have no price", remedy)
    return Pays(table.choice("pays", (Pays.ACCEPTED, Pays.RETURNED), Pays.ACCEPTED))


def _type(table: Table, place: Place) -> MachineType:
    slope = table.read("slope", number, 1.0, example="0.5")
    offset = read_law_of(table, "offset", place, Constant(0.0), signed_seconds)
    noise = read_law_of(table, "noise", place, Constant(1.0), number)
    spread = read_law_of(table, "spread", place, Constant(1.0), number)
    with table.origin.at(*table.path, "slope"):
        return MachineType(slope, offset, noise, spread)


def _alternation(
    table: Table, here: str, away: str, place: Place, notice_us: int | None
) -> Alternation | None:
    first, second = read_law_of(table, here, place, None), read_law_of(table, away, place, None)
    if first is None and second is not None:
        raise table.bad(away, f"{away} without {here}", f"say how long it is {here}, too")
    return None if first is None else Alternation(first, second, notice_us)


def _never_up(table: Table, place: Place) -> NeverUp | None:
    if "never_up" not in table:
        return None
    inner = table.table("never_up")
    found = NeverUp(
        read_share(inner, "share", 0.0), read_law_of(inner, "after", place, Constant(0.0))
    )
    inner.finish()
    return found


# bags


def _bags(table: Table, place: Place) -> list[Tasks]:
    """Mostly one; a log whose jobs need different numbers of cores is a bag for each."""
    lots = read_lots(table, place)
    submitted = table.read("at", duration_us, 0)
    even = table.choice("draw", ("independent", "even"), "independent") == "even"
    failing = _failures(table.table("failing"), place, lots)
    arrivals, files = read_arrivals_of(table, place), read_files(table, place)
    given, seeded = "needs" in table, "seed" in table
    rules = read_rules(table, str(table.path[-1]))
    admit_strategies(rules, table, strategies.admit)
    if rules["order"] not in ("listed", "shuffled"):
        message = f"order is {rules['order']!r}, but tasks of a scenario have no parameters"
        raise table.bad("order", message, 'write order = "shuffled", or leave it out')
    rules["last"] = table.take("last", bool) or False
    rules["owner"] = table.take("owner", str) or ""
    trial_us = table.read("trial", duration_us, 0)
    swept = read_parameters(table, place)
    table.finish()
    at_once = isinstance(arrivals, AtOnce) and not any(lot.arrivals for lot in lots)
    if swept is not None and (rules["last"] or len(lots) > 1 or not at_once):
        message = "parameters beside last, arrivals or a log of jobs"
        raise table.bad("parameters", message, "give them to a bag whose tasks are there at once")
    rules["policy"], columns = seen_by(rules.get("policy"), swept, lots[0].count, table)
    if rules["last"] and not at_once:
        raise table.bad("last", "last beside arrivals", "its tasks must all be there at once")
    if given and lots[0].cores is not None:
        raise table.bad("needs", "needs beside processors of the jobs", "keep one of them")
    check_policies(_bag_terms(lots[0], rules, trial_us), table.origin, check_policy, table.path)
    return [
        Tasks(_bag_terms(lot, rules, trial_us), lot.lengths, lot.arrivals or arrivals, submitted,
              even, failing, files, rules["order"] == "shuffled" and not seeded, columns)
        for lot in lots
    ]  # fmt: skip


def _bag_terms(lot: Lot, rules: dict[str, Any], trial_us: int) -> Terms:
    kept = ("name", "needs", "limits", "retries", "growth", "budget", "deadline_us", "timeout_us",
            "max_failures", "most_running", "pools", "matching", "replication", "owner",
            "round_us", "last", "policy", "weight", "tail_below", "tail_stays",
            "losers_run_on")  # fmt: skip
    found = {key: rules[key] for key in kept if key in rules} | {"trial_us": trial_us}
    if lot.cores is not None:
        found["name"] = f"{rules['name']}-{lot.cores}"
        found["needs"] = {**rules["needs"], "cores": lot.cores * THOUSANDTHS}
    seed = rules["seed"] if rules["order"] == "shuffled" else None
    return Terms(lot.count, order_seed=seed, **found)


def _failures(table: Table, place: Place, lots: list[Lot]) -> Failures:
    shares = read_share(table, "tasks", 0.0), read_share(table, "attempts", 0.0)
    given = any(isinstance(lot.lengths, Given) for lot in lots)
    if given and "length" in table:
        raise table.bad("length", "the length of each task is given already", "leave it out")
    known = _known(table, lots) if given else None
    failing = Failures(*shares, read_law_of(table, "length", place, None), known)
    table.finish()
    return failing


def _known(table: Table, lots: list[Lot]) -> tuple[int, ...] | None:
    """Some may be beyond the tasks there are only if a flag asks for few of them:
    `--set bags.sweep.tasks=10`."""
    listed, there = table.take("known", list), sum(lot.count for lot in lots)
    fewer = (*table.path[:-1], "tasks") in table.origin.typed
    for task in listed or ():
        if type(task) is not int or task < 0:
            remedy = "write the numbers of tasks, from 0 on: known = [3, 17]"
            raise table.bad("known", f"{task!r} is not the number of a task", remedy)
        if task >= there and not fewer:
            tasks = "1 task" if there == 1 else f"{there} tasks"
            remedy = f"they are counted from 0 to {there - 1}; leave {task} out"
            raise table.bad("known", f"there is no task {task}, but {tasks}", remedy)
    return None if listed is None else tuple(listed)
