"""The event loop of one life of the server, in virtual time: `server/world.py` runs in it.

Timers ring a little late, so that several calls share a cycle. What another thread hands over
arrives when that thread's job is over. A closed loop runs nothing any more: that is how a process
dies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from .engine import MS, SECOND, Engine

MOST_LATE_US = 3 * MS


class Handle:
    """A callback to come. Nothing here keeps anything in a context, so there is none."""

    __slots__ = ("args", "dropped", "what")

    def __init__(self, what: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.what = what
        self.args = args
        self.dropped = False

    def cancel(self) -> None:
        self.dropped = True


class Loop(asyncio.AbstractEventLoop):
    def __init__(self, engine: Engine, after_each: Callable[[BaseException | None], None]) -> None:
        self._engine = engine
        self._after_each = after_each
        self._closed = False
        self.news: list[Handle] | None = None  # of a thread's job, until it is over
        self.call_left = False  # of that job: one call of a driver, should the process be dead

    # time

    def time(self) -> float:
        return self._engine.now / SECOND

    def call_soon(self, what: Any, *args: Any, context: Any = None) -> Any:
        handle = Handle(what, args)
        self._engine.at(self._engine.now, self.run_handle, handle)
        return handle

    def call_later(self, delay: float, what: Any, *args: Any, context: Any = None) -> Any:
        handle = Handle(what, args)
        late = 1 + int(self._engine.random.random() * MOST_LATE_US)
        self._engine.after(int(delay * SECOND) + late, self.run_handle, handle)
        return handle

    def call_soon_threadsafe(self, what: Any, *args: Any, context: Any = None) -> Any:
        if self.news is None:
            return self.call_soon(what, *args)
        self.news.append(Handle(what, args))
        return self.news[-1]

    def run_handle(self, handle: Handle) -> None:
        if not (self._closed or handle.dropped):
            self.run_now(handle.what, *handle.args)

    def run_now(self, what: Callable[..., object], *args: Any) -> None:
        fault: BaseException | None = None
        asyncio._set_running_loop(self)
        try:
            what(*args)
        except BaseException as error:
            fault = error
        finally:
            asyncio._set_running_loop(None)
        self._after_each(fault)

    # futures, tasks, threads

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coroutine: Any, **_: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coroutine, loop=self)

    def run_in_executor(self, executor: Executor, what: Any, *args: Any) -> asyncio.Future[Any]:
        return asyncio.wrap_future(executor.submit(what, *args), loop=self)

    # its end, and what asyncio asks of a loop

    def close(self) -> None:
        self._closed = True

    def is_closed(self) -> bool:
        return self._closed

    def is_running(self) -> bool:
        return not self._closed

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Of tasks that died with the process, and of futures nobody looked at."""
