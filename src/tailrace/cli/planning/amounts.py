"""Costs, times and counts as people type them for a plan."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import click

from tailrace.quantities import duration_us, money, price

CENTS = 100
_CENT_PRICE = re.compile(r"(?P<amount>[0-9.eE+-]+)\s*c(ents?)?\s*/\s*(?P<per>[A-Za-z]+)")
_CENTS = re.compile(r"(?P<amount>[0-9.eE+-]+)\s*c(ents?)?\s*(?P<per_task>/\s*tasks?)?")
COST = "cents per second as a bare number, or 34c/h, or 0.01USD/h"
BUDGET = "20USD or 2000c for the bag, or 0.8c/task"


def seconds(value: float) -> str:
    """Whole ones; of less than a hundred three digits, as tasks may take a moment."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Cost(click.ParamType[float]):
    """In cents per second."""

    name = "cost"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            found = _cents_per_s(text)
        except ValueError:
            self.fail(f"{text!r} is not a cost: write {COST}.", param, ctx)
        return found


def _cents_per_s(text: str) -> float:
    in_cents = _CENT_PRICE.fullmatch(text)
    if in_cents:
        per_us = duration_us(f"1{in_cents['per']}")
        return _amount(in_cents["amount"]) * 1e6 / per_us
    if "/" in text:
        quoted = price(text)
        return quoted.micros * CENTS / quoted.per_us
    return _amount(text)


def _amount(text: str) -> float:
    found = float(text)
    if not (math.isfinite(found) and found >= 0):
        raise ValueError(text)
    return found


class PerTask(NamedTuple):
    """An amount for each task, or one that they share."""

    cents: float
    shared: bool
    said: str

    def per_task(self, tasks: int) -> float:
        return self.cents / tasks if self.shared else self.cents


class Budget(click.ParamType[PerTask]):
    name = "money"

    def convert(self, value: Any, param: Any, ctx: Any) -> PerTask:
        text = str(value).strip()
        in_cents = _CENTS.fullmatch(text)
        try:
            if in_cents is None:
                return PerTask(money(text).micros * CENTS / 1e6, True, text)
            amount = _amount(in_cents["amount"])
        except ValueError:
            self.fail(f"{text!r} is not a budget: write {BUDGET}.", param, ctx)
        return PerTask(amount, not in_cents["per_task"], text)


class Seconds(click.ParamType[float]):
    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        try:
            return duration_us(value) / 1e6
        except ValueError as fault:
            self.fail(f"{fault}; a bare number is seconds.", param, ctx)


class Copies(click.ParamType[float]):
    """N; None: without end."""

    name = "count"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        text = str(value).strip().lower()
        if text in ("inf", "infinity", "∞"):
            return math.inf
        if not text.isdecimal():
            self.fail(f"{value!r} is not a number of attempts: 0, 1, 2 … or inf.", param, ctx)
        return float(text)
