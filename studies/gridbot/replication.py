"""GridBot's table of policies: 30,000 jobs, replication and matching permissive or restrictive."""

from __future__ import annotations

from math import hypot, inf
from typing import NamedTuple

from studies.gridbot.queueing import tell_replicas_first
from studies.gridbot.size import sized
from studies.gridbot.tally import Told, tell
from studies.runs import SCENARIOS, Runs, over
from studies.table import deviation, mean, table
from studies.verdict import Claim, known
from tailrace.bag.tables import read_toml
from tailrace.simulation.running import Running

FILE = "gridbot-replication.toml"
SEEDS = 12
FEWER = 6  # of what is tried to see what explains the differences
HOUR = 3600
PERMISSIVE, RESTRICTIVE, DISABLED = "permissive", "restrictive", "disabled"


class Row(NamedTuple):
    """Of the paper's table."""

    replication: str
    matching: str
    replicas: int  # % of the tasks
    waste: int
    hours: float

    @property
    def name(self) -> str:
        return f"{self.replication} / {self.matching}"


ROWS = (
    Row(PERMISSIVE, PERMISSIVE, 58, 30, 4.1), Row(RESTRICTIVE, RESTRICTIVE, 11, 7, 3.2),
    Row(PERMISSIVE, RESTRICTIVE, 73, 57, 4.2), Row(DISABLED, PERMISSIVE, 0, 0, 5.1),
    Row(DISABLED, RESTRICTIVE, 0, 0, 5.8),
)  # fmt: skip
BOTH_PERMISSIVE, BOTH_RESTRICTIVE, MIXED, OFF_PERMISSIVE, OFF_RESTRICTIVE = ROWS
REPLICATING = (BOTH_RESTRICTIVE, BOTH_PERMISSIVE, MIXED)  # as the paper orders each column
OURS, RUN_ON, FIRST = "ours", "losers run on", "replicas before tasks never sent"
PAPERS = "the paper's mode"  # both of these
MORE_HOSTS, ALL_HEARD = "four times the hosts", "every attempt is heard of"
MODES = (OURS, PAPERS)
WAYS = (OURS, RUN_ON, FIRST, PAPERS, MORE_HOSTS, ALL_HEARD)
Found = dict[tuple[str, Row], list[Told]]


def unreliable(number: int) -> str:
    """The host of this replica: with no results of late, or more than 1 % of its jobs preempted."""
    host = f"Job.Replica{number}.Host"
    lost = f"{host}.Preempted > 0.01 * ({host}.Preempted + {host}.Succeeded)"
    return f"(({host}.RecentGoodSeconds <= 0 || {lost}) ?: false)"


def _changes(row: Row) -> list[str]:
    some = " || ".join(unreliable(number) for number in range(1, 5))
    replication = {
        PERMISSIVE: "NumberOfReplicas < 5",
        RESTRICTIVE: f"NumberOfReplicas < 5 && (OldestReplicaAge > 1800 || {some})",
    }
    policy, changes = "bags.jobs.policy", []
    if row.replication in replication:
        changes += [f"{policy}.ReplicationRequirements='{replication[row.replication]}'"]
    return [*changes, *([f"{policy}.JobRequirements=true"] if row.matching == PERMISSIVE else [])]


def _way(way: str) -> list[str]:
    pools = read_toml((SCENARIOS / FILE).read_text(), FILE)["pools"]
    run_on = ['bags.jobs.policy.losers="run on"']
    return {
        OURS: [],
        RUN_ON: run_on,
        FIRST: [],
        PAPERS: run_on,
        MORE_HOSTS: [f"pools.{name}.machines={4 * pools[name]['machines']}" for name in pools],
        ALL_HEARD: [f"pools.{name}.returns=1.0" for name in pools],
    }[way]


def run(runs: Runs, part: float) -> Found:
    """Rows that do not replicate are the same in the paper's mode."""
    found: Found = {}
    for way in WAYS:
        rows = ROWS if way == OURS else REPLICATING
        cases = {(way, row): [*sized(FILE, part), *_way(way), *_changes(row)] for row in rows}
        telling = tell_replicas_first if way in (FIRST, PAPERS) else tell
        seeds = SEEDS if way in (OURS, RUN_ON, PAPERS) else FEWER
        found.update(runs.told(FILE, cases, telling, seeds))
    off = {(PAPERS, row): found[OURS, row] for row in (OFF_PERMISSIVE, OFF_RESTRICTIVE)}
    return {**found, **off}


def _replicas(told: list[Told]) -> Running:
    return over(told, lambda one: one.only.replicas_percent)


def _waste(told: list[Told]) -> Running:
    return over(told, lambda one: one.only.waste_percent)


def _hours(told: list[Told]) -> Running:
    return over(told, lambda one: one.only.took_s / HOUR)


def rows(found: Found) -> str:
    head = ["replication / matching"]
    for column in ("replicas, %", "waste, %", "h"):
        head += [f"paper: {column}", "ours", "deviation", PAPERS]
    return table(head, [_cells(row, found[OURS, row], found[PAPERS, row]) for row in ROWS])


def _cells(row: Row, ours: list[Told], papers: list[Told]) -> list[str]:
    cells = [row.name]
    for paper, measure in ((row.replicas, _replicas), (row.waste, _waste), (row.hours, _hours)):
        here = measure(ours)
        cells += [f"{paper:g}", mean(here), deviation(here.mean, paper), mean(measure(papers))]
    return cells


def factors(found: Found) -> str:
    """Replicas of the permissive rows beside those of the restrictive one."""
    lines = []
    for row in (BOTH_PERMISSIVE, MIXED):
        paper = row.replicas / BOTH_RESTRICTIVE.replicas
        ours = [_factor(found, way, row) for way in MODES]
        lines.append((row.name, f"{paper:.1f}", *(f"{one:.1f}" for one in ours)))
    return table(("", "paper", *MODES), lines)


def _factor(found: Found, way: str, row: Row) -> float:
    fewest = _replicas(found[way, BOTH_RESTRICTIVE]).mean
    return _replicas(found[way, row]).mean / fewest if fewest else inf


def tried(found: Found) -> str:
    head = ("tried", "replication / matching", "replicas, %", "waste, %", "h")
    cells = [(way, row, found[way, row]) for way in WAYS for row in REPLICATING]
    return table(head, [
        (way, row.name, mean(_replicas(told)), mean(_waste(told)), mean(_hours(told), 2))
        for way, row, told in cells
    ])  # fmt: skip


def claims(found: Found) -> list[Claim]:
    """An order holds only beyond the intervals. What ours are known to miss may be missed, and all
    in the paper's mode, which is tried to see why."""
    papers = [known(claim) for claim in _of_mode(found, PAPERS)]
    return [*_of_mode(found, OURS), *papers]


def _of_mode(found: Found, way: str) -> list[Claim]:
    replicas = [_replicas(found[way, row]) for row in REPLICATING]
    waste = [_waste(found[way, row]) for row in REPLICATING]
    hours = [_hours(found[way, row]) for row in REPLICATING]
    off = [_hours(found[way, row]) for row in (OFF_PERMISSIVE, OFF_RESTRICTIVE)]
    mode = "" if way == OURS else "in the paper's mode: "
    bound = "by order, beyond the intervals"
    return [
        _least(f"{mode}restrictive replication makes the fewest replicas", replicas, "%"),
        _least(f"{mode}and wastes least", waste, "%"),
        Claim(f"{mode}all three are faster than none", bound,
              f"{_listed(hours)} against {_listed(off)} h",
              all(less(one, other) for one in hours for other in off)),
        known(_least(f"{mode}restrictive is the fastest of the three that replicate", hours, "h")),
        known(Claim(f"{mode}permissive: with restrictive matching more replicas and waste, and "
                    "longer", bound, f"{_listed(replicas[1:])} %, {_listed(waste[1:])} %, "
                    f"{_listed(hours[1:])} h",
                    all(less(*pair[1:]) for pair in (replicas, waste, hours)))),
    ]  # fmt: skip


def less(one: Running, other: Running) -> bool:
    """By more than both intervals leave open."""
    if one.count < 2:
        return one.mean < other.mean
    return other.mean - one.mean > hypot(one.half_width, other.half_width)


def _least(what: str, values: list[Running], unit: str) -> Claim:
    first, *others = values
    return Claim(what, "by order, beyond the intervals",
                 f"{mean(first)} against {_listed(others)} {unit}",
                 all(less(first, other) for other in others))  # fmt: skip


def _listed(values: list[Running]) -> str:
    *some, last = [mean(value) for value in values]
    return f"{', '.join(some)} and {last}"
