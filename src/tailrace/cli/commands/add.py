"""`tailrace add`: more tasks for a bag that runs, rests, or is finished."""

from __future__ import annotations

from typing import Any

import click

from tailrace.cli import screen
from tailrace.cli.bags.choosing import choose
from tailrace.cli.hints import hint
from tailrace.cli.servers.reached import reached, server_option
from tailrace.report.words import count
from tailrace.scheduler.rows import BagPhase
from tailrace.server.enlarging import Enlarged


class Adding(click.Command):
    """Everything from `:::` on is the user's, not ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        cut = next((at for at, word in enumerate(args) if word.startswith(":::")), len(args))
        ctx.obj, args = args[cut:], args[:cut]
        return super().parse_args(ctx, args)


@click.command(
    cls=Adding,
    epilog="Examples: `tailrace add 3 --set seed=11..20` · `tailrace add 3 bag.toml` · "
    "`tailrace add 3 --commands more.txt` · `tailrace add 3 --array 5-8` · "
    "`tailrace add 3 ::: d e`",
)
@click.argument("bag")
@click.argument("file", required=False, metavar="[BAG.toml] [::: VALUE...]")
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUES", help="Values: 11..20, or 0.1,0.5."
)
@click.option("--commands", metavar="FILE|-", help="More shell commands, one a line.")
@click.option("--array", metavar="5-8", help="More numbers of an array of an sbatch script.")
@click.option("--json", "as_json", is_flag=True, help="Print what was added as JSON.")
@server_option
@click.pass_context
def command(
    ctx: click.Context, /, bag: str, server: str | None, as_json: bool, **options: Any
) -> int:
    """Add tasks to a bag: more values, commands or numbers, or its bag file as it is now.

    BAG is a number or a name. Its tasks keep their numbers and results, the new ones come behind
    them. A task that the bag has already, by its values, is left out; of equal ones that it has
    not, each is added, as `run` does each. With --set the other parameters have all the values they
    have. A server that runs takes them up at once, also when the bag was finished; otherwise
    `tailrace resume` does.
    """
    from tailrace.cli.bags.adding import addition

    given = ("sets", "commands", "array")
    asked = addition(options["file"], ctx.obj, *(options[name] for name in given))
    with reached(server) as here:
        facts = choose(here, bag)
        told, taken = here.add(facts.bag, asked)
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(told).decode())
    else:
        click.echo(_said(told, taken))
    return 0


def _said(told: Enlarged, taken: bool) -> str:
    label = f"bag {told.bag} ({screen.plain(told.name)})"
    there = ""
    if told.there:
        there = f", {told.there:,} {'was' if told.there == 1 else 'were'} there already"
    text = f"{count(told.added, 'new task')} in {label}{there}; it has {told.count:,} now"
    return f"{text}{_what_follows(told, taken)}" if told.added else f"{text}."


def _what_follows(told: Enlarged, taken: bool) -> str:
    resume = f"`{hint(f'resume {told.bag}')}`"
    if told.phase not in (BagPhase.RUNNING, BagPhase.FINISHED):
        return f". It is {told.phase}: {resume} goes on."
    if not taken:
        return f". Nothing runs now: {resume} does them."
    return f". The server that runs does them; `{hint(f'watch {told.bag}')}` follows."
