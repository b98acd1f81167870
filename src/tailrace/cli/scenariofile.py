"""A measured run as a scenario file: readable, to be edited, with long lists in tables beside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tailrace.bag.needs import ONE_CORE, THOUSANDTHS
from tailrace.bag.terms import Retries, Strategy, Terms
from tailrace.pools.terms import HOUR_US, Billing, Pool
from tailrace.quantities import SECOND, show_duration, show_money
from tailrace.report.words import count
from tailrace.server.measuring import Lifetime, MeasuredPool, MeasuredRun

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
        for pool in run.pools:
            yield f"\n[pools.{_key(pool.terms.name)}]"
            yield from self._pool(pool, run.terms)
        yield f"\n[bags.{key_of(run.terms.name)}]"
        yield from self._bag(run)

    # pools

    def _pool(self, pool: MeasuredPool, terms: Terms) -> Iterator[str]:
        if pool.machines:
            yield _line("machines", pool.machines, "that came by themselves")
        if pool.terms.max:
            yield _line("max", pool.terms.max, "leased at once")
        yield from _size(pool, terms)
        yield from _price(pool.terms.billing)
        yield from _terms(pool.terms)
        if pool.startup_us:
            law = self._law(pool.startup_us, f"{pool.terms.name}-startup", "startup_s")
            yield _line("startup", law, "as measured, from wanting a machine to its first call")
        if pool.never_up_us:
            yield from self._never_up(pool)
        yield from _life(pool.lifetimes)
        if pool.slope != 1:
            yield _line("slope", f"{pool.slope:.6g}", "run times beside those of all pools")
        if pool.slot.between_us:
            yield _line("offset", pool.slot.between_us / SECOND, "between two tasks on one slot")

    def _never_up(self, pool: MeasuredPool) -> Iterator[str]:
        missed = pool.never_up_us
        leases = len(missed) + len(pool.lifetimes)
        note = f"{len(missed)} of {count(leases, 'lease')} were gone before their first call"
        yield _line("never_up.share", f"{len(missed) / leases:.6g}", note)
        yield f"never_up.after = {self._law(missed, f'{pool.terms.name}-never-up', 'gone_s')}"

    def _law(self, values_us: Sequence[int], name: str, column: str) -> str:
        seconds = [f"{us / SECOND:.6f}" for us in values_us]
        if len(seconds) <= INLINE:
            return f'{{ law = "empirical", values = [{", ".join(seconds)}] }}'
        file = f"{self._stem}-{re.sub(r'[^A-Za-z0-9_.-]+', '-', name)}.csv"
        self.tables[file] = "\n".join([column, *seconds]) + "\n"
        return f'{{ law = "empirical", file = {_text(file)}, column = "{column}" }}'

    # the bag

    def _bag(self, run: MeasuredRun) -> Iterator[str]:
        terms = run.terms
        if key_of(terms.name) != terms.name:
            yield _line("name", _text(terms.name))
        yield _line("tasks", terms.count)
        yield f"length = {self._law(run.run_us or run.failed_run_us, 'times', 'run_s')}"
        yield _line("draw", '"independent"', '"even": the very tasks that were measured')
        if run.failed_run_us:
            yield _line("failing.tasks", f"{run.failing_tasks:.6g}", "they fail whenever tried")
            yield f"failing.length = {self._law(run.failed_run_us, 'failed', 'run_s')}"
        if run.failing_attempts:
            yield _line("failing.attempts", f"{run.failing_attempts:.6g}", "of the other tasks")
        yield from _rules(terms)


def key_of(name: str) -> str:
    """By which `--set bags.KEY.budget=…` finds it."""
    return name if _BARE.fullmatch(name) else "bag"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """JSON's strings are TOML's, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _line(key: str, value: Any, note: str = "") -> str:
    line = f"{key} = {value}"
    return f"{line:<{NOTE_AT}} # {note}" if note else line


def _size(pool: MeasuredPool, terms: Terms) -> Iterator[str]:
    """Cores, when they alone decide how many tasks fit; else that number."""
    cores = pool.capacity.get("cores", 0)
    if set(terms.needs) == set(ONE_CORE) and not cores % THOUSANDTHS and cores:
        yield _line("cores", cores // THOUSANDTHS)
    else:
        yield _line("cores", pool.slots, "so many tasks fit on a machine")


def _price(billing: Billing) -> Iterator[str]:
    if billing.price:
        per_hour = round(billing.price * HOUR_US / billing.unit_us)
        yield _line("price", _text(f"{show_money(billing.currency, per_hour)}/h"))
        if billing.unit_us != HOUR_US:
            yield _line("unit", _text(show_duration(billing.unit_us)), "billed whole")
        if billing.minimum_us:
            yield _line("minimum", _text(show_duration(billing.minimum_us)))


def _terms(pool: Pool) -> Iterator[str]:
    """Where they are not what a scenario takes for granted."""
    for key in ("lease", "silent_after", "min_timeout"):
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


def _rules(terms: Terms) -> Iterator[str]:
    """Of its bag file, what a scenario knows."""
    yield _line("trial", _text(show_duration(terms.trial_us)), "the first task runs alone so long")
    if set(terms.needs) == set(ONE_CORE) and terms.needs != ONE_CORE:
        yield _line("needs.cores", terms.needs["cores"] / THOUSANDTHS)
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
    if terms.max_failures is not None:
        yield _line("max_failures", terms.max_failures)
    yield from _strategies(terms)


def _strategies(terms: Terms) -> Iterator[str]:
    if terms.matching != Strategy("fcfs"):
        yield _line("matching", _strategy(terms.matching))
    if terms.replication is not None:
        yield _line("replication", _strategy(terms.replication))
    if terms.round_us:
        yield _line("round", _text(show_duration(terms.round_us)))


def _strategy(strategy: Strategy) -> str:
    if not strategy.options:
        return _text(strategy.name)
    options = "".join(f", {key} = {_value(value)}" for key, value in strategy.options.items())
    return f"{{ strategy = {_text(strategy.name)}{options} }}"


def _value(value: int | float | str | bool) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else f"{value}"
