"""Numbers as a reader wants them: rounded to what matters, unlike `tailrace.quantities`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from tailrace.quantities import show_money

_US = (("day", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000))


def duration(us: float) -> str:
    """To three digits or two units: `850 µs`, `1.25 s`, `3 min 12 s`, `2 days 5 h`."""
    if us < 0:
        return "−" + duration(-us)
    if us < 999.5:
        return f"{us:.3g} µs" if us else "0 s"
    if us < 999_500:
        return f"{us / 1e3:.3g} ms"
    if us < 59_950_000:
        return f"{us / 1e6:.3g} s"
    return _two_units(round(us))


def _two_units(us: int) -> str:
    place = next(i for i, (_, size) in enumerate(_US) if us >= size or i == 2)
    small = _US[place + 1][1]
    us = (us + small // 2) // small * small
    if place and us >= _US[place - 1][1]:
        place -= 1
    (unit, size), (below, part) = _US[place], _US[place + 1]
    whole, rest = us // size, us % size // part
    unit = "days" if unit == "day" and whole != 1 else unit
    return f"{whole:,} {unit} {rest} {below}" if rest else f"{whole:,} {unit}"


def tasks(numbers: Sequence[int], most: int = 3) -> str:
    """`task 7`, `tasks 1, 2, 5 and 9 more`."""
    if len(numbers) == 1:
        return f"task {numbers[0]}"
    more = f" and {len(numbers) - most:,} more" if len(numbers) > most else ""
    return f"tasks {', '.join(map(str, numbers[:most]))}{more}"


def money(cost: Mapping[str, int]) -> str:
    """Amounts by currency, or a plain 0."""
    return " + ".join(show_money(unit, micros) for unit, micros in sorted(cost.items())) or "0"


def share(part: float | None) -> str:
    """Of one, as per cent; never rounded to 0 or 100 unless it is."""
    if part is None:
        return "–"
    percent = part * 100
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.3g} %" if percent < 99.5 else f"{percent:.4g} %"


def rate(per_s: float | None) -> str:
    """Tasks per second, minute, hour or day: the first that is at least one."""
    if not per_s:
        return "–"
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        if per_s * seconds >= 1:
            return f"{_three(per_s * seconds)} per {unit}"
    return f"{_three(per_s * 86_400)} per day"


def _three(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def count(number: int, one: str, many: str = "") -> str:
    """`1 task`, `1,200 tasks`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def moment(us: int | None) -> str:
    """Local wall time to the second, with its offset."""
    if us is None:
        return "–"
    try:
        local = datetime.fromtimestamp(us / 1e6).astimezone()
    except (ValueError, OverflowError, OSError):
        return f"{us} µs"
    return local.strftime("%Y-%m-%d %H:%M:%S %z")
