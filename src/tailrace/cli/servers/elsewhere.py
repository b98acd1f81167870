"""`tailrace run --server`: a bag handed to a server, followed to its end, its outputs fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailrace.bag.bag import Bag
from tailrace.cli.commands.watch import follow
from tailrace.cli.servers import submitting
from tailrace.cli.servers.fetching import fetch
from tailrace.cli.servers.remote import Remote
from tailrace.errors import BadInput

OF_THIS_MACHINE = ("cores", "memory", "price", "port", "detach", "report", "as_json")


def run_there(bag: Bag, options: dict[str, Any]) -> int:
    _refuse_flags(options)
    quiet = options["quiet"]
    owner = submitting.server(options["server"])
    submitted, sent = submitting.submit(owner, bag, options)
    if not quiet:
        submitting.tell(submitted, owner, sent, quiet=False, as_json=False)
    here = Remote(owner)
    code = follow(here, here.bag(submitted.bag), quiet=quiet)
    if sent is not None and not owner.pid:
        found = fetch(owner, submitted.bag, Path(bag.spec.folder))
        if not quiet:
            click.echo(found.told(submitted.bag))
    return code


def _refuse_flags(options: dict[str, Any]) -> None:
    given = [name for name in OF_THIS_MACHINE if options[name]]
    if given:
        flag = given[0].removeprefix("as_")
        raise BadInput(
            f"--{flag} is of a run on this machine, and --server names another",
            remedy="Leave one of them out.",
        )
