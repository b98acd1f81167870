"""Threads of the server: so many jobs at once, each of which takes its time.

What a job tells the loop is heard when the job is over. Jobs that wait die with the server; one
under way is cut off, unless it has left the server already, as the call of a driver has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from .engine import SECOND

if TYPE_CHECKING:
    from .server import Server


class Died(BaseException):
    """The process ends here. No `except Exception` of the product keeps it alive."""


class Threads(Executor):
    def __init__(self, server: Server, name: str, count: int) -> None:
        self._server, self._loop, self._life = server, server.loop, server.life
        self._engine = server.world.engine
        self._outlives = name == "drivers"
        self._jobs: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._free = count

    def submit(self, what: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if not self._server.lives(self._life):
            return future
        self._jobs.append((future, lambda: what(*args, **named)))
        self._next()
        return future

    def _next(self) -> None:
        if self._jobs and self._free:
            self._free -= 1
            self._engine.after(self._engine.between(1, SECOND), self._do, *self._jobs.popleft())

    def _do(self, future: Future[Any], job: Callable[[], Any]) -> None:
        if not (self._outlives or self._server.lives(self._life)):
            return
        self._loop.news = news = []
        self._loop.call_left = True
        try:
            self._work(future, job)
        except Died as death:
            self._server.die(str(death), self._life)
        finally:
            self._loop.news = None
        self._engine.after(self._engine.between(1, SECOND), self._over, news)

    def _work(self, future: Future[Any], job: Callable[[], Any]) -> None:
        try:
            future.set_result(job())
        except Exception as error:
            future.set_exception(error)

    def _over(self, news: list[Any]) -> None:
        self._free += 1
        for handle in news:
            self._loop.run_handle(handle)
        if self._server.lives(self._life):
            self._next()
