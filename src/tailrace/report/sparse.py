"""Results of a bag of which most tasks may have none: those are made when they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tailrace.report.record import Result


class Sparse:
    """One result per task of a range, in their order; ``done`` has those of tasks that ended."""

    def __init__(
        self, done: Iterable[Result], tasks: range, missing: Callable[[int], Result]
    ) -> None:
        self.done = done
        self._tasks = tasks
        self._missing = missing

    def __iter__(self) -> Iterator[Result]:
        expected = self._tasks.start
        for result in self.done:
            yield from map(self._missing, range(expected, result.task))
            expected = result.task + 1
            yield result
        yield from map(self._missing, range(expected, self._tasks.stop))

    def telling(self) -> Iterator[Result]:
        """Those that have all columns there are: all tasks have the parameters of the first."""
        yield from map(self._missing, self._tasks[:1])
        yield from self.done

    def with_done(self, done: Iterable[Result]) -> Sparse:
        return Sparse(done, self._tasks, self._missing)
