"""`tailrace plan`: what a bag could cost, how long it could take, and which choice is best."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from tailrace.cli import screen
from tailrace.cli.outputs import check_writable
from tailrace.cli.planning.amounts import BUDGET, Budget, Copies, PerTask, Seconds
from tailrace.cli.planning.inputs import Inputs, given, options
from tailrace.cli.planning.marking import Wish

if TYPE_CHECKING:
    from tailrace.cli.planning.lumping import Lumping
    from tailrace.cli.planning.seen import Given
    from tailrace.planning.estimate import Estimate
    from tailrace.planning.frontier import Frontier, Point

F = TypeVar("F", bound=Callable[..., Any])

UNITS = {
    "makespan": "s", "tail_makespan": "s", "cost_per_task": "cents", "reliable_sent": "attempts",
    "used_mr": "of the unreliable hosts", "reliable_queue_max": "tasks",
}  # fmt: skip


@click.group(
    epilog="Examples: `tailrace plan frontier --tasks 150 --unreliable 50 --turnaround times.csv "
    "--reliability 0.83 --c-r 34c/h` · `tailrace plan choose F.json --prefer product`",
)
def command() -> None:
    """Show what a bag could cost and how long it could take, before it is run.

    Unreliable hosts are cheap, and may never answer; reliable ones always do. In the tail of a bag,
    from when fewer tasks are left than there are unreliable hosts, a strategy says how tasks are
    sent again: N times to unreliable hosts, each T after the last and given up after D, then once
    to a reliable host, of which there are at most Mr times as many.
    """


def _wish_options(function: F) -> F:
    for option in reversed((
        click.option("--prefer", metavar="makespan|cost|product|NAME",
                     help="Choose by this; NAME: of a package of yours."),
        click.option("--budget", type=Budget(), metavar="MONEY", help=f"The fastest within it: "
                     f"{BUDGET}."),
        click.option("--deadline", type=Seconds(), metavar="TIME",
                     help="The cheapest whose bag is done by then."),
        click.option("--utility", metavar="EXPR|MODULE:FUNCTION",
                     help="The least of this: a ClassAd expression over makespan, tail_makespan, "
                     "cost_per_task, cost …, or a function of Python that is given them by name."),
    )):  # fmt: skip
        function = option(function)
    return function


# estimate


@command.command("estimate")
@options(repetitions=1000)
@click.option("--N", "--copies", "n", type=Copies(), required=True, metavar="N",
              help="Attempts on unreliable hosts in the tail; inf: without end.")  # fmt: skip
@click.option("--T", "--resend-after", "t", type=Seconds(), required=True, metavar="TIME",
              help="From one attempt of a task to the next.")  # fmt: skip
@click.option("--D", "--attempt-timeout", "d", type=Seconds(), required=True, metavar="TIME",
              help="Until an attempt is given up.")  # fmt: skip
@click.option("--Mr", "--reliable-ratio", "mr", type=float, default=0.0, metavar="RATIO",
              help="Reliable hosts at once, as a share of the unreliable ones.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON, in seconds and cents.")
def estimate(n: float, t: float, d: float, mr: float, as_json: bool, **said: Any) -> int:
    """Say what one strategy would come to: time, cost, and use of reliable hosts.

    Many runs of the bag are played. In the paper's mode, that of ExPERT, a result costs what its
    host costs in T_ur or T_r, failures cost nothing and are known by their time-outs alone, and
    what was sent is not ended when a result comes from elsewhere. Of a bag that has run all that is
    as its pools do it, unless --mode paper is given.
    """
    from tailrace.cli.planning.compiling import sampled
    from tailrace.planning.strategy import Strategy

    inputs = Inputs(**said)
    known = given(inputs)
    setting = known.setting()
    strategy = Strategy(None if math.isinf(n) else int(n), t, d, mr)
    samples = sampled(setting, [strategy], inputs.repetitions, inputs.seed)
    found = samples.estimates()[0]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
        return 0
    _tell(known)
    _print_estimate(found, f"{strategy}: {inputs.repetitions:,} runs of {setting.tasks:,} tasks")
    return 0


def _tell(known: Given) -> None:
    from tailrace.cli.planning.seen import said_mode

    for line in known.told:
        click.echo(screen.plain(line))
    if known.told:
        click.echo(screen.plain(said_mode(known)))


def _print_estimate(found: Estimate, headline: str) -> None:
    click.echo(headline)
    head = ("figure", "mean", "s.e.", "5 %", "95 %", "")
    rows = []
    for name, unit in UNITS.items():
        one = getattr(found, name)
        spread = (one.mean, one.se, one.p05, one.p95)
        numbers = ["–" if value is None else f"{value:,.4g}" for value in spread]
        rows.append((name.replace("_", " "), *numbers, unit))
    screen.print_table(screen.table(head, rows, right=head[1:5]))


# frontier


@command.command("frontier")
@options(repetitions=100)
@click.option("--mr-max", type=float, metavar="RATIO",
              help="Reliable hosts at once, at most, as a share of the others; default: as many as "
              "the bag's pools lend, or 0.1 where that is not known.")  # fmt: skip
@click.option("--grid", default="paper", show_default=True, metavar="paper|fine|adaptive|NAME",
              help="Which strategies are looked at; NAME: of a package of yours.")  # fmt: skip
@_wish_options
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="F.json",
              help="Keep it, for `tailrace plan choose`.")  # fmt: skip
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE.png|svg|html",
              help="Draw it.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="As JSON, in seconds and cents.")
def frontier(
    mr_max: float | None, grid: str, prefer: str | None, budget: PerTask | None,
    deadline: float | None, utility: str | None, output: Path | None, plot: Path | None,
    as_json: bool, **said: Any,
) -> int:  # fmt: skip
    """Show the choice between cost and time: the strategies that nothing else beats in both."""
    from tailrace.cli.planning import choices, drawing, lumping, marking, saved
    from tailrace.cli.planning.lent import most_ratio
    from tailrace.cli.planning.searching import search_of, searched

    for flag, path in (("--output", output), ("--plot", plot)):
        if path is not None:
            check_writable(flag, path)
    if plot is not None:
        drawing.check(plot)
    inputs = Inputs(**said)
    known = given(inputs)
    setting = known.setting()
    most, search = most_ratio(mr_max, known), search_of(grid)
    found = searched(search, setting, known.t_ur, most, inputs.repetitions, inputs.seed)
    wish = Wish(prefer, budget, deadline, utility)
    if output is not None:
        saved.save(output, found, setting.tasks, setting.cheap.hosts)
    best = marking.bests(found, wish, setting.tasks)
    if plot is not None:
        drawing.draw(found, best, plot)
    one = best["product"]
    lumped = lumping.lumping(known, inputs, one.strategy, one.estimate)
    if as_json:
        click.echo(_json(found, best, known.mode, lumped))
        return 0
    _tell(known)
    choices.show(found, best, plot=True)
    if lumped is not None:
        for line in lumping.told(lumped, one.strategy):
            click.echo(screen.plain(line))
    if any((prefer, budget, deadline is not None, utility)):
        _print_chosen(marking.chosen(found, wish, setting.tasks))
    return 0


def _json(
    found: Frontier, bests: dict[str, Point], mode: str = "", lumped: Lumping | None = None
) -> str:  # fmt: skip
    from tailrace.cli.planning.marking import MARKS
    from tailrace.cli.planning.saved import row

    strategies = [row(point) for point in found.points]
    best = {name: row(bests[name]) if name in bests else None for name in MARKS}
    told: dict[str, object] = {"strategies": strategies, "best": best}
    told |= {"mode": mode} if mode else {}
    told |= {"lumped": lumped} if lumped else {}
    return msgspec.json.format(msgspec.json.encode(told)).decode()


@command.command("choose")
@click.argument("file", type=click.Path(path_type=Path), metavar="F.json")
@_wish_options
@click.option("--json", "as_json", is_flag=True, help="As JSON, in seconds and cents.")
def choose(
    file: Path, prefer: str | None, budget: PerTask | None, deadline: float | None,
    utility: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Choose from a frontier that `tailrace plan frontier -o F.json` has kept."""
    from tailrace.cli.planning import choices, marking, saved

    kept = saved.load(file)
    wish = Wish(prefer, budget, deadline, utility)
    if wish == Wish():
        bests = marking.bests(kept.frontier, wish, kept.tasks)
        if as_json:
            click.echo(_json(kept.frontier, bests))
        else:
            choices.show(kept.frontier, bests, plot=True)
        return 0
    point = marking.chosen(kept.frontier, wish, kept.tasks)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(saved.row(point))).decode())
        return 0
    _print_chosen(point)
    return 0


def _print_chosen(point: Point) -> None:
    from tailrace.cli.planning import replication
    from tailrace.cli.planning.amounts import seconds

    one = point.estimate
    click.echo(
        f"chosen: {point.strategy}: {seconds(one.makespan.mean)} s "
        f"({seconds(one.makespan.p05)} to {seconds(one.makespan.p95)} in 9 of 10 runs), "
        f"{one.cost_per_task.mean:.4g} cents a task"
    )
    for line in replication.told(point.strategy):
        click.echo(f"  {line}")
