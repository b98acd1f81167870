"""A measured run as a scenario file: readable, to be edited, with long lists in tables beside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from textwrap import wrap
from typing import Any

from tailrace.bag.needs import BYTES, ONE_CORE, THOUSANDTHS, Amounts
from tailrace.bag.policy import EXPRESSIONS, BagPolicy
from tailrace.bag.policykeys import RUN_ON
from tailrace.bag.terms import Growth, Retries, Strategy, Terms
from tailrace.policy.policies import texts
from tailrace.pools.terms import Billing, Pool
from tailrace.quantities import SECOND, price_unit_us, show_duration, show_money, show_price
from tailrace.report.words import count
from tailrace.server.records.measuring import Lifetime, MeasuredPool, MeasuredRun

INLINE = 8  # values; more of them stand in a table
DEATHS = 5  # different ones, before they say which law they follow
NOTE_AT = 46  # column
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DEFAULT = Pool("", max=0)


class ScenarioFile:
    """Its text and its tables, by name; all in the folder of the scenario."""

    def __init__(self, run: MeasuredRun, name: str) -> None:
        """`name` as `grid.toml`."""
        self.name = name
        self.tables: dict[str, str] = {}
        self._stem = Path(name).stem
        self.text = "\n".join(self._lines(run)) + "\n"

    def files(self) -> dict[str, str]:
        return {self.name: self.text, **self.tables}

    def _lines(self, run: MeasuredRun) -> Iterator[str]:
        yield f"# Made from what bag {run.bag} ({run.terms.name}) measured."
        yield f"name = {_text(run.terms.name)}"
        travel_us = max(pool.slot.travel_us for pool in run.pools)
        if travel_us:
            yield _line("dispatch", travel_us / SECOND, "unless a task lies ready on its host")
        machines = [line for pool in run.pools for line in _machines(pool)]
        if machines:
            file = self._table("machines", "what,number,value", machines)
            yield _line("events", _text(file), "machines that are themselves")
        whole = all(map(_has_whole_cores, run.pools))
        for pool in run.pools:
            yield f"\n[pools.{_key(pool.terms.name)}]"
            yield from self._pool(pool, run.terms, whole=whole)
            if len(run.pools) > 1:
                yield _line("kind", _text(pool.kind), "the trial of a bag is for all pools of one")
        yield f"\n[bags.{key_of(run.terms.name)}]"
        yield from self._bag(run)
        if whole:
            yield from _needs(run.terms.needs)

    # pools

    def _pool(self, pool: MeasuredPool, terms: Terms, *, whole: bool) -> Iterator[str]:
        if pool.machines:
            yield _line("machines", pool.machines, "that came by themselves")
        if pool.terms.max:
            yield _line("max", pool.terms.max, "leased at once")
        yield from _size(pool, terms.needs, whole=whole)
        yield from _price(pool.terms.billing)
        yield from _terms(pool)
        yield _line("calls", '"worker"', "also while it is busy, as real workers do")
        if pool.startup_us:
            law = self._of_few(pool.startup_us, f"{pool.terms.name}-startup", "startup_s")
            yield _line("startup", law, "as measured, from wanting a machine to its first call")
        if any(pool.ending_us):
            law = self._of_few(pool.ending_us, f"{pool.terms.name}-ending", "ending_s")
            yield _line("ending", law, "as measured, from giving it back until it was gone")
        if pool.never_up_us:
            yield from self._never_up(pool)
        yield from _life(pool.lifetimes)
        if pool.speeds != [1.0] * len(pool.speeds):
            yield _line("speed", _each(pool.speeds), "as its machines told")
        if pool.slope != 1:
            yield _line("slope", f"{pool.slope:.6g}", "run times, beyond what the speeds say")
        if _differ(pool.paces):
            yield _line("spread", _each(pool.paces), "some machines are slower than others")
        if pool.slot.between_us or pool.slot.scatter_us:
            yield _line("offset", _offset(pool), "between two tasks on one slot")
        if terms.policy is not None or pool.says is not None:
            yield from _owned(pool)

    def _never_up(self, pool: MeasuredPool) -> Iterator[str]:
        missed = pool.never_up_us
        leases = len(missed) + len(pool.lifetimes)
        note = f"{len(missed)} of {count(leases, 'lease')} were gone before their first call"
        yield _line("never_up.share", f"{len(missed) / leases:.6g}", note)
        yield f"never_up.after = {self._law(missed, f'{pool.terms.name}-never-up', 'gone_s')}"

    def _of_few(self, values_us: Sequence[int], name: str, column: str) -> str:
        """The fewer there are, the further may the next one lie from all of them."""
        count = len(values_us)
        if count > INLINE:
            return self._law(values_us, name, column)
        low = round(min(values_us) * count / (count + 1))
        high = round(max(values_us) * (count + 2) / (count + 1))
        return f'{{ law = "uniform", from = {_seconds(low)}, to = {_seconds(high)} }}'

    def _law(self, values_us: Sequence[int], name: str, column: str) -> str:
        seconds = list(map(_seconds, values_us))
        if len(seconds) <= INLINE:
            return f'{{ law = "empirical", values = [{", ".join(seconds)}] }}'
        file = self._table(name, column, seconds)
        return f'{{ law = "empirical", file = {_text(file)}, column = "{column}" }}'

    def _table(self, name: str, head: str, rows: Iterable[str]) -> str:
        """The name of its file."""
        file = f"{self._stem}-{re.sub(r'[^A-Za-z0-9_.-]+', '-', name)}.csv"
        self.tables[file] = "\n".join([head, *rows]) + "\n"
        return file

    # the bag

    def _bag(self, run: MeasuredRun) -> Iterator[str]:
        terms = run.terms
        if key_of(terms.name) != terms.name:
            yield _line("name", _text(terms.name))
        yield _line("tasks", terms.count)
        yield from self._lengths(run)
        if run.failing:
            share = f"{len(run.failing) / len(run.run_us):.6g}"
            yield f"failing.known = {_numbers(run.failing)}"
            yield _line("failing.tasks", share, "of those without a length of their own")
        if run.failing_attempts:
            yield _line("failing.attempts", f"{run.failing_attempts:.6g}", "of the other tasks")
        yield from _rules(terms)

    def _lengths(self, run: MeasuredRun) -> Iterator[str]:
        """Task i has its own; those that have none yet, and more of them, are drawn."""
        own, count = run.run_us, run.terms.count
        law = self._law(list(own.values()), "times", "run_s")
        if len(own) == count <= INLINE:
            yield f"lengths = [{', '.join(_seconds(own[task]) for task in range(count))}]"
        else:
            told = (_seconds(own[task]) if task in own else "" for task in range(count))
            file = self._table("tasks", "task,run_s", map("{},{}".format, range(count), told))
            yield f'lengths = {{ file = {_text(file)}, column = "run_s" }}'
        yield f"length = {law}"


def key_of(name: str) -> str:
    """By which `--set bags.KEY.budget=…` finds it."""
    return name if _BARE.fullmatch(name) else "bag"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _owned(pool: MeasuredPool) -> Iterator[str]:
    """What policies look at; of a run without any it says nothing."""
    if pool.owner:
        yield _line("owner", _text(pool.owner), "of its machines")
    if pool.cpu:
        yield _line("cpu", _text(pool.cpu), "what its processors call themselves")
    if pool.says is not None:
        said = [f"{name} = {_text(text)}" for name, text in texts(pool.says).items()]
        yield _line("says", f"{{ {', '.join(said)} }}", "the owner, of the tasks they take")


def _text(text: str) -> str:
    """JSON's strings are TOML's, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _seconds(us: int) -> str:
    return f"{us / SECOND:.6f}"


def _numbers(tasks: Sequence[int]) -> str:
    """Many of them on lines of their own."""
    return "[" + "\n  ".join(wrap(", ".join(map(str, tasks)), 96)) + "]"


def _line(key: str, value: Any, note: str = "") -> str:
    line = f"{key} = {value}"
    return f"{line:<{NOTE_AT}} # {note}" if note else line


def _machines(pool: MeasuredPool) -> Iterator[str]:
    """In which they differ: the second one of the run is the second one here."""
    for name, values in (("speed", pool.speeds), ("spread", pool.paces)):
        if _differ(values):
            for number, value in enumerate(values):
                yield f"{name}/{pool.terms.name},{number},{value:.6g}"


def _differ(values: Sequence[float]) -> bool:
    return len(set(values)) > 1


def _each(values: Sequence[float]) -> str:
    """A number for all machines, or those from which the next one has its own."""
    if not _differ(values):
        return f"{values[0]:.6g}"
    return f'{{ law = "empirical", values = [{", ".join(f"{value:.6g}" for value in values)}] }}'


def _offset(pool: MeasuredPool) -> str:
    """A fast machine does in less time what a scenario says; this was measured as it passed."""
    speed = median(pool.speeds) if pool.speeds else 1.0
    values = [_seconds(round(speed * (pool.slot.between_us + us))) for us in pool.slot.scatter_us]
    if not values:
        return _seconds(round(speed * pool.slot.between_us))
    return f'{{ law = "empirical", values = [{", ".join(values)}] }}'


def _size(pool: MeasuredPool, needs: Amounts, *, whole: bool) -> Iterator[str]:
    """What the tasks need of it. A scenario knows whole cores alone: of parts of them, it is told
    how many tasks fit."""
    if not whole:
        yield _line("cores", pool.slots, "so many tasks fit on a machine")
        return
    yield _line("cores", pool.capacity["cores"] // THOUSANDTHS)
    for name in needs:
        if name in (*BYTES, "gpus"):
            yield _line(name, _amount(name, pool.capacity.get(name, 0)))
        elif name != "cores":
            yield _line(f"has.{_key(name)}", _amount(name, pool.capacity.get(name, 0)))


def _amount(name: str, amount: int) -> str:
    return f"{amount}" if name in BYTES else f"{amount / THOUSANDTHS:g}"


def _has_whole_cores(pool: MeasuredPool) -> bool:
    cores = pool.capacity.get("cores", 0)
    return cores > 0 and not cores % THOUSANDTHS


def _price(billing: Billing) -> Iterator[str]:
    if billing.price:
        written = show_price(billing.quoted())
        yield _line("price", _text(written))
        if billing.by_result:
            yield _line("billing", '"per_result"')
            yield _line("pays", _text(billing.pays))
        if billing.unit_us != (1 if billing.by_result else price_unit_us(written)):
            yield _line("unit", _text(show_duration(billing.unit_us)), "billed whole")
        if billing.minimum_us:
            yield _line("minimum", _text(show_duration(billing.minimum_us)))


def _terms(measured: MeasuredPool) -> Iterator[str]:
    """Where they are not what a scenario takes for granted. Those who lend machines tell of their
    deaths: lifetimes are until a death was known, and no silence comes behind them."""
    pool = measured.terms
    keys = {"lease": pool.max, "silent_after": measured.machines, "min_timeout": True}
    for key in (key for key, counts in keys.items() if counts):
        us = getattr(pool, f"{key}_us")
        if us != getattr(_DEFAULT, f"{key}_us"):
            yield _line(key, _text(show_duration(us)))
    if pool.late_results is not _DEFAULT.late_results:
        yield _line("late_results", _text(pool.late_results))
    if not pool.reliable:
        yield _line("reliable", "false")


def _life(lifetimes: list[Lifetime]) -> Iterator[str]:
    """Few deaths tell only how often they come; more of them, by which law."""
    died = [life.us for life in lifetimes if life.died]
    if died:
        law = _fitted(lifetimes) if len(set(died)) >= DEATHS else _constant_rate(lifetimes)
        note = f"{count(len(died), 'death')} of {count(len(lifetimes), 'machine')}"
        yield _line("up", law, note)


def _constant_rate(lifetimes: list[Lifetime]) -> str:
    mean_us = sum(life.us for life in lifetimes) / sum(life.died for life in lifetimes)
    return f'{{ law = "exponential", mean = {max(mean_us, 1) / SECOND:.6f} }}'


def _fitted(lifetimes: list[Lifetime]) -> str:
    """The best law by Akaike's criterion; those that were given back count as longer."""
    from tailrace.simulation.fitting import best_fit

    seconds = [max(life.us, 1) / SECOND for life in lifetimes]
    fit = best_fit(seconds, [not life.died for life in lifetimes])
    law: Any = fit.law
    if fit.family == "exponential":
        return f'{{ law = "exponential", mean = {law.scale:.6g} }}'
    keys = ("mu", "sigma") if fit.family == "lognormal" else ("shape", "scale")
    said = ", ".join(f"{key} = {getattr(law, key):.6g}" for key in keys)
    return f'{{ law = "{fit.family}", {said} }}'


def _needs(needs: Amounts) -> Iterator[str]:
    if needs != ONE_CORE:
        for name, amount in needs.items():
            yield f"needs.{_key(name)} = {_amount(name, amount)}"


def _rules(terms: Terms) -> Iterator[str]:
    """Of its bag file, what a scenario knows."""
    yield _line("trial", _text(show_duration(terms.trial_us)), "the first task runs alone so long")
    for key in Retries.__struct_fields__:
        if getattr(terms.retries, key) != getattr(Retries(), key):
            yield _line(f"retries.{key}", getattr(terms.retries, key))
    amounts = ", ".join(_text(show_money(unit, sum_)) for unit, sum_ in terms.budget.items())
    if amounts:
        yield _line("budget", f"[{amounts}]" if len(terms.budget) > 1 else amounts)
    for key in ("deadline", "timeout"):
        us = getattr(terms, f"{key}_us")
        if us is not None:
            yield _line(key, _text(show_duration(us)))
    if terms.limits.time_us is not None:
        yield from _time_limit(terms.limits.time_us, terms.growth)
    if terms.max_failures is not None:
        yield _line("max_failures", terms.max_failures)
    if terms.most_running is not None:
        yield _line("max_running", terms.most_running)
    if terms.last:
        yield _line("last", "true", "the last task waits for all others: `then`")
    yield from _strategies(terms)
    yield from _policy(terms)


def _time_limit(limit_us: int, growth: Growth | None) -> Iterator[str]:
    """Of memory and disk a simulation knows only what tasks need."""
    yield _line("limits.time", _text(show_duration(limit_us)))
    if growth is not None and "time" in growth.grow:
        most_us = growth.most.get("time")
        most = "" if most_us is None else f" up to {show_duration(most_us)}"
        yield _line("on_over_limit.time", _text(f"x{growth.factor:.12g}{most}"))


def _strategies(terms: Terms) -> Iterator[str]:
    if terms.matching != Strategy("fcfs"):
        yield _line("matching", _strategy(terms.matching))
    if terms.replication is not None:
        yield _line("replication", _strategy(terms.replication))
    if terms.round_us:
        yield _line("round", _text(show_duration(terms.round_us)))


def _policy(terms: Terms) -> Iterator[str]:
    """Hosts of a simulation have other names; and which pools it used, the run has shown."""
    policy = terms.policy or BagPolicy()
    for key in ("priority", "tasks_per_host", "max_attempts"):
        if getattr(policy.plain, key) is not None:
            yield _line(key, getattr(policy.plain, key))
    if terms.weight != 1:
        yield _line("weight", terms.weight)
    for name, field in EXPRESSIONS.items():
        if getattr(policy.own, field) is not None:
            yield _line(f"policy.{name}", _text(getattr(policy.own, field)))
    if terms.tail_below is not None:
        yield _line("policy.tail_below", terms.tail_below)
    if terms.tail_stays:
        yield _line("policy.tail_stays", "true")
    if terms.losers_run_on:
        yield _line("policy.losers", _text(RUN_ON))


def _strategy(strategy: Strategy) -> str:
    if not strategy.options:
        return _text(strategy.name)
    options = "".join(f", {key} = {_value(value)}" for key, value in strategy.options.items())
    return f"{{ strategy = {_text(strategy.name)}{options} }}"


def _value(value: int | float | str | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else f"{value}"
