"""A scenario file becomes a scenario. Bags have the words of bag files, laws those of `laws`.

name = "spot machines"
stop = { time = "5w" }              # or tasks = 7000; default: when all tasks have a result

[pools.grid]
machines = 10                       # that come by themselves; `max` are leased on demand
up = { law = "uniform", from = "1m", to = "500m" }
down = { law = "uniform", from = "1m", to = "40m" }

[bags.short]
tasks = 1000
length = "10m"                      # on the reference machine, alone
arrivals = { process = "uniform", from = "1m", to = "5m" }
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tailrace.bag.rules import read_rules
from tailrace.bag.tables import Origin, Table, read_toml
from tailrace.bag.terms import Strategy, Terms
from tailrace.bag.textfile import read_text
from tailrace.pools.terms import HOUR_US, Billing, Late, Pool
from tailrace.quantities import duration_us, price
from tailrace.scheduler import strategies
from tailrace.simulation.arrivals import Arrivals, AtOnce, read_arrivals
from tailrace.simulation.laws import Constant, Law
from tailrace.simulation.laws.reading import Place, number, read_law, seconds
from tailrace.simulation.scenario import (
    Alternation,
    Detection,
    Machines,
    News,
    Scenario,
    Stopping,
    Tasks,
)
from tailrace.simulation.workload import MachineType

LAW = (dict, str, int, Decimal)


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
    stop, news = _stop(table.table("stop")), _news(table.table("news"), place)
    dispatch_us = table.read("dispatch", duration_us, 0)
    pools = tuple(_pool(inner, place) for inner in _named(table, "pools"))
    bags = tuple(_bag(inner, place) for inner in _named(table, "bags"))
    table.finish()
    _check(table, pools, bags, stop)
    return Scenario(pools, bags, name, stop, news, dispatch_us)


def _named(table: Table, key: str) -> list[Table]:
    """`[pools.grid]`, `[pools.spot]`: each a table under a name of the user's own."""
    tables = table.table(key)
    found = []
    for name, value in tables.items():
        if not isinstance(value, dict):
            raise tables.bad(name, f"{key}.{name} is not a table", f"write [{key}.{name}]")
        found.append(Table(value, table.origin, (key, name)))
    if not found:
        raise table.bad(key, f"there are no {key}", f"add one under [{key}.NAME]")
    return found


def _stop(table: Table) -> Stopping:
    stop = Stopping(table.read("time", _some_time, None), _count(table, "tasks", None, least=1))
    table.finish()
    return stop


def _news(table: Table, place: Place) -> News:
    news = News(_law(table, "delay", place, None), table.read("every", _some_time, None) or 0)
    table.finish()
    if news.delay is not None and news.every_us:
        raise table.bad("every", "news is both delayed and polled", "keep delay or every")
    return news


# pools


def _pool(table: Table, place: Place) -> Machines:
    cores = _count(table, "cores", 1, least=1)
    machines = Machines(
        terms=_terms(table),
        count=_count(table, "machines", 0),
        arrivals=_arrivals(table, place),
        cores=cores,
        slots=_count(table, "slots", cores, least=1),
        sharing=table.choice("sharing", ("equal", "reserved"), "equal"),
        speed=_law(table, "speed", place, Constant(1.0), number),
        type=_type(table, place),
        startup=_law(table, "startup", place, Constant(0.0)),
        failures=_alternation(table, "up", "down", place),
        owner=_alternation(table, "owner_away", "owner_there", place),
        returns=_share(table, "returns"),
        detection=Detection(table.choice("detection", tuple(Detection), Detection.SILENT)),
    )
    table.finish()
    if not machines.count and not machines.terms.max:
        raise table.origin.bad(
            table.path, f"pool {table.path[-1]} has no machines",
            "give machines (that come by themselves) or max (leased on demand)",
        )  # fmt: skip
    return machines


def _terms(table: Table) -> Pool:
    per_hour = table.read("price", lambda written: price(str(written)), None)
    unit_us = table.read("unit", _some_time, None) or HOUR_US
    minimum_us = table.read("minimum", duration_us, 0)
    billing = Billing()
    if per_hour is not None:
        micros = per_hour.micros * unit_us // HOUR_US
        billing = Billing(micros, per_hour.unit, unit_us, minimum_us)
    return Pool(
        str(table.path[-1]),
        driver="simulated",
        billing=billing,
        max=_count(table, "max", 0),
        lease_us=table.read("lease", _some_time, None) or HOUR_US,
        silent_after_us=table.read("silent_after", _some_time, None) or 60_000_000,
        late_results=Late(table.choice("late_results", tuple(Late), Late.ACCEPT)),
        reliable=table.take("reliable", bool) is not False,
        min_timeout_us=table.read("min_timeout", duration_us, 0),
    )


def _type(table: Table, place: Place) -> MachineType:
    slope = table.read("slope", number, 1.0)
    offset = table.read("offset", number, 0.0)
    noise = _law(table, "noise", place, Constant(1.0), number)
    spread = _law(table, "spread", place, Constant(1.0), number)
    return MachineType(slope, offset, noise, spread)


def _alternation(table: Table, here: str, away: str, place: Place) -> Alternation | None:
    first, second = _law(table, here, place, None), _law(table, away, place, None)
    notice = table.read("notice", _some_time, None) if here == "up" else None
    if first is None:
        if second is not None or notice is not None:
            given = away if second is not None else "notice"
            raise table.bad(given, f"{given} without {here}", f"say how long it is {here}, too")
        return None
    return Alternation(first, second, notice)


def _share(table: Table, key: str) -> float:
    value = table.read(key, number, 1.0)
    if not 0 <= value <= 1:
        raise table.bad(key, f"{table.label(key)} is {value:g}", "it is a share between 0 and 1")
    return value


# bags


def _bag(table: Table, place: Place) -> Tasks:
    count = _count(table, "tasks", None, least=1)
    if count is None:
        raise table.origin.bad(table.path, f"bag {table.path[-1]} has no tasks", "add tasks = 1000")
    lengths = _law(table, "length", place, None)
    if lengths is None:
        raise table.origin.bad(
            table.path, f"bag {table.path[-1]} has no length", 'add length = "10m", or a law'
        )
    submitted = table.read("at", duration_us, 0)
    arrivals = _arrivals(table, place)
    chosen = _strategies(table)
    rules = read_rules(table, str(table.path[-1]))
    trial_us = table.read("trial", duration_us, 0)
    table.finish()
    kept = ("name", "needs", "limits", "retries", "growth", "budget", "deadline_us", "timeout_us",
            "max_failures", "pools")  # fmt: skip
    terms = Terms(count, **{key: rules[key] for key in kept}, **chosen, trial_us=trial_us,
                  order_seed=rules["seed"] if rules["order"] == "shuffled" else None)  # fmt: skip
    return Tasks(terms, lengths, arrivals, submitted)


def _strategies(table: Table) -> dict[str, Any]:
    found: dict[str, Any] = {"round_us": table.read("round", _some_time, None) or 0}
    for family in ("matching", "replication"):
        strategy = _strategy(table, family)
        if strategy is not None:
            found[family] = strategy
            with table.origin.at(*table.path, family):
                getattr(strategies, family)(strategy)
    return found


def _strategy(table: Table, family: str) -> Strategy | None:
    given = table.take(family, str, dict)
    if given is None or isinstance(given, str):
        return None if given is None else Strategy(given)
    options = dict(given)
    name = options.pop("strategy", None)
    if not isinstance(name, str):
        example = f'{family} = {{ strategy = "wqr", most = 2 }}'
        raise table.bad(family, f"{family} names no strategy", f"write {example}")
    with table.origin.at(*table.path, family):
        return Strategy(name, {key: _plain(value) for key, value in options.items()})


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


# what all share


def _law(table: Table, key: str, place: Place, default: Any, unit: Any = seconds) -> Any:
    value = table.take(key, *LAW)
    if value is None:
        return default
    law: Law = read_law(value, Place(place.origin, (*table.path, key), place.folder), unit)
    return law


def _arrivals(table: Table, place: Place) -> Arrivals:
    value = table.take("arrivals", dict, str)
    if value is None:
        return AtOnce()
    return read_arrivals(value, Place(place.origin, (*table.path, "arrivals"), place.folder))


def _count(table: Table, key: str, default: Any, *, least: int = 0) -> Any:
    value = table.take(key, int)
    if value is not None and not least <= value <= 10**9:
        raise table.bad(key, f"{table.label(key)} is {value}", f"it is a whole number from {least}")
    return default if value is None else value


def _some_time(written: Any) -> int:
    found = duration_us(written)
    if not found:
        raise ValueError(f"{written} is no time at all")
    return found


def _check(
    table: Table, pools: tuple[Machines, ...], bags: tuple[Tasks, ...], stop: Stopping
) -> None:
    """What can be known before the run: a pool that is not there, a stop that never comes."""
    known = [machines.terms.name for machines in pools]
    for tasks in bags:
        for name in tasks.terms.pools:
            if name not in known:
                raise table.origin.bad(
                    ("bags", tasks.terms.name, "pools"), f"there is no pool {name!r}",
                    f"the pools are {', '.join(known)}",
                )  # fmt: skip
    wanted, there = stop.tasks, sum(tasks.terms.count for tasks in bags)
    if wanted is not None and wanted > there:
        raise table.origin.bad(
            ("stop", "tasks"), f"it stops after {wanted} tasks, but there are {there}",
            "lower it, or give the bags more tasks",
        )  # fmt: skip
