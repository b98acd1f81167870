"""`tailrace config`: the settings, and where each comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from tailrace.bag.tables import near
from tailrace.cli import screen, settings
from tailrace.cli.pools.poolsfile import Described, describe
from tailrace.cli.setting import SETTINGS
from tailrace.errors import BadInput


@click.command(epilog="Examples: `tailrace config` · `tailrace config cores`")
@click.argument("name", required=False)
@click.option("--bag-file", type=click.Path(path_type=Path), help="With [settings] of this bag.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(name: str | None, bag_file: Path | None, as_json: bool) -> int:
    """Show the settings and where each comes from.

    A flag stands above the environment (TAILRACE_CORES, …), that above [settings] of the bag file,
    the nearest tailrace.toml upwards, and your own file. With NAME, its value alone.
    """
    found = settings.gather({}, Path.cwd(), bag_file)
    if name is not None:
        click.echo(_one(found, name))
    elif as_json:
        told = {
            key: {"value": _plain(key, given.value), "from": given.origin}
            for key, given in found.items()
        }
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        _show(found)
    return 0


def _plain(name: str, value: Any) -> Any:
    """Pools in words, a URL without its password; all else is plain already."""
    if name == "store":
        return SETTINGS[name].show(value)
    if not isinstance(value, dict):
        return value
    return {name: describe(pool) for name, pool in value.items()}


def _one(found: settings.Layer, name: str) -> str:
    pool = found[settings.POOLS].value.get(name.removeprefix("pools."))
    if name.startswith("pools.") and pool is not None:
        return describe(pool)
    if name not in SETTINGS:
        known = ", ".join(SETTINGS)
        remedy = f"There are: {known}{near(name, list(SETTINGS))}"
        raise BadInput(f"there is no setting {name!r}", remedy=remedy)
    return SETTINGS[name].show(found[name].value)


def _what(pool: Described) -> str:
    return "a pool of this machine" if pool.commands is None else "a pool of machines elsewhere"


def _show(found: settings.Layer) -> None:
    rows = [
        (name, setting.show(found[name].value), found[name].origin, setting.about)
        for name, setting in SETTINGS.items()
    ]
    pools = found[settings.POOLS]
    rows += [
        (f"pools.{name}", describe(pool), pools.origin, _what(pool))
        for name, pool in pools.value.items()
    ]
    screen.print_table(screen.table(("setting", "value", "from", "what it is"), rows))
    read = settings.files(Path.cwd())
    click.echo(f"\nFiles read: {', '.join(map(str, read)) or 'none'}.")
    click.echo(f"Yours would be {settings.user_file()}; a folder's is {settings.PROJECT}.")
    click.echo(f"Pools may have a file of their own beside each, {settings.POOLS_FILE}.")
