"""`tailrace login`: the server that commands ask where no other is named."""

from __future__ import annotations

import sys

import click

from tailrace.cli.servers.reached import kept
from tailrace.cli.servers.waiting import insist
from tailrace.errors import BadInput
from tailrace.server.people.secretfile import keep
from tailrace.server.tables.lock import Owner
from tailrace.server.web.api import Me
from tailrace.worker.joining import BadJoin, Join, parse, read


@click.command(epilog="Examples: `tailrace login` (asks for it) · `tailrace login ada.join`")
@click.argument("file", required=False)
@click.option("--forget", is_flag=True, help="Forget the server.")
def command(file: str | None, forget: bool) -> int:
    """Keep the join text an admin gave you, for you alone, after a call that shows that it holds.

    It is read from FILE, which only you may read, or asked for; never from the command line.
    """
    if forget:
        kept().unlink(missing_ok=True)
        click.echo("No server is kept any more.")
        return 0
    join = _join(file)
    owner = Owner(address=join.url, token=join.token, fingerprint=join.fingerprint)
    me: Me = insist(owner, "GET", "/api/v1/me", kind=Me)
    kept().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    keep(kept(), join.text())
    click.echo(f"You are {me.kind} {me.name} at {join.url}; kept in {kept()}.")
    return 0


def _join(file: str | None) -> Join:
    try:
        join = parse(_asked() if file is None else read(file))
    except BadJoin as error:
        remedy = "It is the line that `tailrace tokens add` printed: https://TOKEN@HOST:PORT#…"
        raise BadInput(str(error), remedy=remedy) from None
    if not join.token:
        raise BadInput("the join text holds no token", remedy="Copy the whole line again.")
    return join


def _asked() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Join text", hide_input=True))
    return sys.stdin.readline()
