"""Pools as `pools.toml` and settings describe them: `[pools.spot]`, in the words of scenarios.

`price`, `unit`, `minimum`, `billing`, `pays`, `max`, `lease`, `reliable`, `startup`, `up`,
`notice`, `speed`, `cores`, `memory`, `gpus`, `has`, `owner` and `says` mean what they mean in a
scenario, so that a pool can be copied from one to the other; `seed` is that of all that is drawn.
With `driver = "command"` its machines are real ones, which commands start, stop and list; without,
they are played on this machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tailrace.bag.tables import Table, meant
from tailrace.cli.pools.commandfile import read_commands
from tailrace.errors import BadInput
from tailrace.pools.commands import KEYS as COMMANDED
from tailrace.pools.commands import Commands
from tailrace.pools.terms import Billing
from tailrace.quantities import show_duration

if TYPE_CHECKING:
    from tailrace.pools.rehearsal import Rehearsal
    from tailrace.simulation.laws import Law
    from tailrace.simulation.scenario import Machines

KEYS = ("driver", "max", "price", "unit", "minimum", "billing", "pays", "lease", "reliable",
        "trusted", "cores", "memory", "gpus", "has", "startup", "up", "notice", "speed", "seed",
        "silent_after", "late_results", "min_timeout", "shared", "owner", "says")  # fmt: skip
OF_MACHINES = ("owner", "says")  # which real ones say themselves
DRIVERS = ("local", "command")


class Described(msgspec.Struct, frozen=True):
    """One pool, read and checked."""

    machines: Machines
    cores: int | None  # None: as the setting says
    seed: int
    commands: Commands | None = None  # None: they are played on this machine

    @property
    def has(self) -> dict[str, int]:
        """What else it says of each machine."""
        return self.machines.has

    @property
    def name(self) -> str:
        return self.machines.terms.name


Pools = dict[str, Described]


def read_pools(tables: Table, folder: Path) -> Pools:
    """All that stand below `[pools]`; laws may name files of `folder`."""
    found: Pools = {}
    for name, value in tables.items():
        if not isinstance(value, dict):
            label = tables.label(name)
            raise tables.bad(name, f"{label} is not a table", f"write [{label}], and max = 2 there")
        path = (*tables.path, name)
        table = Table({"max": 1, **value}, tables.origin, path)
        _refuse_others(table, value)
        found[name] = _described(table, folder)
    return found


def _refuse_others(table: Table, keys: Iterable[str]) -> None:
    """Scenarios have more words, for what real machines do by themselves or cannot do."""
    for key in keys:
        known = KEYS + COMMANDED if table.peek("driver") == "command" else KEYS
        if key in COMMANDED and key not in known:
            raise table.bad(key, f"{table.label(key)} without commands", 'add driver = "command"')
        if key not in known:
            what = "whose machines commands start" if known != KEYS else "of this machine"
            remedy = f"{meant(key, known)}a pool {what} takes {', '.join(known)}"
            raise table.bad(key, f"unknown key {table.label(key)}", remedy)


def _described(table: Table, folder: Path) -> Described:
    from tailrace.simulation.laws import Place
    from tailrace.simulation.reading import read_pool

    _name(table)
    _refuse_words(table)
    driver = table.choice("driver", DRIVERS, "local")
    commands = read_commands(table, folder) if driver == "command" else None
    if table.peek("max") == 0:
        remedy = "give max = 1 or more, or remove the pool"
        raise table.bad("max", f"pool {table.path[-1]} has no machines", remedy)
    cores_given = "cores" in table
    seed = table.take("seed", int) or 0
    shared = _shared(table)
    machines = read_pool(table, Place(table.origin, (), folder))
    machines = replace(machines, terms=replace(machines.terms, shared=shared))
    return Described(machines, machines.cores if cores_given else None, seed, commands)


def _refuse_words(table: Table) -> None:
    for key in OF_MACHINES if table.peek("driver") == "command" else ():
        if key in table:
            remedy = "write it into worker.conf beside the worker of those machines"
            raise table.bad(key, f"{table.label(key)}: real machines say it themselves", remedy)


def _shared(table: Table) -> tuple[str, ...]:
    """Folders that its machines have under the same names as who submits."""
    given = table.take("shared", list) or []
    for path in given:
        if not isinstance(path, str) or not path.startswith("/"):
            remedy = 'list whole paths: shared = ["/home"]'
            raise table.bad("shared", f"{table.label('shared')} holds {path!r}", remedy)
    return tuple(given)


def _name(table: Table) -> None:
    """It is the name of a folder, and an argument of workers."""
    name = str(table.path[-1])
    if not name.replace("-", "").replace("_", "").isalnum() or name.startswith("-"):
        remedy = "use letters, digits, - and _"
        raise table.origin.bad(table.path, f"{name!r} is not a name of a pool", remedy)


def rehearsal(pool: Described) -> Rehearsal:
    """What is drawn depends on the seed, the pool and the number of the lease alone."""
    from tailrace.policy.policies import texts
    from tailrace.pools.rehearsal import Rehearsal

    machines, failures = pool.machines, pool.machines.failures
    draw = partial(_drawn, pool)
    return Rehearsal(
        startup_us=_duration(partial(draw, "startup", machines.startup)),
        life_us=_for_good if failures is None else _duration(partial(draw, "up", failures.here)),
        notice_us=None if failures is None else failures.notice_us,
        speed=partial(draw, "speed", machines.speed),
        owner=machines.whose,
        says={} if machines.says is None else texts(machines.says),
    )


def _drawn(pool: Described, what: str, law: Law, lease: int) -> float:
    from tailrace.simulation.draws import Streams

    uniform = Streams(pool.seed).stream(what, pool.name).array(1, lease)
    return float(law.draw(uniform).item(0))


def _duration(draw: Callable[[int], float]) -> Callable[[int], int]:
    def microseconds(lease: int) -> int:
        return round(min(max(draw(lease), 0.0), 1e9) * 1_000_000)

    return microseconds


def _for_good(lease: int) -> int | None:
    return None


def describe(pool: Described) -> str:
    """`2 machines, 0.03 USD per hour, 1 core, fails`."""
    terms, failures = pool.machines.terms, pool.machines.failures
    parts = [f"{terms.max} machine{'s' * (terms.max != 1)}", _price(terms.billing)]
    parts += [] if pool.cores is None else [f"{pool.cores} core{'s' * (pool.cores != 1)} each"]
    startup = pool.machines.startup.mean()
    parts += [f"start-up {_seconds(startup)} on average"] if startup else []
    if failures is not None:
        parts.append(f"fails after {_seconds(failures.here.mean())} on average")
    parts += [] if terms.reliable else ["not reliable"]
    parts += [] if pool.commands is None else ["started by commands"]
    return ", ".join(parts)


def _seconds(mean: float) -> str:
    return show_duration(round(mean * 1000) * 1000) if math.isfinite(mean) else "a long time"


def _price(billing: Billing) -> str:
    from tailrace.server.records.bills import price

    return price(billing)


def refuse_unknown(names: tuple[str, ...], pools: list[str], bad: Callable[..., BadInput]) -> None:
    """A bag that waits for a pool that is not there waits for ever."""
    for name in names:
        if name not in pools:
            remedy = f"the pools are {', '.join(pools)}; pools.toml describes more"
            raise bad(f"there is no pool {name!r}", remedy)
