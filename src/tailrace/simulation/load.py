"""Speed and background load that change in time, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tailrace.simulation.engine import Engine, Handle, Rank

Step = tuple[int, float]


class Steps:
    """Calls `set_value(value)` at each `(at_us, value)` of a trace, which may have no end: only its
    next step is asked for. Steps before now have already been: the last of them holds."""

    __slots__ = ("_due", "_engine", "_set", "_trace")

    def __init__(
        self, engine: Engine, set_value: Callable[[float], object], trace: Iterable[Step]
    ) -> None:
        self._engine = engine
        self._set = set_value
        self._trace: Iterator[Step] = iter(trace)
        self._due: Handle = 0
        self._await_next()

    def stop(self) -> None:
        """The value stays as it is: its machine is gone."""
        self._engine.cancel(self._due)

    def _await_next(self) -> None:
        for at, value in self._trace:
            if at > self._engine.now:
                self._due = self._engine.put(at, Rank.LOAD, self._step, value)
                return
            self._set(value)

    def _step(self, value: float) -> None:
        self._set(value)
        self._await_next()


def drawn(draw: Callable[[], Step], since_us: int = 0) -> Iterator[Step]:
    """A trace from draws of (for how long, which value)."""
    at = since_us
    while True:
        lasts_us, value = draw()
        if lasts_us <= 0:
            raise ValueError(f"a step of {lasts_us} µs was drawn: each must last")
        yield at, value
        at += lasts_us
