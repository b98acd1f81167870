"""`tailrace pools check`: one machine of a pool, from its start to its end, step by step.

A small server of its own does it, with a store that goes with it, so that a server that runs here
and its bags are not disturbed.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import click
from msgspec.structs import replace

from tailrace.bag.bag import Bag
from tailrace.bag.bagfile import bag_from_commands
from tailrace.cli import place
from tailrace.errors import BadInput, Exit
from tailrace.quantities import duration_us
from tailrace.report.words import duration
from tailrace.scheduler.events import LeaseState
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.embedded import Embedded
from tailrace.server.pools.command_pool import AnyPool, CommandPool
from tailrace.server.web.door import Door, is_loopback

GLANCE_S = 0.05
END_WITHIN_S = 60.0
LINES = 5  # of its log
STARTED = (LeaseState.STARTING, LeaseState.UP)
UNREACHED = "its machines do not reach the server: see `url`, and how to pass a firewall."
GUESSES = (
    ("fingerprint", "another server answers at that address: is `url` of the pool right?"),
    ("Python 3.9", "name a newer Python of its machines: python = '/opt/python3.11/bin/python3'."),
    ("refused", UNREACHED),
    ("timed out", UNREACHED),
    ("No such file", "its machines do not see this folder: copy {worker} and {join} in `start`."),
)


class Failed(Exception):
    """Says which step did not come about, and why."""


def check_pool(pool: AnyPool, within: str, address: str, port: int) -> int:
    logging.basicConfig(format="tailrace: %(message)s", level=logging.WARNING)
    runs = place.for_run(Path.cwd())
    folder = runs / "check"
    door = _door(runs, address, port)
    one = replace(pool, terms=replace(pool.terms, max=1))
    try:
        server = Embedded(folder, (one,), door=door)
        asyncio.run(_Check(one, server, _seconds(within))())
    except Failed as failure:
        click.echo(f"✗ {failure}", err=True)
        return int(Exit.SERVER)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    click.echo(f"Pool {pool.terms.name} works.")
    return int(Exit.OK)


def _door(runs: Path, address: str, port: int) -> Door:
    if is_loopback(address):
        return Door(address, port)
    from tailrace.server.web.tls import certificate

    runs.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Door(address, port, certificate("own", runs))


def _seconds(text: str) -> float:
    try:
        return duration_us(text) / 1e6
    except ValueError as error:
        raise BadInput(f"--within: {error}", remedy="Write it as 90s or 10m.") from None


class _Check:
    def __init__(self, pool: AnyPool, server: Embedded, within_s: float) -> None:
        self._pool, self._server, self._within_s = pool, server, within_s
        self._began = time.monotonic()
        self._started = False

    async def __call__(self) -> None:
        async with self._server as server:
            number = server.submit(_bag())
            try:
                await self._steps()
            finally:
                server.interrupt(number)
                await self._end(number)
            self._say("ended")

    async def _steps(self) -> None:
        await self._until(lambda row: row.state in STARTED or _has_joined(row), "no start")
        self._started = True
        self._say("started")
        await self._until(_has_joined, "no call of its worker")
        self._say(f"joined: {self._host()}")
        await self._until(lambda row: self._done(), "no result of its task")
        self._say("ran a task")

    async def _end(self, number: int) -> None:
        try:
            await asyncio.wait_for(self._server.rest(number), END_WITHIN_S)
        except TimeoutError:
            name = self._name()
            raise Failed(f"told to end, and {name} still stands after {END_WITHIN_S:g} s") from None

    async def _until(self, holds: Callable[[LeaseRow], bool], missing: str) -> None:
        until = time.monotonic() + self._within_s
        while not ((row := self._row()) and holds(row)):
            if row is not None and row.state is LeaseState.GONE:
                raise Failed(f"{row.why or 'its machine has gone'}{self._log()}")
            if time.monotonic() > until:
                raise Failed(f"{missing} within {self._within_s:g} s{self._where()}{self._log()}")
            await self._server.world.news(GLANCE_S)

    def _say(self, step: str) -> None:
        took = duration(round((time.monotonic() - self._began) * 1e6))
        click.echo(f"✓ {step} ({took})")

    def _row(self) -> LeaseRow | None:
        """Of the first machine: a second one would be asked for after it failed."""
        return self._server.world.state.leases.get(1)

    def _done(self) -> bool:
        return any(bag.done.count for bag in self._server.world.state.bags.values())

    def _host(self) -> str:
        row = self._row()
        host = self._server.world.state.hosts[row.host if row else ""]
        return f"{host.id}, {host.capacity.get('cores', 0) / 1000:g} cores"

    def _name(self) -> str:
        return f"the machine of pool {self._pool.terms.name}"

    def _where(self) -> str:
        return f"; it should call {self._server.elsewhere.url}"

    def _log(self) -> str:
        """What its machine said, where `start` lets it write to {log}."""
        if not self._started or not isinstance(self._pool, CommandPool):
            return ""
        logs = sorted((self._server.world.folder / "pools").glob("*/*.log"))
        lines = logs[0].read_text("utf-8", "replace").splitlines()[-LINES:] if logs else []
        if not lines:
            return "\n  Nothing is in its log: does `start` write what it says to {log}?"
        guess = next((told for sign, told in GUESSES if sign in " ".join(lines)), "")
        return (
            "\n  Its log ends:"
            + "".join(f"\n    {line}" for line in lines)
            + (f"\n  Perhaps {guess}" if guess else "")
        )


def _has_joined(row: LeaseRow) -> bool:
    """It may have ended since."""
    return row.up_us is not None


def _bag() -> Bag:
    """In a folder that is everywhere."""
    return bag_from_commands(["true"], Path("/"), source="check")
