"""Tasks under way that tell how far they are, in words."""

from __future__ import annotations

from tailrace.cli import screen
from tailrace.cli.servers.calling import call
from tailrace.errors import ServerError
from tailrace.quantities import SECOND, show_duration
from tailrace.scheduler.progress import Halfway
from tailrace.server.tables.lock import Owner

MOST = 4  # in a view
MOST_TEXT = 40


def line(one: Halfway) -> str:
    beside = f" ({screen.short(one.text, MOST_TEXT)})" if one.text else ""
    return f"task {one.task}: {100 * one.done:.0f} %{beside}{_left(one)}, on {one.host}"


def _left(one: Halfway) -> str:
    if one.left_us is None or one.done >= 1:
        return ""
    time = show_duration(abs(one.left_us) // SECOND * SECOND)
    return f", about {time} left" if one.left_us >= 0 else f", {time} later than it seemed"


def brief(every: list[Halfway]) -> str:
    """The oldest, for a line that has much else to say."""
    return f"task {every[0].task} at {100 * every[0].done:.0f} %" if every else ""


def ask(owner: Owner | None, bag: int, most: int = MOST) -> list[Halfway]:
    """Only a server knows; one that has just ended knows nothing any more."""
    if owner is None:
        return []
    path = f"/api/v1/bags/{bag}/progress?most={most}"
    try:
        found: list[Halfway] = call(owner, "GET", path, kind=list[Halfway])
    except ServerError:
        return []
    return found
