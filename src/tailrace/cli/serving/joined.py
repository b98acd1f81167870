"""How a token is used, told when it is made."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from tailrace.cli.serving.office import Office
from tailrace.server.people.principals import Kind
from tailrace.server.people.secretfile import keep
from tailrace.server.tables.lock import Owner
from tailrace.worker.joining import Join, parse

ALONE = (  # where the server will listen is not known yet
    "No server runs here now. Made while one runs, a token comes as a whole join text; this "
    "one is used with --server URL and TAILRACE_TOKEN."
)
WATCHES = (
    "Prometheus reads it from the file that `credentials_file` of its `authorization` names, and "
    "the figures from\n  {url}/metrics"
)


def tell_how_to_join(
    office: Office, kind: Kind, name: str, secret: str, write: Path | None
) -> None:
    if office.server is None or not office.server.elsewhere:
        _tell_token(kind, name, secret, write)
        click.echo(ALONE)
        return
    if kind is Kind.METRICS:  # who watches speaks HTTP, and knows no join text
        _tell_token(kind, name, secret, write)
        click.echo(WATCHES.format(url=parse(office.server.elsewhere).url))
        return
    join = parse(office.server.elsewhere)._replace(token=secret)
    if write is not None:
        keep(write, join.text())
        click.echo(f"The join text of {kind} {name} is in {write}, which only you can read.")
    else:
        click.echo(f"The join text of {kind} {name}, shown this once:\n  {join.text()}")
    if kind is Kind.POOL:
        which = "A machine" if write is None else "A machine that has this file"
        click.echo(f"{which} joins by this line:\n  {line(office.server, join, write)}")
    else:
        click.echo("Its owner keeps it with `tailrace login`, and submits from then on.")


def _tell_token(kind: Kind, name: str, secret: str, write: Path | None) -> None:
    if write is not None:
        keep(write, secret)
        click.echo(f"The token of {kind} {name} is in {write}, which only you can read.")
    else:
        click.echo(f"The token of {kind} {name}, shown this once:\n  {secret}")


def line(server: Owner, join: Join, written: Path | None) -> str:
    """One line: the worker is fetched, from this very server, and started. The join text stands
    in the environment, or in its file."""
    pin = f"-k --pinnedpubkey {shlex.quote(server.key_pin)} " if server.key_pin else ""
    fetch = f"curl -fsS {pin}-o worker.pyz {join.url}/worker.pyz"
    if written is not None:
        return f"{fetch} && python3 worker.pyz --join {shlex.quote(str(written))}"
    return f"{fetch} && TAILRACE_JOIN={shlex.quote(join.text())} python3 worker.pyz"
