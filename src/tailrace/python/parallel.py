"""The backend for joblib, and so for scikit-learn: `joblib.parallel_config("tailrace")`.

joblib hands over batches of calls, each becomes a task. Nested calls run inside their task: on its
threads, not in further tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from joblib import register_parallel_backend
from joblib._parallel_backends import AutoBatchingMixin
from joblib.parallel import ParallelBackendBase

from tailrace.python.executor import Executor


class TailraceBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    supports_retrieve_callback = True
    supports_timeout = True
    supports_return_generator = True
    default_n_jobs = -1

    def __init__(self, nesting_level: int | None = None, **options: Any) -> None:
        """`options` are those of `tailrace.Executor`."""
        self._options = {name: options.pop(name) for name in list(options) if name in _OURS}
        super().__init__(nesting_level=nesting_level, **options)
        self._executor: Executor | None = None

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None or self.nesting_level not in (None, 0):
            return 1
        given = self._options.get("workers") or self._options.get("max_workers")
        return int(given or cores()) if n_jobs < 0 else n_jobs

    def configure(
        self,
        n_jobs: int = 1,
        parallel: Any = None,
        prefer: Any = None,
        require: Any = None,
        **_: Any,
    ) -> int:
        count = self.effective_n_jobs(n_jobs)
        self.parallel = parallel
        options = {name: self._options[name] for name in self._options if name != "max_workers"}
        self._executor = Executor(**{"workers": count, **options})
        return count

    def submit(self, func: Callable[[], Any], callback: Callable[[Any], None]) -> Future[Any]:
        assert self._executor is not None
        future = self._executor.submit(func)
        future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, future: Future[Any]) -> Any:
        return future.result()

    def terminate(self) -> None:
        self._close(cancel=False)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        self._close(cancel=True)
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)

    def _close(self, *, cancel: bool) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(cancel_futures=cancel)


_OURS = (
    "workers", "max_workers", "folder", "server", "time_limit", "memory_limit", "memory", "gpus",
    "cores", "retries",
)  # fmt: skip


def cores() -> int:
    import os

    return len(os.sched_getaffinity(0))


def register_joblib() -> None:
    register_parallel_backend("tailrace", TailraceBackend)
