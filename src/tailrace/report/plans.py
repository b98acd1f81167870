"""What the tail of a bag was planned to come to, beside what it came to."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.report import words
from tailrace.report.html import Html, join, table, tag
from tailrace.report.record import PlanRecord, Record

HEAD = ("planned", "tasks left", "how they are sent again", "time from then", "9 of 10 within",
        "came to", "cost from then", "9 of 10 within", "came to")  # fmt: skip


def plans(record: Record, cost: Mapping[str, int]) -> Html:
    """`cost`: of the whole bag, by currency."""
    if not record.plans:
        return Html("")
    rows = [_row(plan, record, cost) for plan in record.plans]
    return join([tag("h2", "Plans of the tail"), table(HEAD, rows, "nnt")])


def _row(plan: PlanRecord, record: Record, cost: Mapping[str, int]) -> tuple[object, ...]:
    lasted_us = None if record.ended_us is None else record.ended_us - plan.at_us
    spent = None if record.ended_us is None else cost.get(plan.currency, 0) - plan.spent_micro
    mean, low, high = plan.lasts_us
    price, least, most = ({plan.currency: micros} for micros in plan.costs_micro)
    return (
        words.duration(plan.at_us - record.submitted_us) + " after submission",
        f"{plan.left:,}",
        plan.strategy,
        words.duration(mean),
        f"{words.duration(low)} to {words.duration(high)}",
        "–" if lasted_us is None else words.duration(lasted_us) + _mark(lasted_us, low, high),
        words.money(price),
        f"{words.money(least)} to {words.money(most)}",
        "–" if spent is None else words.money({plan.currency: spent}),
    )


def _mark(value: int, low: int, high: int) -> str:
    return "" if low <= value <= high else " (outside)"
