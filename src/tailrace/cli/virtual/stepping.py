"""The journal of a store, stepped through: what `replay` and `simulate RUN --until` share."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tailrace.errors import BadInput, StoreError
from tailrace.scheduler.journal import Replay, Step
from tailrace.server.records import reading
from tailrace.server.tables.link import Link

#: What a scheduler may stumble over in a journal that is not its own.
STUMBLES = (KeyError, AssertionError, AttributeError, IndexError, TypeError)


class OtherVersion(StoreError):
    """The journal does not mean to this scheduler what it meant to the one that wrote it."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"this journal is of another version of tailrace: {why}",
            remedy="Read it with the version that ran the bag. `tailrace status`, `results` and "
            "`report` read the tables, which hold.",
        )


def replay_of(link: Link, *, check: bool = False) -> Replay:
    return Replay(reading.journal(link), check=check)


def steps(replay: Replay, until_us: int | None = None) -> Iterator[Step]:
    """Those that decide as they did; else the state would be another than it was."""
    count = 0
    try:
        for step in replay.steps(until_us):
            count += 1
            if not step.same:
                what = type(step.event).__name__
                raise OtherVersion(f"event {count} ({what}) is decided otherwise")
            yield step
    except msgspec.MsgspecError as error:
        raise unreadable(error) from error
    except STUMBLES as error:
        raise OtherVersion(f"after {count} events the scheduler fails: {error!r}") from error


def unreadable(error: msgspec.MsgspecError) -> OtherVersion:
    """A page of the journal, not a table: the store itself is sound."""
    return OtherVersion(f"a page cannot be read: {error}")


def no_journal() -> BadInput:
    remedy = "It is kept unless the setting `journal` is false; see `tailrace config`."
    return BadInput("there is no journal to replay here", remedy=remedy)
