"""`tailrace serve`: a server that stays, for many users and machines."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from tailrace.cli import place, settings
from tailrace.cli.serving.logform import FORMS, begin
from tailrace.errors import BadInput
from tailrace.server.tables import storeurl
from tailrace.server.web.door import LOOPBACK, Door, refuse_open

PORT = 8600


@click.command(
    epilog="Examples: `tailrace serve --local` · `tailrace serve --address 0.0.0.0 --tls own` · "
    "`tailrace serve --systemd --address 0.0.0.0 --tls own > tailrace.service`"
)
@click.option("--folder", type=click.Path(path_type=Path), metavar="DIR",
              help="Where its runs live; default: .tailrace here.")  # fmt: skip
@click.option(
    "--address", default=LOOPBACK, metavar="A", help="Where to listen; default: loopback."
)
@click.option("--port", type=int, default=PORT, metavar="P", help=f"Default {PORT}; 0: any free.")
@click.option("--tls", metavar="own|CERT:KEY", help="Encrypt: with a certificate made now, or PEM.")
@click.option("--behind-proxy", is_flag=True, help="A proxy before it speaks TLS.")
@click.option("--url", default="", metavar="URL", help="How others reach it, if not as it listens.")
@click.option("--local", is_flag=True, help="This machine runs tasks, too.")
@click.option("--cores", "-j", help="With --local: cores to use; default: all.")
@click.option("--memory", help="With --local: memory to use; default: nearly all.")
@click.option("--price", help="With --local: what this machine costs: '0.10 USD/h'.")
@click.option("--inherit", is_flag=True, help="With --local: tasks get this whole environment.")
@click.option("--store", metavar="URL", help="Keep runs in this PostgreSQL: postgresql://….")
@click.option("--until-idle", is_flag=True, help="End when no bag runs any more.")
@click.option("--log", "form", type=click.Choice(FORMS), default="plain", help="How to log.")
@click.option("--systemd", is_flag=True, help="Print a unit for systemd, start nothing.")
def command(folder: Path | None, systemd: bool, **options: Any) -> int:
    """Serve until SIGTERM or Ctrl-C: users submit bags, machines join and take tasks.

    Users and machines need tokens: see `tailrace tokens`. What runs goes on when it is started
    again; machines that have joined outlive it and call again. On any address but loopback it
    speaks TLS, or stands behind a proxy that does.
    """
    runs = place.for_run(Path.cwd()) if folder is None else folder.absolute()
    _check(options)
    if systemd:
        from tailrace.cli.serving.unit import unit

        click.echo(unit(runs, options), nl=False)
        return 0
    begin(options["form"])
    door, loaded = _door(options, runs), _settings(options, runs)
    from tailrace.cli.serving.service import serve
    from tailrace.server.serving import Serving

    if door.doubt():
        logging.getLogger("tailrace.serve").warning(door.doubt())
    pools = settings.served_pools(loaded, local=options["local"])
    server = Serving(
        runs, pools, door, journal=loaded.journal, store=loaded.store, notify=loaded.notify,
        retention=loaded.retention, quota=loaded.quota,
        inherits=options["inherit"],
    )  # fmt: skip
    return serve(server, pools, until_idle=options["until_idle"])


def _check(options: dict[str, Any]) -> None:
    guarded = bool(options["tls"]) or options["behind_proxy"]
    refuse_open(options["address"], guarded=guarded)
    _refuse_password(options["store"])
    if options["tls"] and options["behind_proxy"]:
        raise BadInput("--tls and --behind-proxy are given at once", remedy="Give one of them.")
    if options["behind_proxy"] and not options["url"].startswith("https://"):
        remedy = "Give the proxy's address: --url https://HOST[:PORT]."
        raise BadInput("--behind-proxy without the address that others call", remedy=remedy)
    if not 0 <= options["port"] <= 65535:
        raise BadInput(f"--port {options['port']} is not a port", remedy="Give 0 to 65535.")
    if options["url"] and not options["url"].startswith(("https://", "http://")):
        raise BadInput(f"--url {options['url']!r} is no address", remedy="https://HOST[:PORT]")


def _refuse_password(store: str | None) -> None:
    if store is not None and storeurl.is_url(store) and storeurl.StoreUrl(store).has_password:
        raise BadInput(
            "--store: a password on the command line can be read by anybody",
            remedy="Leave it to ~/.pgpass or PGPASSWORD, or write the address as `store` into "
            "tailrace.toml, for you alone.",
        )


def _door(options: dict[str, Any], runs: Path) -> Door:
    from tailrace.server.web.tls import certificate

    shown = certificate(options["tls"], runs) if options["tls"] else None
    return Door(options["address"], options["port"], shown, options["url"])


def _settings(options: dict[str, Any], runs: Path) -> settings.Settings:
    flags = {name: options[name] for name in ("cores", "memory", "price")}
    for name, value in {**flags, "inherit": options["inherit"] or None}.items():
        if value is not None and not options["local"]:
            raise BadInput(f"--{name} without --local", remedy="Add --local: it is about it.")
    return settings.load({**flags, "store": options["store"]}, runs.parent)
