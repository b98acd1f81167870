"""Successes that nobody has heard of yet: of several for one task, one becomes its result, and the
work of the others was of no use."""

from __future__ import annotations

from tailrace.simulation.host import Sent
from tailrace.simulation.job import Job
from tailrace.simulation.scenario import Calling, Scenario


class Unheard:
    def __init__(self) -> None:
        self._jobs: dict[tuple[int, int], list[Job]] = {}  # by bag and task

    def add(self, job: Job) -> None:
        sent: Sent = job.tag
        self._jobs.setdefault((sent.bag, sent.index), []).append(job)

    def settle(self, bag: int, index: int, winner: int | None) -> None:
        """Its result is that of this attempt; or none, when the task was given up."""
        for job in self._jobs.pop((bag, index), ()):
            sent: Sent = job.tag
            if sent.attempt != winner:
                sent.host.machine.discount(job)


def unheard_of(scenario: Scenario) -> Unheard | None:
    """None where every success is heard in the instant it comes."""
    news = scenario.news
    is_late = news.delay is not None or news.every_us or news.outage is not None
    gathers = any(machines.calls is Calling.WORKER for machines in scenario.pools)
    return Unheard() if is_late or gathers else None
