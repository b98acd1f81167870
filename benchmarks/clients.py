"""Five hundred clients, each with a call a second that brings a result and fetches a task.

They are one process, beside the server on the same cores; SQLite is FULL. Ten minutes, or half a
minute with `--quick`. In every second tenth of that time the server has one plan after the other
computed, as for a bag in its tail on 200 hosts. Then as many clients once more, for a fifth of the
time, while two users read all results page by page; and once more, while a user hands in bags of a
million rows, of five numbers each, one after the other.
"""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.bench import Bench
from benchmarks.children.crowd import Group
from benchmarks.crowded import CONNECT_S, Answers, Crowd
from benchmarks.figure import Figure, below
from benchmarks.served import TOKEN, Served

CLIENTS = 500
SECONDS, QUICK_SECONDS = 600.0, 30.0
TENTHS = 10
ENOUGH = 5_000_000
WHAT = f"{CLIENTS} clients, a call a second each"
PLANNED_HOSTS = 200

READERS = 2
READING = [sys.executable, "-m", "benchmarks.children.reading"]
HANDING = [sys.executable, "-m", "benchmarks.children.handing"]
LEAST_HANDING_S = 30.0  # in which one is taken, also by a slow machine
MAKING_S = 30.0  # for a million rows, before the first is handed in


def measure(bench: Bench) -> None:
    seconds = QUICK_SECONDS if bench.quick else SECONDS
    with Served(bench.fresh()) as server:
        server.tell(f"sweep {ENOUGH}")
        crowd = Crowd(server.port, Group(CLIENTS, seconds, 1.0))
        planned = _plan(server, crowd.start, seconds / TENTHS)
        crowd.hear()
        lost = crowd.told.acked - server.tell("facts")["done"]
        _beside_readers(bench, server, seconds / 5)
        _beside_large_bags(bench, server, max(seconds / 5, LEAST_HANDING_S))
    _tell(bench, crowd, seconds, planned)
    figure = Figure("clients", f"{WHAT}: results lost", "results", [lost], below(1))
    bench.tell(figure)


def _beside_readers(bench: Bench, server: Served, seconds: float) -> None:
    crowd = Crowd(server.port, Group(CLIENTS, seconds, 1.0))
    words = [*READING, str(server.port), TOKEN, str(crowd.start), str(seconds)]
    readers = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(READERS)]
    crowd.hear()
    pages = sum(int(reader.communicate()[0]) for reader in readers)
    answers, note = crowd.within((0.0, seconds)), f"{pages} pages read by {READERS} users"
    _tell_beside(bench, answers, "while results are read", note)


def _beside_large_bags(bench: Bench, server: Served, seconds: float) -> None:
    """The crowd is there a little longer than bags are handed in: the last is not cut off."""
    start = time.monotonic() + MAKING_S
    words = [*HANDING, str(server.port), TOKEN, str(start), str(seconds / 2)]
    handing = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    time.sleep(max(start - CONNECT_S - time.monotonic(), 0))
    crowd = Crowd(server.port, Group(CLIENTS, seconds, 1.0))
    crowd.hear()
    bags, until = handing.communicate()[0].split()
    answers = crowd.within((0.0, min(float(until), seconds)))
    note = f"{bags} bags in {float(until):.0f} s"
    _tell_beside(bench, answers, "while bags of a million rows are handed in", note)


def _tell_beside(bench: Bench, answers: Answers, what: str, note: str) -> None:
    for percent, bar in ((50, None), (99, below(250))):
        name = f"{WHAT}: p{percent} of the call, {what}"
        value = [answers.percentile(percent)]
        bench.tell(Figure("clients", name, "ms", value, bar, note if bar else ""))


def _plan(server: Served, start: float, tenth_s: float) -> int:
    """How many plans were made; the last of a stretch may end a little after it."""
    made = 0
    for stretch in range(1, TENTHS, 2):
        begins, ends = start + stretch * tenth_s, start + (stretch + 1) * tenth_s
        time.sleep(max(begins - time.monotonic(), 0))
        while time.monotonic() < ends:
            server.tell(f"plan {PLANNED_HOSTS}")
            made += 1
    return made


def _tell(bench: Bench, crowd: Crowd, seconds: float, planned: int) -> None:
    tenth = seconds / TENTHS
    all_of_it = crowd.within((0.0, seconds))
    planning = crowd.within(*((k * tenth, (k + 1) * tenth) for k in range(1, TENTHS, 2)))
    alone = crowd.within(*((k * tenth, (k + 1) * tenth) for k in range(0, TENTHS, 2)))
    acked = f"{all_of_it.calls:,} calls in {seconds:g} s, {crowd.told.acked:,} results acknowledged"
    beside = f"in every second tenth of the time, {planned} plans"
    for percent, bar in ((50, None), (99, below(250))):
        for what, answers, note in (
            ("", all_of_it, acked),
            (", while nothing is planned", alone, ""),
            (", while a plan is computed", planning, beside),
        ):
            name = f"{WHAT}: p{percent} of the call{what}"
            value = [answers.percentile(percent)]
            bench.tell(Figure("clients", name, "ms", value, bar, note if bar else ""))
    longest = Figure("clients", f"{WHAT}: the longest call", "ms", [max(all_of_it.taken_ms)])
    bench.tell(longest)
    refused = f"{WHAT}: calls refused, and made again"
    bench.tell(Figure("clients", refused, "calls", [all_of_it.refused]))
