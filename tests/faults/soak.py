"""Many seeds, or one with its trace.

python -m tests.faults.soak --seeds 20000 [--first N] [--jobs 2]
python -m tests.faults.soak --seed 1234 --trace
python -m tests.faults.soak --seeds 500 --postgres
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
from collections.abc import Iterable, Iterator

from tests.database import Database

from . import planted
from .oracle import Violation
from .world import Parts, Told, run

REPLAY = "python -m tests.faults.soak"


def try_one(seed: int, store: str = "") -> tuple[int, Told | str]:
    try:
        return seed, run(seed, store=store)
    except Violation as violation:
        return seed, str(violation)


def one(seed: int, trace: bool, parts: Parts) -> int:
    try:
        print(run(seed, parts, print if trace else None))
    except Violation as violation:
        print(violation)
        if violation.__cause__ is not None:
            raise violation.__cause__ from None
        return 1
    return 0


def many(told_of: Iterable[tuple[int, Told | str]], first: int, count: int) -> int:
    began, failed, done = time.monotonic(), 0, 0
    try:
        for seed, told in told_of:
            done += 1
            if isinstance(told, str):
                failed += 1
                print(f"\nseed {seed}: {told}\n  replay: {REPLAY} --seed {seed} --trace")
            if done % 50 == 0 or done == count:
                rate = done / (time.monotonic() - began)
                progress = f"{done}/{count} seeds, {failed} failed, {rate:.1f} seeds/s"
                print(f"\r{progress}", end="", flush=True)
    except KeyboardInterrupt:
        print(f"\nstopped after {done} seeds", end="")
    print(f"\n{done} seeds from {first}: {failed} failed")
    return 1 if failed else 0


def outcomes(seeds: range, jobs: int) -> Iterator[tuple[int, Told | str]]:
    if jobs == 1:
        yield from map(try_one, seeds)
        return
    deaf = signal.signal  # Ctrl-C is for the parent alone
    with multiprocessing.Pool(jobs, deaf, (signal.SIGINT, signal.SIG_IGN)) as pool:
        yield from pool.imap_unordered(try_one, seeds, chunksize=4)


def in_postgres(seeds: range) -> Iterator[tuple[int, Told | str]]:
    """One after another, each in a schema of its own."""
    database = Database()
    try:
        for seed in seeds:
            yield try_one(seed, database.url())
    finally:
        database.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--trace", action="store_true", help="say all that happens")
    parser.add_argument("--planted", choices=planted.FAULTS, help="with this fault put in")
    parser.add_argument("--postgres", action="store_true", help="with the store in PostgreSQL")
    given = parser.parse_args()
    if given.seed is not None:
        parts = planted.FAULTS[given.planted].parts if given.planted else Parts()
        return one(given.seed, given.trace, parts)
    seeds = range(given.first, given.first + given.seeds)
    told_of = in_postgres(seeds) if given.postgres else outcomes(seeds, given.jobs)
    return many(told_of, given.first, given.seeds)


if __name__ == "__main__":
    sys.exit(main())
