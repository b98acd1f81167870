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
from tailrace.server.people.secretfile import check_new
from tailrace.server.people.tokens import Token, checked_name

KINDS = ("user", "admin", "pool", "metrics")
HEAD = ("token", "kind", "name", "state", "made", "expires", "last used")


class Where:
    """The server's folder, looked for when something is to be done there: `--help` needs none."""

    def __init__(self, given: Path | None) -> None:
        self._given = given

    @property
    def folder(self) -> Path:
        return place.nearest() if self._given is None else self._given.absolute()


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

    A user sees and changes his own bags, an admin all; a pool's token lets machines join, one for
    metrics reads those alone. A token is told once, when it is made; the store keeps its hash.
    Works with and without a server.
    """
    ctx.obj = Where(folder)
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_tokens, as_json=False)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON; moments are microseconds.")
@click.pass_obj
def list_tokens(where: Where, as_json: bool) -> int:
    """List the tokens."""
    with office(where.folder) as desk:
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
@click.option("--user", is_flag=True, help="Sees and changes his own bags.")
@click.option("--admin", is_flag=True, help="Sees and changes all, makes tokens.")
@click.option("--pool", is_flag=True, help="Lets machines join the pool NAME.")
@click.option("--metrics", is_flag=True, help="Reads /metrics, and nothing else.")
@click.option("--trusted", is_flag=True, help="Pickled results of the pool's machines are taken.")
@click.option("--expires", metavar="TIME", help="Holds so long: 30d, 12h; default: until revoked.")
@click.option("--write", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the join text to a new FILE, for you alone, and print none.")  # fmt: skip
@click.pass_obj
def add(
    where: Where,
    /,
    name: str,
    trusted: bool,
    expires: str | None,
    write: Path | None,
    **kinds: bool,
) -> int:
    """Make a token for NAME, and say how it is used. It is shown this once."""
    kind, expires_s = _kind(kinds), _seconds(expires)
    if write is not None:
        check_new(write)
    with office(where.folder) as desk:
        secret = desk.add(kind, checked_name(name), expires_s, trusted=trusted)
        tell_how_to_join(desk, kind, name, secret, write)
    return 0


def _kind(given: dict[str, bool]) -> Kind:
    found = [kind for kind in KINDS if given[kind]]
    if len(found) == 1:
        return Kind(found[0])
    named = " and ".join(f"--{kind}" for kind in found)
    what = f"{named} are given at once" if found else "what is the token for?"
    raise BadInput(what, remedy="Add one of --user, --admin, --pool and --metrics.")


def _seconds(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        seconds = duration_us(text) // 1_000_000
    except ValueError as error:
        raise BadInput(f"--expires: {error}", remedy="Write it as 30d or 12h.") from None
    if seconds < 1:
        remedy = "Write it as 30d or 12h; without --expires it holds until it is revoked."
        raise BadInput(f"--expires {text}: the token would hold for no time", remedy=remedy)
    return seconds


@command.command("revoke")
@click.argument("token", type=int)
@click.pass_obj
def revoke(where: Where, token: int) -> int:
    """Revoke TOKEN, by its number: it holds no more from now on."""
    with office(where.folder) as desk:
        gone = desk.revoke(token)
    click.echo(f"Token {gone.token} of {gone.kind} {gone.name} is revoked.")
    return 0
