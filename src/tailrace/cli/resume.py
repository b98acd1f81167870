"""`tailrace resume`: go on with a bag that was interrupted, paused, stopped or cut off."""

from __future__ import annotations

from typing import Any

import click


@click.command(epilog="Example: `tailrace resume` goes on with the newest unfinished bag.")
@click.argument("bag", required=False)
@click.option("--cores", "-j", type=float, help="Cores of this machine to use; default: all.")
@click.option("--memory", help="Memory of this machine to use; default: nearly all.")
@click.option("--price", help="What this machine costs: '0.10 USD/h'; default: as before.")
@click.option("--port", type=int, help="Port on loopback; default: any that is free.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the end as JSON.")
@click.option("--report/--no-report", default=None, help="Write the HTML report; default: if long.")
def command(bag: str | None, **options: Any) -> int:
    """Go on with a bag: what has a result is not run again."""
    from tailrace.cli import choosing, place
    from tailrace.cli.starting import resume
    from tailrace.server import reading

    folder = place.nearest()
    link = reading.open_store(folder)
    try:
        facts = choosing.choose_unfinished(link, bag)
    finally:
        link.close()
    return resume(folder, facts.bag, options)
