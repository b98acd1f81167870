"""`--plot` of a frontier, as the picture of `report.choices`; if it is HTML, in a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailrace.cli.planning.marking import SAID, marks_of
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.planning.frontier import Frontier, Point
    from tailrace.report.choices import Place

SURE = 1.96


def check(path: Path) -> None:
    from tailrace.report.choices import KINDS

    if path.suffix.lower() not in KINDS:
        remedy = f"its name ends with {', '.join(KINDS)}, as in --plot frontier.png"
        raise BadInput(f"--plot {path}: no picture of this kind is drawn", remedy=remedy)


def draw(frontier: Frontier, bests: dict[str, Point], path: Path) -> None:
    from tailrace.report import choices

    places = [_place(point, bests) for point in frontier.points]
    if path.suffix.lower() == ".html":
        from tailrace.report.choicespage import page

        path.write_text(page(places), encoding="utf-8")
    else:
        choices.draw(places, path)


def _place(point: Point, bests: dict[str, Point]) -> Place:
    from tailrace.report.choices import Place

    one = point.estimate
    return Place(
        one.tail_makespan.mean, one.cost_per_task.mean,
        SURE * (one.tail_makespan.se or 0.0), SURE * (one.cost_per_task.se or 0.0),
        point.efficient, str(point.strategy),
        ", ".join(SAID[name] for name in marks_of(point, bests)),
    )  # fmt: skip
