"""Settings, and where each comes from.

A flag stands above the environment (`TAILRACE_CORES`), that above the bag file's `[settings]`, that
above the nearest `tailrace.toml` upwards, that above the user's own file
(`$XDG_CONFIG_HOME/tailrace/config.toml`), that above the default. Pools have a file of their own,
`pools.toml`, beside each of the last two and above it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tailrace import quantities
from tailrace.bag.tables import Origin, Table, read_toml
from tailrace.bag.textfile import read_text
from tailrace.cli.ownfile import is_ours
from tailrace.cli.pools.poolsfile import Described, Pools, read_pools, rehearsal
from tailrace.cli.setting import SETTINGS, Setting
from tailrace.errors import BadInput
from tailrace.pools.terms import Billing, Pool
from tailrace.server.files.retention import Retention
from tailrace.server.pools.capacity import Capacity
from tailrace.server.pools.command_pool import AnyPool, CommandPool
from tailrace.server.pools.local_pool import LocalPool

PROJECT = "tailrace.toml"
POOLS_FILE = "pools.toml"
DEFAULT = "default"
LOCAL = "local"  # the pool of this machine
POOLS = "pools"  # a table of tables, so that it is in files alone


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    cores: float | None  # None: all
    memory: int | None  # bytes; None: all
    port: int  # 0: any that is free
    price: str  # of the local pool, as written
    minimum: int  # microseconds billed at least
    journal: bool
    notify: tuple[str, ...]  # web hooks and commands
    retention: Retention
    quota: int | None  # bytes; None: any number
    store: str  # a URL; '': a file of the folder
    color: str
    report: bool | None  # None: when the run was long enough to be worth it
    pools: Pools  # that are described; none: this machine, as it is
    origins: dict[str, str]

    def origin(self, name: str) -> str:
        """`--cores`, `TAILRACE_CORES`, `tailrace.toml:3` or `default`."""
        return self.origins[name]

    def said_now(self, name: str) -> bool:
        """With this very command, not in a file."""
        return self.origins[name] in (f"--{name}", SETTINGS[name].variable)


class Given(msgspec.Struct, frozen=True):
    """A value one source gives, read and checked, and its place there."""

    value: Any
    origin: str


Layer = dict[str, Given]


def load(flags: Mapping[str, Any], folder: Path, bag_file: Path | None = None) -> Settings:
    """`flags` by the settings' names; None is one not given. `folder`: where the search begins."""
    found = gather(flags, folder, bag_file)
    values = {name: given.value for name, given in found.items()}
    return Settings(**values, origins={name: given.origin for name, given in found.items()})


def gather(flags: Mapping[str, Any], folder: Path, bag_file: Path | None = None) -> Layer:
    """All layers are read, so that a fault in one is told even where another stands above it."""
    merged = {name: Given(setting.default, DEFAULT) for name, setting in SETTINGS.items()}
    merged[POOLS] = Given({}, DEFAULT)
    for layer in reversed(list(_layers(flags, folder, bag_file))):
        merged.update(layer)
    return merged


Agreed = Callable[[str], Billing | None]  # of a pool: its terms when the bag ran last


def pools(settings: Settings, agreed: Agreed = lambda pool: None) -> tuple[AnyPool, ...]:
    """Those that are described; else this machine, as it is. What was agreed when a bag ran last
    holds until its owner says otherwise where he stands."""
    if not settings.pools:
        capacity = Capacity(settings.cores, settings.memory)
        return (LocalPool(local_pool(settings, agreed(LOCAL)), capacity),)
    if settings.said_now("price"):
        remedy = f"give each its price in {settings.origin(POOLS)}, or remove the pools there"
        raise BadInput("a price for this machine, which is described as pools", remedy=remedy)
    return tuple(_pool(one, settings, agreed(one.name)) for one in settings.pools.values())


def served_pools(settings: Settings, *, local: bool) -> tuple[AnyPool, ...]:
    """Of a server that stays: this machine works only if that is said."""
    found = [one for one in pools(settings) if local or isinstance(one, CommandPool)]
    if local and not any(isinstance(one, LocalPool) for one in found):
        found += pools(replace(settings, pools={}))
    return tuple(found)


def _pool(pool: Described, settings: Settings, agreed: Billing | None) -> AnyPool:
    driver = "local" if pool.commands is None else "command"
    terms = replace(pool.machines.terms, driver=driver, capacity=_said(pool))
    if agreed is not None:
        terms = replace(terms, billing=agreed)
    more = {name: amount for name, amount in pool.has.items() if name != "memory"}
    if pool.commands is not None:
        capacity = Capacity(pool.cores, pool.has.get("memory"), more)
        return CommandPool(terms, pool.commands, capacity)
    cores = settings.cores if pool.cores is None else pool.cores
    memory = pool.has.get("memory", settings.memory)
    return LocalPool(terms, Capacity(cores, memory, more), rehearsal(pool))


def _said(pool: Described) -> dict[str, int]:
    """Of each machine; what it has beside is known when one has called."""
    return {} if pool.cores is None else pool.machines.capacity


def local_pool(settings: Settings, agreed: Billing | None = None) -> Pool:
    """The machine this runs on, under the terms the settings name. `agreed` are those of the bag,
    which hold until its owner says otherwise where he stands: by a flag or the environment."""
    billing = _billing(settings.price, settings.minimum)
    if agreed is not None:
        terms = billing if settings.said_now("price") else agreed
        least = billing if settings.said_now("minimum") else agreed
        billing = replace(terms, minimum_us=least.minimum_us)
    return Pool(LOCAL, billing=billing)


def _billing(price: str, minimum_us: int) -> Billing:
    """The unit of the price is what is paid whole: `USD/h` by the hour, `USD/min` by the minute."""
    if price == "0":
        return Billing(minimum_us=minimum_us)
    return Billing.at(quantities.price(price), quantities.price_unit_us(price), minimum_us)


def _layers(flags: Mapping[str, Any], folder: Path, bag_file: Path | None) -> Iterator[Layer]:
    yield _from_flags(flags)
    yield _from_environment(os.environ)
    if bag_file is not None:
        yield _from_bag(bag_file)
    for path in files(folder):
        yield _from_file(path)


def files(folder: Path) -> list[Path]:
    """The files that are read, the strongest first."""
    mine = user_file()
    above = (_nearest(folder, POOLS_FILE), _nearest(folder, PROJECT))
    found = (*above, mine.with_name(POOLS_FILE), mine)
    return [path for path in found if path is not None and path.exists()]


def user_file() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(config).expanduser() / "tailrace" / "config.toml"


def _nearest(folder: Path, name: str) -> Path | None:
    start = folder.resolve()
    above = (place / name for place in (start, *start.parents))
    return next((path for path in above if path.exists() and is_ours(path)), None)


def _from_flags(flags: Mapping[str, Any]) -> Layer:
    given = {name: value for name, value in flags.items() if value is not None}
    origin = Origin(flags=given)
    return {
        name: Given(_read(SETTINGS[name], value, origin, (name,)), f"--{name}")
        for name, value in given.items()
    }


def _from_environment(environment: Mapping[str, str]) -> Layer:
    found: Layer = {}
    if environment.get("NO_COLOR"):
        found["color"] = Given("never", "NO_COLOR")
    for setting in SETTINGS.values():
        text = environment.get(setting.variable)
        if text:
            found[setting.name] = Given(_from_variable(setting, text), setting.variable)
    return found


def _from_variable(setting: Setting, text: str) -> Any:
    try:
        return setting.read(text)
    except ValueError as fault:
        remedy = f"Unset it, or set it to {setting.example}."
        raise BadInput(f"{setting.variable}: {fault}", remedy=remedy) from None


def _from_bag(path: Path) -> Layer:
    text = read_text(path, str(path))
    origin = Origin(str(path), text)
    table = Table(read_toml(text, str(path)), origin).table("settings")
    return _from_table(table, ("settings",), path.absolute().parent, tuple(SETTINGS.values()))


def _from_file(path: Path) -> Layer:
    text = read_text(path, str(path))
    table = Table(read_toml(text, str(path)), Origin(str(path), text))
    known = () if path.name == POOLS_FILE else tuple(SETTINGS.values())
    return _from_table(table, (), path.absolute().parent, known)


def _from_table(
    table: Table, above: tuple[str, ...], folder: Path, known: tuple[Setting, ...]
) -> Layer:
    found = dict(_taken(table, known, above))
    if POOLS in table:
        place = table.bad(POOLS, "")  # knows file and line
        read = read_pools(table.table(POOLS), folder)
        found[POOLS] = Given(read, f"{place.file}:{place.line}")
    table.finish()
    return found


def _taken(
    table: Table, settings: Iterable[Setting], above: tuple[str, ...]
) -> Iterator[tuple[str, Given]]:
    for setting in settings:
        value = table.take(setting.name, str, int, bool, list, dict, object)
        if value is not None:
            path = (*above, setting.name)
            place = table.origin.bad(path, "")  # knows file and line
            read = _read(setting, value, table.origin, path)
            yield setting.name, Given(read, f"{place.file}:{place.line}")


def _read(setting: Setting, value: Any, origin: Origin, path: tuple[str, ...]) -> Any:
    try:
        return setting.read(value)
    except ValueError as fault:
        if path[0] in origin.flags:
            plain = setting.example.replace('"', "")
            raise origin.bad(path, str(fault), f"give --{setting.name} {plain}") from None
        remedy = f"write {setting.name} = {setting.example}"
        raise origin.bad(path, f"{'.'.join(path)}: {fault}", remedy) from None
