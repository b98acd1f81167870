"""`tailrace tokens`: who may call the server."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from tailrace.cli import place, screen
from tailrace.cli.serving.joined import tell_how_to_join
from tailrace.cli.serving.office import office
from tailrace.errors import BadInput
from tailrace.quantities import duration_us
from tailrace.report import words
from tailrace.server.people.principals import Kind
from tailrace.server.people.secretfile import check_writable
from tailrace.server.people.tokens import Token, checked_name

HEAD = ("token", "kind", "name", "state", "made", "expires", "last used")


@click.group(
    invoke_without_command=True,
    epilog="Examples: `tailrace tokens` · `tailrace tokens add ada --user` · "
    "`tailrace tokens add lab --pool` · `tailrace tokens revoke 3`",
)
@click.option("--folder", type=click.Path(path_type=Path), metavar="DIR",
              help="The server's folder of runs; default: the nearest .tailrace.")  # fmt: skip
@click.pass_context
def command(ctx: click.Context, folder: Path | None) -> None:
    """Make, list and revoke tokens: `list` (the default), `add NAME`, `revoke TOKEN`.

    A user sees and changes his own bags, an admin all; a pool's token lets machines join. A token
    is told once, when it is made; the store keeps its hash. Works with and without a server.
    """
    ctx.obj = place.nearest() if folder is None else folder.absolute()
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_tokens, as_json=False)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON; moments are microseconds.")
@click.pass_obj
def list_tokens(folder: Path, as_json: bool) -> int:
    """List the tokens."""
    with office(folder) as desk:
        found = desk.tokens()
    now = time.time_ns() // 1000
    if as_json:
        told = [{**msgspec.to_builtins(one), "state": one.state(now)} for one in found]
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
    elif not found:
        click.echo("There is no token yet. Make one: `tailrace tokens add NAME --user`.")
    else:
        screen.print_table(screen.table(HEAD, [_row(one, now) for one in found], ("token",)))
    return 0


def _row(token: Token, now: int) -> tuple[object, ...]:
    moments = (token.made_us, token.expires_us, token.used_us)
    made, expires, used = ("" if us is None else words.moment(us)[:16] for us in moments)
    kind = f"{token.kind}, trusted" if token.trusted else token.kind
    return (token.token, kind, token.name, token.state(now), made, expires, used)


@command.command("add")
@click.argument("name")
@click.option("--user", "kind", flag_value="user", help="Sees and changes his own bags.")
@click.option("--admin", "kind", flag_value="admin", help="Sees and changes all, makes tokens.")
@click.option("--pool", "kind", flag_value="pool", help="Lets machines join the pool NAME.")
@click.option("--trusted", is_flag=True, help="Pickled results of the pool's machines are taken.")
@click.option("--expires", metavar="TIME", help="Holds so long: 30d, 12h; default: until revoked.")
@click.option("--write", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the join text to FILE, for you alone, and print none.")  # fmt: skip
@click.pass_obj
def add(
    folder: Path,
    name: str,
    kind: str | None,
    trusted: bool,
    expires: str | None,
    write: Path | None,
) -> int:
    """Make a token for NAME, and say how it is used. It is shown this once."""
    if kind is None:
        raise BadInput("what is the token for?", remedy="Add --user, --admin or --pool.")
    if write is not None:
        check_writable(write)
    with office(folder) as desk:
        secret = desk.add(Kind(kind), checked_name(name), _seconds(expires), trusted=trusted)
        tell_how_to_join(desk, Kind(kind), name, secret, write)
    return 0


def _seconds(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return max(duration_us(text) // 1_000_000, 1)
    except ValueError as error:
        raise BadInput(f"--expires: {error}", remedy="Write it as 30d or 12h.") from None


@command.command("revoke")
@click.argument("token", type=int)
@click.pass_obj
def revoke(folder: Path, token: int) -> int:
    """Revoke TOKEN, by its number: it holds no more from now on."""
    with office(folder) as desk:
        gone = desk.revoke(token)
    click.echo(f"Token {gone.token} of {gone.kind} {gone.name} is revoked.")
    return 0
