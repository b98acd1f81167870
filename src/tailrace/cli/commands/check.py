"""`tailrace check`: is a bag file right, and what would it run?"""

from __future__ import annotations

from pathlib import Path

import click

from tailrace.errors import BadInput


@click.command(epilog="Examples: `tailrace check bag.toml` · `tailrace check --json`")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(file: Path | None, as_json: bool) -> int:
    """Check a bag file and show what it would run; nothing is started.

    FILE: default `bag.toml`. Exit code 2, with file, line and remedy, when something is wrong.
    """
    from tailrace.bag.bagfile import load_bag_file
    from tailrace.bag.overview import describe
    from tailrace.cli import settings
    from tailrace.cli.bags.believing import believe, try_here
    from tailrace.cli.bags.overview import show
    from tailrace.cli.here.starting import refuse_impossible
    from tailrace.scheduler.strategies import admit

    path = file or Path("bag.toml")
    if file is None and not path.exists():
        remedy = "Name one, or write one with `tailrace init 'python model.py --alpha {alpha}'`."
        raise BadInput("no bag file is named, and there is no bag.toml here", remedy=remedy)
    bag = load_bag_file(path, admit=admit, believe=believe)
    loaded = settings.load({}, Path(bag.spec.folder), path)  # faults would stop the run as well
    refuse_impossible(bag, loaded)
    try_here(bag)
    show(describe(bag), as_json=as_json)
    return 0
