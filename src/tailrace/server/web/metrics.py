"""Figures of a server in the text format of Prometheus, from the scheduler's memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tailrace.scheduler.rows import STANDING, BagPhase
from tailrace.scheduler.state import State
from tailrace.server.world import World

Labels = Mapping[str, str]


def metrics(world: World) -> bytes:
    lines = [*_gauge("up", "Whether anything can be committed.", {None: int(world.available)})]
    if world.available:
        for figure in _figures(world.state):
            lines += figure
        about = "Calls refused because too many came at once, since the start."
        lines += _gauge("calls_refused", about, {None: world.turnstile.refused})
    lines += _gauge("disk_free_bytes", "Room on the server's disk.", {None: world.room.free()})
    return ("\n".join(lines) + "\n").encode()


def _figures(state: State) -> Iterator[list[str]]:
    bags = state.bags.values()
    phases = Counter(bag.phase for bag in bags)
    hosts = Counter(host.pool for host in state.hosts.values() if host.present)
    leases = Counter(row.pool for row in state.leases.values() if row.state in STANDING)
    yield _by("bags", "Bags by phase.", "phase", {phase: phases[phase] for phase in BagPhase})
    yield _gauge("tasks", "Tasks of all bags.", {None: sum(bag.terms.count for bag in bags)})
    yield _gauge("tasks_done", "Tasks with a result.", {None: sum(bag.done.count for bag in bags)})
    yield _gauge("tasks_failed", "Of these, failed.", {None: sum(bag.failed.count for bag in bags)})
    yield _gauge("attempts_out", "Attempts that live.", {None: len(state.attempts)})
    yield _by("hosts", "Hosts that are connected.", "pool", hosts)
    yield _by("leases", "Leases that stand.", "pool", leases)


def _by(name: str, about: str, label: str, values: Mapping[str, int]) -> list[str]:
    return _gauge(name, about, {f'{{{label}="{_escaped(key)}"}}': n for key, n in values.items()})


def _gauge(name: str, about: str, values: Mapping[str | None, int]) -> list[str]:
    full = f"tailrace_{name}"
    head = [f"# HELP {full} {about}", f"# TYPE {full} gauge"]
    return head + [f"{full}{labels or ''} {value}" for labels, value in values.items()]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
