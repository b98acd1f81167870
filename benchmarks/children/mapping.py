"""Maps a function over so many numbers with one engine, and prints the seconds until all results.

It is run by the Python that has the engine, and needs nothing else. The clock begins when the
engine has started and has made its first calls; all results are looked at.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

WARM_UP = 200
Results = list[int]


def square(x: int) -> int:
    return x * x


def in_tailrace(most: int | None) -> Callable[[range], Results]:
    """`most` calls in hand at once; None: as many as it likes."""
    import tailrace

    executor = tailrace.Executor(2)
    return lambda numbers: list(executor.map(square, numbers, buffersize=most))


def in_ray() -> Callable[[range], Results]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    remote = ray.remote(square)
    return lambda numbers: ray.get([remote.remote(x) for x in numbers])


def in_dask() -> Callable[[range], Results]:
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    )
    client = Client(cluster)
    return lambda numbers: client.gather(client.map(square, numbers, pure=False))


def printed_square(x: int) -> None:
    print(x * x)


def in_hyperqueue() -> Callable[[range], Results]:
    """A function of its own returns nothing: it prints, and its output is a file for each call."""
    import tempfile
    from pathlib import Path

    from hyperqueue import Job, LocalCluster
    from hyperqueue.cluster import WorkerConfig
    from hyperqueue.task.function import PythonEnv

    cluster = LocalCluster(worker_config=WorkerConfig(cores=2))
    client = cluster.client(python_env=PythonEnv(python_bin=sys.executable))

    def mapped(numbers: range) -> Results:
        with tempfile.TemporaryDirectory() as folder:
            job = Job(default_workdir=folder)
            for x in numbers:
                job.function(printed_square, args=(x,), stdout=f"{folder}/{x}", stderr=None)
            client.wait_for_jobs([client.submit(job)])
            return [int(Path(folder, str(x)).read_text()) for x in numbers]

    return mapped


ENGINES: dict[str, Callable[[], Callable[[range], Results]]] = {
    "tailrace": lambda: in_tailrace(None),
    "unbundled": lambda: in_tailrace(2),
    "ray": in_ray,
    "dask": in_dask,
    "hyperqueue": in_hyperqueue,
}


def main(engine: str, count: int) -> None:
    mapped = ENGINES[engine]()
    mapped(range(min(WARM_UP, count // 10)))
    began = time.monotonic()
    results = mapped(range(count))
    lasted = time.monotonic() - began
    assert results == [x * x for x in range(count)]
    print(lasted, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
