"""A frontier as one HTML file: the picture, and the table of what is efficient."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.report.choices import Place, as_svg
from tailrace.report.document import document
from tailrace.report.html import Html, join, table, tag

HEAD = ("tail makespan (s)", "±", "cents a task", "±", "strategy", "best for")


def page(places: Sequence[Place]) -> str:
    efficient = sorted((one for one in places if one.efficient), key=lambda one: one.seconds)
    told = (
        f"{len(efficient)} of {len(places):,} strategies are efficient: none other is faster and "
        "no dearer, or cheaper and no slower. Intervals are of 95 %."
    )
    body = join([
        tag("h1", "The choice between cost and time"), tag("p", told),
        tag("figure", Html(as_svg(places))), table(HEAD, map(_row, efficient), "nnnn"),
    ])  # fmt: skip
    return document("cost and time – tailrace", body)


def _row(one: Place) -> tuple[object, ...]:
    return (
        f"{one.seconds:,.0f}", f"{one.half_s:,.0f}", f"{one.cents:.3f}", f"{one.half_cents:.3f}",
        one.said, one.best,
    )  # fmt: skip
