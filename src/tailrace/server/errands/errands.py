"""Errands are run: one process each, a few of one user at once, and a few in all.

Threads would not do: they take turns with the event loop, which waits for its own at each step of a
commit. What another process computes costs the loop nothing but to start it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process, create_subprocess_exec
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec

from tailrace.errors import BadInput
from tailrace.server.errands.deeds import Deed, Said
from tailrace.server.errands.frames import Frames
from tailrace.server.errands.told import MOST_S, TOO_LONG, Told, Undone
from tailrace.server.people.principals import Principal
from tailrace.server.protocol import encode

MOST = 4
MOST_OF_ONE = 2  # user: his long ones make no others wait
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # each that numpy starts takes of the memory it may have

_read_told = msgspec.json.Decoder(Told).decode


class Errands:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._all = asyncio.Semaphore(MOST)
        self._of_one: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(MOST_OF_ONE)
        )

    async def run(self, who: Principal, deed: Deed, said: Said, body: bytes = b"") -> Frames:
        """What the deed gives; BadInput as it would be said here, or `Undone`."""
        async with self._of_one[str(who)], self._all:
            try:
                answered = await self._ran(deed, said, body)
            except OSError as error:
                raise Undone(f"no process can be started: {error.strerror}") from None
        told = _read_told(answered[0])
        if told.bad:
            raise BadInput(told.bad)
        if told.undone:
            raise Undone(told.undone)
        return answered

    async def _ran(self, deed: Deed, said: Said, body: bytes) -> Frames:
        with ExitStack() as stack:
            question, answer = (stack.enter_context(_in_memory()) for _ in range(2))
            await asyncio.to_thread(_put, question, encode(said), body)
            # -P: a `random.py` of the user's in this folder must not become the child's.
            words = [sys.executable, "-P", "-m", "tailrace.server.errands", deed, str(self._folder)]
            env = {**os.environ, **ONE_THREAD}
            process = await create_subprocess_exec(*words, stdin=question, stdout=answer, env=env)
            question.close()
            code = await _ended(process)
            if code == -signal.SIGXCPU:
                raise BadInput(TOO_LONG)
            if code:
                raise Undone(f"the process that saw to it has ended with code {code}")
            stack.pop_all()
            return Frames(answer)


async def _ended(process: Process) -> int:
    """Who waits no longer ends it."""
    try:
        async with asyncio.timeout(MOST_S):
            return await process.wait()
    except TimeoutError:
        return -signal.SIGXCPU
    finally:
        if process.returncode is None:
            process.kill()


def _in_memory() -> IO[bytes]:
    """What is sent may hold the values of secrets, which no disk may have in clear."""
    return os.fdopen(os.memfd_create("errand"), "w+b")


def _put(file: IO[bytes], said: bytes, body: bytes) -> None:
    file.write(said + b"\n")
    file.write(body)
    file.flush()
    file.seek(0)
