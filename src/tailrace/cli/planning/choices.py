"""A frontier as people see it: a table of choices, and a plot in the terminal."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from tailrace.cli import screen
from tailrace.cli.planning.amounts import seconds
from tailrace.cli.planning.marking import SAID, marks_of
from tailrace.cli.planning.scatter import Dot, scatter

if TYPE_CHECKING:
    from tailrace.planning.estimate import Spread
    from tailrace.planning.frontier import Frontier, Point

HEAD = ("tail", "±", "whole bag", "cents a task", "±", "N", "T", "D", "Mr", "used", "queue",
        "best for")  # fmt: skip
SURE = 1.96
MOST_ROWS = 16
TINY = 1e-9
NEAR = 1.3  # times the slowest and the dearest efficient one is still drawn
HIGH, NARROW, WIDE = 16, 40, 72


def show(frontier: Frontier, bests: dict[str, Point], *, plot: bool) -> None:
    efficient = frontier.efficient()
    told = f"{len(efficient)} of {len(frontier.points):,} strategies are efficient"
    click.echo(f"{told}: none other is faster and no dearer, or cheaper and no slower.")
    rows = [_row(point, bests) for point in _some(efficient, bests)]
    screen.print_table(screen.table(HEAD, rows, right=HEAD[:-1]))
    click.echo("Times are in seconds; the tail begins with fewer tasks left than hosts; ± is 95 %.")
    if len(rows) < len(efficient):
        click.echo(f"{len(efficient) - len(rows)} more lie between these; --json has them all.")
    unsure = sum(not point.sure for point in efficient)
    if unsure:
        click.echo(
            f"{unsure} of them lie so near to others that more --repetitions may tell better."
        )
    if plot:
        click.echo("")
        for line in _plot(frontier, bests):
            click.echo(line)


def _some(efficient: list[Point], bests: dict[str, Point]) -> list[Point]:
    """The best, and of the others those furthest from what is shown already."""
    if len(efficient) <= MOST_ROWS:
        return efficient
    shown = dict.fromkeys(n for n, one in enumerate(efficient) if one in bests.values())
    costs = [math.log(one.estimate.cost_per_task.mean + TINY) for one in efficient]
    times = [math.log(one.estimate.tail_makespan.mean + TINY) for one in efficient]
    while len(shown) < MOST_ROWS:
        gaps = [
            min((abs(costs[n] - costs[m]) + abs(times[n] - times[m]) for m in shown), default=0.0)
            for n in range(len(efficient))
        ]
        shown[gaps.index(max(gaps))] = None
    return [efficient[n] for n in sorted(shown)]


def _half(spread: Spread, form: Callable[[float], str]) -> str:
    return "–" if spread.se is None else form(SURE * spread.se)


def _cents(value: float) -> str:
    return f"{value:.3f}" if value >= 0.1 or not value else f"{value:.3g}"


def _row(point: Point, bests: dict[str, Point]) -> tuple[object, ...]:
    one, strategy = point.estimate, point.strategy
    return (
        seconds(one.tail_makespan.mean), _half(one.tail_makespan, seconds),
        seconds(one.makespan.mean),
        _cents(one.cost_per_task.mean), _half(one.cost_per_task, _cents),
        "inf" if strategy.n is None else strategy.n, seconds(strategy.t_s),
        seconds(strategy.d_s), f"{strategy.mr:g}", f"{one.used_mr.mean:.2g}",
        f"{one.reliable_queue_max.mean:.1f}",
        ", ".join(SAID[name] for name in marks_of(point, bests)),
    )  # fmt: skip


def _plot(frontier: Frontier, bests: dict[str, Point]) -> Iterator[str]:
    shown = _near(frontier)
    order = sorted(shown, key=lambda point: (point.efficient, point in bests.values()))
    dots = [
        Dot(one.estimate.tail_makespan.mean, one.estimate.cost_per_task.mean, _mark(one, bests))
        for one in order
    ]
    columns = os.get_terminal_size().columns - 12 if sys.stdout.isatty() else WIDE
    wide = min(max(columns, NARROW), WIDE)
    yield from scatter(dots, wide, HIGH, "tail makespan (s)", "cents a task")
    left = len(frontier.points) - len(shown)
    beside = f"; {left:,} slow or dear ones lie outside" if left else ""
    yield f"· any strategy   o efficient   * best for something{beside}"


def _mark(point: Point, bests: dict[str, Point]) -> str:
    if point in bests.values():
        return "*"
    return "o" if point.efficient else "·"


def _near(frontier: Frontier) -> list[Point]:
    """The efficient ones, and what lies not far beyond them."""
    efficient = frontier.efficient()
    slow = max(one.estimate.tail_makespan.mean for one in efficient)
    dear = max(one.estimate.cost_per_task.mean for one in efficient)
    return [
        one for one in frontier.points
        if one.estimate.tail_makespan.mean <= NEAR * slow
        and one.estimate.cost_per_task.mean <= NEAR * dear
    ]  # fmt: skip
