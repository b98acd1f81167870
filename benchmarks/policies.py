"""Policies: four expressions of the paper for each of 1,000 hosts, in several ways; 1,000 bags.

Why `tailrace.policy.ads` does it as it does: docs/discussions/policies.md tells. Then a real server
with 1,000 bags, each with five policies, where each bag's rank has to be asked for each host, and
ten or a hundred clients, each with a call a second that brings a result and fetches a task.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.bench import Bench
from benchmarks.children.crowd import Group
from benchmarks.crowded import Crowd
from benchmarks.figure import Figure, alternating, below
from benchmarks.machine import cpu_s
from benchmarks.served import Served
from tailrace.bag.policy import Policy
from tailrace.policy.ads import BagAd, HostAd, Scene
from tailrace.policy.library import classads
from tailrace.policy.policies import compile_policy

HOSTS = 1_000
BAGS, TASKS = 1_000, 1_000
CLIENTS = (10, 100)
SECONDS, QUICK_SECONDS = 120.0, 20.0
PAPER = Policy(
    job_requirements='!Tail ? true : regexp("myhost", Host.Name) && Host.ErrorRate < 0.1',
    rank="!Tail ? 1 : Host.JobsToday",
    concurrency="2 * Host.NumCpus",
    deadline="Concurrency * 2000",
)
NESTED = (
    '!BOT.Tail ? true : regexp("myhost", Host.Name) && Host.ErrorRate < 0.1',
    "!BOT.Tail ? 1 : Host.JobsToday",
    "2 * Host.NumCpus",
    "2 * Host.NumCpus * 2000",
)
Way = Callable[[int], None]


def measure(bench: Bench) -> None:
    ways = {**_ours(), **_others()}
    for way in ways.values():
        _pass(way)  # what is set once only, is set
    values = alternating(2 * bench.repetitions, {n: partial(_pass, w) for n, w in ways.items()})
    for name, found in values.items():
        bench.tell(Figure(bench.script, name, "µs per host", found))
    for clients in CLIENTS:
        _tell_many_bags(bench, clients)


def _tell_many_bags(bench: Bench, clients: int) -> None:
    seconds = QUICK_SECONDS if bench.quick else SECONDS
    with Served(bench.fresh()) as server:
        server.tell(f"policies {TASKS} {BAGS}")
        crowd = Crowd(server.port, Group(clients, seconds, 1.0))
        cpu_before = cpu_s(server.pid)
        crowd.hear()
        cpu = cpu_s(server.pid) - cpu_before
        lost = crowd.told.acked - server.tell("facts")["done"]
    answers = crowd.within((0.0, seconds))
    what = f"{BAGS:,} bags with five policies, {clients} clients with a call a second each"
    note = f"{answers.calls:,} calls, {1000 * cpu / answers.calls:.1f} ms of the server's CPU each"
    for percent, bar in ((50, None), (99, below(50))):
        name, value = f"{what}: p{percent} of the call", [answers.percentile(percent)]
        bench.tell(Figure(bench.script, name, "ms", value, bar, note if bar else ""))
    bench.tell(Figure(bench.script, f"{what}: results lost", "results", [lost], below(1)))


def _pass(way: Way) -> float:
    began = time.perf_counter()
    for host in range(HOSTS):
        way(host)
    return (time.perf_counter() - began) / HOSTS * 1e6


def _ours() -> dict[str, Way]:
    compiled = compile_policy(PAPER)
    four = [compiled.job_requirements, compiled.rank, compiled.concurrency, compiled.deadline]
    hosts, bag, shared = (
        [HostAd(_values(k)) for k in range(HOSTS)],
        BagAd({"BOT.Tail": True}),
        Scene(),
    )

    def kept(k: int) -> None:
        compiled.show(hosts[k].scene, hosts[k], bag)
        for one in four:
            assert one and one.found(hosts[k].scene)

    def changed(k: int) -> None:
        hosts[k].values["Host.JobsToday"] = int(time.monotonic_ns() % 1000) + 1
        kept(k)

    def one_for_all(k: int) -> None:
        compiled.show(shared, hosts[k], bag)
        for one in four:
            assert one and one.found(shared)

    return {
        "an ad per host, nothing changed": kept,
        "an ad per host, one attribute changed": changed,
        "one ad for all hosts": one_for_all,
    }


def _others() -> dict[str, Way]:
    """The library alone, without our checks of what it gives."""
    new, tree = classads().ClassAd, classads().ExprTree
    nested = [tree(text) for text in NESTED]
    matched = [tree(text.replace("Host.", "TARGET.").replace("BOT.", "MY.")) for text in NESTED]
    records = [new(_flat(k)) for k in range(HOSTS)]
    inner, tail = new({"BOT": new({"Tail": True})}), new({"Tail": True})

    def set_nested(k: int) -> None:
        inner["Host"] = records[k]
        _eval(nested, inner)

    def anew(k: int) -> None:
        _eval(nested, new({"BOT": new({"Tail": True}), "Host": new(_flat(k))}))

    def target(k: int) -> None:
        for one in matched:
            one.eval(tail, records[k])

    return {
        "library alone: host's ad set in the bag's": set_nested,
        "library alone: ads built anew": anew,
        "library alone: scope and target": target,
    }


def _eval(trees: list[Any], record: Any) -> None:
    for one in trees:
        one.eval(record)


def _flat(host: int) -> dict[str, Any]:
    """With as many attributes as a host has."""
    others = {f"Other{k}": 0.1 * k for k in range(15)}
    return {**others, **{key.partition(".")[2]: one for key, one in _values(host).items()}}


def _values(host: int) -> dict[str, Any]:
    return {
        "Host.Name": f"myhost{host:04}",
        "Host.ErrorRate": 0.05 + host * 1e-6,
        "Host.JobsToday": 1 + host,
        "Host.NumCpus": 1 + host % 64,
    }
