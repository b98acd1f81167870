"""Which moment of a run is meant: `90s` after its submission, or a time of the clock."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from tailrace.errors import BadInput
from tailrace.quantities import duration_us
from tailrace.report import words

_EXAMPLES = "90s, 1h30m, 14:05:30 or 2026-03-01 14:05"


def moment_us(text: str, submitted_us: int, last_us: int) -> int:
    """A duration counts from the submission; a time of day is that of its day, or of the next, if
    it is before the submission and the run went on until then."""
    text = text.strip()
    try:
        return submitted_us + duration_us(text)
    except ValueError:
        pass
    began, last = (datetime.fromtimestamp(us / 1e6) for us in (submitted_us, last_us))
    found = _clock(text, began, last)
    if found is None:
        raise BadInput(f"--until {text!r} is no moment", remedy=f"Write it as {_EXAMPLES}.")
    return round(found.timestamp() * 1e6)


def _clock(text: str, submitted: datetime, last: datetime) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    try:
        found = datetime.combine(submitted.date(), time.fromisoformat(text))
    except ValueError:
        return None
    early = found.replace(tzinfo=None) < submitted.replace(microsecond=0)
    return found + timedelta(days=1) if early and last.date() > submitted.date() else found


def shown(at_us: int, submitted_us: int) -> str:
    """Both ways: `3.2 s after its submission (2026-03-01 14:05:33)`."""
    apart = words.duration(at_us - submitted_us)
    return f"{apart} after its submission ({words.moment(at_us)[:19]})"
