"""The driver of machines that commands start, stop and list: a batch system's, a cloud's, ssh's.

A machine is known by its name, `tailrace-<store>-<lease>`. Whether it stands, `list` alone says:
asked at the start, now and then, and every second while one is ending. Machines belong to no
process of ours: they outlive the server, call it again when it is back, and end by themselves when
their lease does.
"""

from __future__ import annotations

import logging
import re
import shlex
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tailrace.drivers import shell
from tailrace.drivers.driver import Gone, NotStarted
from tailrace.drivers.logs import last_line
from tailrace.errors import ServerError
from tailrace.pools.commands import Commands, Names, asks_for, fill

log = logging.getLogger("tailrace.drivers")
SECOND_US = 1_000_000
SOON_S = 1.0  # between two looks while a machine ends


def time_us() -> int:
    return time.time_ns() // 1000


class Site(msgspec.Struct, frozen=True):
    """What a machine needs to know, and where it is said."""

    pool: str
    names: Names
    join: Path  # a file for its owner alone; the text in it stands in no command
    worker: Path
    logs: Path
    port: int
    arguments: list[str] = []  # what its workers may use
    amounts: dict[str, str] = {}  # the same, as words for commands
    now: Callable[[], int] = time_us  # the clock that ends of leases are on


class Machine:
    def __init__(self, id: str) -> None:
        self.id = id
        self.since = time.monotonic()
        self.seen = False  # in a list
        self.ends_us = 0
        self.told_to_end = False


class CommandDriver:
    def __init__(self, commands: Commands, site: Site, gone: Gone) -> None:
        self._commands, self._site, self._tell_gone = commands, site, gone
        self._machines: dict[int, Machine] = {}
        self._guard = threading.Lock()
        self._news = threading.Event()
        self._closed = False
        self._watcher: threading.Thread | None = None
        self._trouble = ""  # what `list` last complained of

    def start(self, lease: int, ends_us: int) -> None:
        with self._guard:
            if lease in self._machines or self._closed:
                return
        id = self._id_in(self._started(lease, ends_us))
        with self._guard:  # a list may have named it before `start` returned, without its id
            machine = self._machines.setdefault(lease, Machine(id))
            machine.id, machine.ends_us = id or machine.id, ends_us
        self._watch_on()

    def _started(self, lease: int, ends_us: int) -> str:
        try:
            return self._run("start", self._commands.start, lease, ends_us)
        except shell.CommandFailed as error:
            if error.code in shell.NOT_FOUND:
                raise NotStarted(str(error)) from None
            raise

    def _id_in(self, printed: str) -> str:
        if not self._commands.id:
            return next(iter(printed.split()), "")
        found = re.search(self._commands.id, printed)
        if found is None:
            told = f"`start` printed {printed.strip()[:200]!r}, in which {self._commands.id!r}"
            raise ServerError(f"{told} finds no id")
        return found[found.re.groups and 1]

    def renew(self, lease: int, ends_us: int) -> None:
        """Its worker hears of it with its next call; a command may tell its machine, too."""
        with self._guard:
            machine = self._machines.get(lease)
            if machine is None or machine.ends_us == ends_us:
                return
        if self._commands.renew:
            self._run("renew", self._commands.renew, lease, ends_us)
        machine.ends_us = ends_us

    def stop(self, lease: int) -> None:
        """One that is not there any more need not be stopped. One whose start failed may be."""
        with self._guard:
            machine = self._machines.get(lease)
            if machine is not None:
                machine.told_to_end = True
        if not self._is_known(machine) and lease not in self._listed():
            return
        try:
            self._run("stop", self._commands.stop, lease)
        except ServerError:
            if lease in self._listed():
                raise
        self._watch_on()
        self._news.set()

    def _is_known(self, machine: Machine | None) -> bool:
        """By all that its stop needs."""
        return bool(machine and machine.id) or not asks_for(self._commands.stop, "id")

    def list(self) -> list[int]:
        """With those that were started just now: some lists are late."""
        listed = self._listed()
        with self._guard:
            young = [lease for lease in self._machines if self._is_young(self._machines[lease])]
        if listed:
            self._watch_on()
        return list(dict.fromkeys([*listed, *young]))

    def close(self, *, now: bool = False) -> None:
        """They outlive the server, or were given back before."""
        with self._guard:
            self._closed = True
        self._news.set()

    # which stand

    def printed(self) -> str:
        """By `list`, of whatever store."""
        command = self._commands.list
        return shell.printed("list", command, self._commands.folder, self._timeout_s)

    def _listed(self) -> dict[int, str]:
        found = self._site.names.leases(self.printed())
        with self._guard:
            for lease, id in found.items():
                machine = self._machines.setdefault(lease, Machine(id))
                machine.id, machine.seen = machine.id or id, True
        return found

    def _is_young(self, machine: Machine) -> bool:
        """It may not be in the list yet."""
        age_s = time.monotonic() - machine.since
        awaited = not (machine.seen or machine.told_to_end)
        return awaited and age_s < self._commands.appear_us / SECOND_US

    def _watch_on(self) -> None:
        with self._guard:
            if self._watcher is None and not self._closed:
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()

    def _watch(self) -> None:
        while not self._closed:
            self._news.wait(self._pause_s())
            self._news.clear()
            if self._machines and not self._closed:
                self._look()

    def _pause_s(self) -> float:
        with self._guard:
            ending = any(machine.told_to_end for machine in self._machines.values())
        return SOON_S if ending else self._commands.look_us / SECOND_US

    def _look(self) -> None:
        with self._guard:
            before = dict(self._machines)
        try:
            listed = self._listed()
        except ServerError as error:
            self._complain(str(error))
            return
        self._trouble = ""
        for lease, machine in before.items():
            if lease not in listed and not self._is_young(machine):
                self._forget(lease, machine)

    def _complain(self, trouble: str) -> None:
        """Once: it will be tried again and again."""
        if trouble != self._trouble:
            log.warning("pool %s: %s", self._site.pool, trouble)
        self._trouble = trouble

    def _forget(self, lease: int, machine: Machine) -> None:
        with self._guard:
            self._machines.pop(lease, None)
        if self._closed:
            return
        why = "" if machine.told_to_end else f"its machine is not there any more{self._log(lease)}"
        self._tell_gone(lease, why)

    def _log(self, lease: int) -> str:
        last = last_line(self.log_of(lease))
        return f"; its log ends: {last}" if last else ""

    def log_of(self, lease: int) -> Path:
        return self._site.logs / f"{self._site.names.of(lease)}.log"

    # commands

    def _run(self, what: str, command: str, lease: int, ends_us: int = 0) -> str:
        filled = fill(command, self.words(lease, ends_us))
        name = self._site.names.of(lease)
        return shell.printed(f"{what} {name}", filled, self._commands.folder, self._timeout_s)

    @property
    def _timeout_s(self) -> float:
        return self._commands.timeout_us / SECOND_US

    def words(self, lease: int, ends_us: int) -> dict[str, str]:
        site = self._site
        # What is left is told by the clock of the lease, and its end by the wall clock of now: that
        # is the one the machine has, and it may have been set since the server began.
        left = max((ends_us - site.now()) // SECOND_US, 1)
        ends = int(time.time()) + left
        machine = self._machines.get(lease)
        return {
            "name": site.names.of(lease), "lease": str(lease), "pool": site.pool,
            "join": str(site.join), "worker": str(site.worker), "log": str(self.log_of(lease)),
            "port": str(site.port), "ends": str(ends), "seconds": str(left),
            "minutes": str(-(-left // 60)), "run": self._worker(lease, ends),
            "id": "" if machine is None else machine.id, **site.amounts,
        }  # fmt: skip

    def _worker(self, lease: int, ends: int) -> str:
        """It takes the shell's place, so that a signal to its machine's first process is its."""
        site, name = self._site, self._site.names.of(lease)
        words = [
            str(site.worker), "--join", str(site.join), "--pool", site.pool, "--lease", str(lease),
            "--name", name, "--ends", str(ends), *site.arguments,
        ]  # fmt: skip
        return f"exec {self._commands.python} {shlex.join(words)}"
