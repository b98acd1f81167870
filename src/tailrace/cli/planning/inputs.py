"""The numbers that an estimate is made of: as options of its commands, or from attempts that were
seen, each in place of what is not said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from tailrace.cli.planning.amounts import Cost, Seconds
from tailrace.cli.servers.reached import server_option
from tailrace.errors import BadInput

if TYPE_CHECKING:
    from tailrace.cli.planning.seen import Given

F = TypeVar("F", bound=Callable[..., Any])

MODES = ("paper", "terms")
PATIENCE = 4  # T_ur: the time-out of an attempt before the tail


class Inputs(msgspec.Struct, frozen=True):
    source: str | None
    server: str | None
    tasks: int | None
    unreliable: int | None
    turnaround: Path | None
    reliability: float | None
    t_ur: float | None
    t_r: float | None
    c_ur: float | None
    c_r: float | None
    throughput_deadline: float | None
    mode: str | None
    like: str | None
    method: str
    repetitions: int
    seed: int


_OPTIONS = (
    click.option(
        "--from", "source", metavar="BAG|FOLDER|FILE.csv",
        help="Attempts that were seen: of a bag that has run or runs, or of a table with the "
        "columns sent_s, turnaround_s, pool, outcome. What is said beside it comes first.",
    ),
    click.option(
        "--like", metavar="BAG|FOLDER|FILE.csv",
        help="Another run: the shape of its turnarounds, scaled to the mean of this bag (or to "
        "--t-ur), stands in until this bag's own results outweigh it.",
    ),
    click.option(
        "--method", default="measured", show_default=True, metavar="measured|paper|NAME",
        help="How turnarounds and the share that returns follow from attempts; paper: as in "
        "ExPERT; NAME: of a package of yours.",
    ),
    click.option("--tasks", type=int, metavar="N", help="Tasks of the bag."),
    click.option("--unreliable", type=int, metavar="N", help="Unreliable hosts."),
    click.option(
        "--turnaround", type=click.Path(path_type=Path), metavar="FILE.csv",
        help="Its column turnaround_s: how long attempts on them took that came back, in seconds; "
        "drawn from with replacement.",
    ),
    click.option(
        "--reliability", type=float, metavar="SHARE",
        help="The share of attempts on them that comes back at all; default: 1, or as it was seen.",
    ),
    click.option(
        "--t-ur", type=Seconds(), metavar="TIME",
        help="What a result of theirs is paid for; default: the mean turnaround.",
    ),
    click.option(
        "--t-r", type=Seconds(), metavar="TIME",
        help="How long a reliable host takes for a task; default: T_ur, or as it was seen.",
    ),
    click.option(
        "--c-ur", type=Cost(), metavar="COST",
        help="Of an unreliable host, in cents per second; also 34c/h or 0.01USD/h. Default: 0, or "
        "the price of the pool.",
    ),
    click.option(
        "--c-r", type=Cost(), metavar="COST", help="The same of a reliable host."
    ),
    click.option(
        "--throughput-deadline", type=Seconds(), metavar="TIME",
        help=f"Time-out of an attempt before the tail; default: {PATIENCE} T_ur.",
    ),
    click.option(
        "--mode", type=click.Choice(MODES),
        help="paper: a result costs what its host costs in T_ur or T_r, failures are known by "
        "their time-outs, late results are ignored, losers run on. terms: as the pools of the bag "
        "do all that, with their leases, units and start-up. Default: terms where they are known.",
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Of all that is drawn."),
)  # fmt: skip


def options(repetitions: int) -> Callable[[F], F]:
    many = click.option(
        "--repetitions", type=int, default=repetitions, show_default=True, metavar="N",
        help="Runs of each strategy.",
    )  # fmt: skip

    def decorated(function: F) -> F:
        for option in reversed((*_OPTIONS, many, server_option)):
            function = option(function)
        return function

    return decorated


def given(inputs: Inputs) -> Given:
    """BadInput where something is neither said nor seen."""
    from tailrace.cli.planning.methods import load
    from tailrace.cli.planning.seen import of_attempts, of_numbers, of_others

    load(inputs.method)
    others = "--from" if inputs.source is not None else "--like"
    if inputs.turnaround is not None and (inputs.source is not None or inputs.like is not None):
        raise BadInput(
            f"--turnaround and {others} both say how long attempts take",
            remedy="Leave one of them out.",
        )
    found: Given
    if inputs.source is not None:
        found = of_attempts(inputs)
    elif inputs.like is not None:
        found = of_others(inputs)
    else:
        path = required(inputs.turnaround, "--turnaround", "times.csv")
        found = of_numbers(path, inputs.method)
    return found.with_said(inputs)


T = TypeVar("T")


def required(value: T | None, flag: str, example: str) -> T:
    if value is None:
        raise BadInput(f"{flag} is not given", remedy=f"For example: {flag} {example}")
    return value
