"""A scenario file, run in several cases with several seeds, all of them side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from tailrace.bag.tables import read_toml
from tailrace.bag.textfile import read_text
from tailrace.simulation import settings
from tailrace.simulation.experiment import Todo, run_all
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.running import Running
from tailrace.simulation.scenario import Scenario

SCENARIOS = Path(__file__).parent / "scenarios"
Figures = dict[str, float]
Told = TypeVar("Told")
Given = TypeVar("Given")
Changes = Sequence[str]  # `bags.jobs.length=90m`, as --set has them


class Runs:
    """How a study asks for its runs; `small` changes every scenario, for a short look or a test."""

    def __init__(self, seeds: int = 20, processes: int = 1, small: Changes = ()) -> None:
        self.seeds = seeds
        self._processes = processes
        self._small = tuple(small)

    def of(
        self,
        file: str,
        cases: Mapping[Any, Changes],
        folder: Path | None = None,
        most: int | None = None,
    ) -> dict[Any, list[Figures]]:
        """The figures of each seed, for each case. Data that a scenario names are in `folder`.
        Of runs that take long, there are no more than `most` seeds."""
        scenarios = {case: self.scenario(file, cases[case], folder) for case in cases}
        seeds = self.seeds if most is None else min(self.seeds, most)
        todos = [Todo(one, seed) for one in scenarios.values() for seed in range(seeds)]
        found = self._done(file, todos)
        return {
            case: found[number * seeds : (number + 1) * seeds] for number, case in enumerate(cases)
        }

    def told(
        self,
        file: str,
        cases: Mapping[Any, Changes],
        tell: Callable[[Scenario, int], Told],
        most: int | None = None,
    ) -> dict[Any, list[Told]]:
        """The same, where a study has its own way to run a scenario and to tell of it."""
        seeds = self.seeds if most is None else min(self.seeds, most)
        todos = [
            (self.scenario(file, cases[case]), seed) for case in cases for seed in range(seeds)
        ]
        found = []
        with ProcessPoolExecutor(self._processes) as pool:
            each = pool.map if self._processes > 1 else map
            for told in each(tell, *zip(*todos, strict=True)):
                found.append(told)
                _progress(file, len(found), len(todos))
        return {
            case: found[number * seeds : (number + 1) * seeds] for number, case in enumerate(cases)
        }

    def each(self, do: Callable[[Given], Told], some: Sequence[Given]) -> list[Told]:
        """Where a study has something else to do than to run scenario files."""
        found = []
        with ProcessPoolExecutor(self._processes) as pool:
            for told in (pool.map if self._processes > 1 else map)(do, some):
                found.append(told)
                _progress(do.__name__, len(found), len(some))
        return found

    def scenario(self, file: str, changes: Changes, folder: Path | None = None) -> Scenario:
        path = SCENARIOS / file
        text = read_text(path, file)
        chosen = [settings.one(change) for change in (*changes, *self._small)]
        data = settings.changed(read_toml(text, file), chosen)
        typed = {change.path: change.flag for change in chosen}
        return read_scenario(data, file, text, folder or path.parent, typed)

    def _done(self, file: str, todos: list[Todo]) -> list[Figures]:
        found: dict[int, Figures] = {}
        for ended in run_all(todos, self._processes):
            if ended is not None:
                found[ended[0]] = ended[1].figures
                _progress(file, len(found), len(todos))
        return [found[number] for number in range(len(todos))]


def _progress(file: str, done: int, count: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == count else ""
        print(f"\r{file}: {done} of {count} runs", end=end, file=sys.stderr, flush=True)


def over(found: Iterable[Told], measure: Callable[[Told], float]) -> Running:
    """Mean and interval of what a measure makes of each run."""
    running = Running()
    for run in found:
        running.add(measure(run))
    return running


def finished(found: list[Figures]) -> list[Figures]:
    """The runs in which every task has its result: the others have no makespan."""
    return [figures for figures in found if figures["makespan_s"] is not None]


def jobs_lost(figures: Figures) -> float:
    """In percent of those that ended one way or the other."""
    ended = figures["tasks_failed"] + figures["tasks_done"]
    return 100 * figures["tasks_failed"] / ended if ended else 0.0


def work_lost(figures: Figures) -> float:
    return 100 * figures["work_lost"]


def unavailable(figures: Figures) -> float:
    return 100 * (1 - figures["availability"])
