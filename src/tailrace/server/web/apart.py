"""What takes its time to read: in a thread of its own, and so with a link of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tailrace.server.records import reading
from tailrace.server.tables.link import Link

T = TypeVar("T")


async def apart(folder: Path, ask: Callable[[Link], T]) -> T:
    return await asyncio.to_thread(_asked, folder, ask)


def _asked(folder: Path, ask: Callable[[Link], T]) -> T:
    link = reading.open_store(folder)
    try:
        return ask(link)
    finally:
        link.close()
