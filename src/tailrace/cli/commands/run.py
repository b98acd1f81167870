"""`tailrace run`: a bag on this machine, to its end."""

from __future__ import annotations

from typing import Any

import click

from tailrace.bag.bag import Bag
from tailrace.cli.bags.handed import HandingIn, bag_of, bag_options, note_unheeded


@click.command(
    cls=HandingIn,
    epilog="Examples: `tailrace run bag.toml` · `tailrace run -- python sim.py {1} {2} ::: 1 2 3 "
    "::: a b` · `tailrace run --commands jobs.txt --cores 4` · "
    "`tailrace run --array 1-100%8 job.sh`",
)
@bag_options
@click.option("--again", is_flag=True, help="Do all tasks, also those that have results here.")
@click.option("--keep", is_flag=True, help="Keep results although the program has changed.")
@click.option("--cores", "-j", help="Cores of this machine to use: 4, 50%, or all, the default.")
@click.option("--memory", help="Memory of this machine to use; default: nearly all.")
@click.option("--price", help="What this machine costs: '0.10 USD/h'; default 0.")
@click.option("--port", type=int, help="Port on loopback; default: any that is free.")
@click.option("--dry-run", is_flag=True, help="Show what would run, start nothing.")
@click.option("--server", metavar="URL|FILE", help="Run it on this server, and fetch its outputs.")
@click.option("--detach", is_flag=True, help="Start it in the background, and return.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the end as JSON.")
@click.option(
    "--report/--no-report",
    default=None,
    help="Write the HTML report; default: if long and not quiet.",
)
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], **options: Any) -> int:
    """Run a bag on this machine to its end.

    The bag is a TOML file (see `tailrace init`), words with GNU parallel's `:::`, a file of shell
    commands, or an `sbatch` script as it is. Runs are kept in `.tailrace/` beside it. With --server
    it runs elsewhere: handed in, followed, and its outputs brought here at the end; Ctrl-C leaves
    it running.
    """
    bag = bag_of(words, ctx.obj, options)
    from tailrace.cli.here.starting import prepare, start

    if options["dry_run"]:
        prepare(bag, options)
        return _show(bag, as_json=options["as_json"])
    note_unheeded(bag, options["quiet"])
    if options["server"] is not None:
        from tailrace.cli.servers.elsewhere import run_there

        return run_there(bag, options)
    if options["detach"]:
        from tailrace.cli.here.detached import detach

        prepare(bag, options)
        return detach(bag, options)
    return start(bag, options)


def _show(bag: Bag, *, as_json: bool) -> int:
    from tailrace.bag.overview import describe
    from tailrace.cli.bags.overview import show

    show(describe(bag), as_json=as_json)
    return 0
