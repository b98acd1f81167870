"""Durations, sizes and money as people write them, and as integers that never round.

* A duration is an integer of microseconds: `90s`, `5m`, `1h30m`, `1.5h`, `2d`; a bare number is
  seconds.
* A size is an integer of bytes: `4 GiB`, `512M`, `500MB`, `1e9`; a bare number is bytes. `K`, `M`,
  `G`, `T` and `KiB` … are powers of 1024; `KB`, `MB` … are powers of 1000, as on a disk's label.
* Money is an integer of micro-units in the unit its user names: `20 USD`, `1.5 kWh`, `3000 SU`.
  The unit is never guessed. A price is money per time: `0.10 USD/h`.

All functions raise `ValueError` with a sentence that says what was expected.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

SECOND = 1_000_000
MICRO = 1_000_000
MOST = 2**63 - 1

_TIME = {
    "us": 1,
    "ms": 1_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
    "d": 86_400 * SECOND,
    "w": 7 * 86_400 * SECOND,
}
_TIME_WORDS = {
    **_TIME,
    **dict.fromkeys(("sec", "secs", "second", "seconds"), _TIME["s"]),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), _TIME["m"]),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), _TIME["h"]),
    **dict.fromkeys(("day", "days"), _TIME["d"]),
    **dict.fromkeys(("week", "weeks"), _TIME["w"]),
}
_LETTERS = ("k", "m", "g", "t", "p")
_SIZE = {
    "": 1,
    "b": 1,
    **{letter: 1024**power for power, letter in enumerate(_LETTERS, 1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate(_LETTERS, 1)},
    **{f"{letter}b": 1000**power for power, letter in enumerate(_LETTERS, 1)},
}
_NUMBER = r"(?:\d+(?:_\d+)*\.?\d*|\.\d+)"
_DURATION = re.compile(rf"({_NUMBER})\s*([a-zµ]+)\s*", re.IGNORECASE)
_SIZED = re.compile(rf"({_NUMBER}(?:e\+?\d{{1,3}})?)\s*([a-z]*)", re.IGNORECASE)
_MONEY = re.compile(rf"({_NUMBER}(?:[eE]\+?\d{{1,3}})?)\s*((?![eE]\d)[A-Za-z€$£][\w€$£]*)")
MOST_DIGITS = 1000  # of a number that is reckoned with: beyond, the reckoning itself may overflow

Written = str | int | float | Decimal


class Money(NamedTuple):
    unit: str
    micros: int


class Price(NamedTuple):
    unit: str
    micros: int
    per_us: int  # the time that they are for


def duration_us(written: Written) -> int:
    """`"1h30m"` → 5_400_000_000."""
    plain = _plain(written)
    if plain is not None:
        return _whole(plain * SECOND, written)
    text = str(written).strip()
    parts = _DURATION.findall(text)
    if text.startswith("-") and parts:
        raise ValueError(f"{_said(written)} is negative, and a duration is not")
    if not parts or _DURATION.sub("", text):
        raise ValueError(f"{_said(written)} is not a duration such as 90s, 5m, 1h30m or 2d")
    return _whole(sum((_part_us(n, unit, text) for n, unit in parts), Decimal(0)), written)


def size_bytes(written: Written) -> int:
    """`"4 GiB"` → 4_294_967_296."""
    plain = _plain(written)
    if plain is not None:
        return _whole(plain, written)
    found = _SIZED.fullmatch(str(written).strip())
    if found is None or found[2].lower() not in _SIZE:
        raise ValueError(f"{_said(written)} is not a size such as 4 GiB, 512M or 500MB")
    if re.fullmatch("[A-Z]b", found[2]):
        letter = found[2][0]
        raise ValueError(f"{_said(written)}: {found[2]} may be bits or bytes, so write {letter}B, "
                         f"or {letter}bit where bits are meant")  # fmt: skip
    return _whole(Decimal(found[1]) * _SIZE[found[2].lower()], written)


def money(written: Written) -> Money:
    """`"20 USD"` → Money("USD", 20_000_000)."""
    unit, micros = _amount(written)
    return Money(unit, _whole(micros, written))


def price(written: str) -> Price:
    """`"0.10 USD/h"` → Price("USD", 100_000, 3_600_000_000). Nothing is rounded: of less than a
    micro-unit, the price is that of ten, a hundred … times as long."""
    amount, slash, per = str(written).partition("/")
    priced = slash and _MONEY.fullmatch(amount.strip()) is not None
    if not priced or per.strip().lower() not in _TIME_WORDS:
        raise ValueError(f"{_said(written)} is not a price such as 0.10 USD/h")
    unit, micros = _amount(amount)
    tens = 10 ** max(-int(micros.normalize().as_tuple().exponent), 0)
    found = Price(unit, _whole(micros * tens, written), price_unit_us(written) * tens)
    if found.per_us > MOST:
        raise ValueError(f"{_said(written)} has more digits than can be counted")
    return found


def price_unit_us(written: str) -> int:
    """The time a price is for, which is billed whole unless another is named: `"0.10 USD/h"`."""
    return _TIME_WORDS[str(written).partition("/")[2].strip().lower()]


def show_duration(us: int) -> str:
    """Exact, and read back by `duration_us`: 5_400_000_000 → `"1h30m"`."""
    if us == 0:
        return "0s"
    words, rest = [], us
    for unit in ("d", "h", "m"):
        count, rest = divmod(rest, _TIME[unit])
        words += [f"{count}{unit}"] if count else []
    return "".join(words + ([f"{_trim(Decimal(rest) / SECOND)}s"] if rest else []))


def show_size(size: int) -> str:
    """For people, to four digits: 4_294_967_296 → `"4 GiB"`."""
    amount, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1023.95:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.4g} {unit}"


def show_money(unit: str, micros: int | Decimal) -> str:
    """Exact, at least two digits behind the point unless it is whole: `"0.10 USD"`."""
    if micros % MICRO == 0:
        return f"{int(micros) // MICRO} {unit}"
    text = _trim(Decimal(micros) / MICRO)
    return f"{text}0 {unit}" if text[-2] == "." else f"{text} {unit}"


def named_price(price: Price) -> tuple[str, int]:
    """As money for a second, a minute, an hour, a day or a week, exactly: `("0.0028 USD", …)`. Of a
    time that is none of them, nor ten, a hundred … of them: for an hour, to the micro-unit."""
    for word in ("s", "m", "h", "d", "w"):
        times = (Decimal(price.per_us) / _TIME[word]).normalize()
        if times.as_tuple().digits == (1,):
            return show_money(price.unit, price.micros / times), _TIME[word]
    return show_money(price.unit, round(price.micros * _TIME["h"] / price.per_us)), _TIME["h"]


def show_price(price: Price) -> str:
    """Read back by the function `price`: `"0.0028 USD/h"`."""
    amount, per_us = named_price(price)
    word = next(word for word, us in _TIME.items() if us == per_us)
    return f"{amount}/{'min' if word == 'm' else word}"


def _amount(written: Written) -> tuple[str, Decimal]:
    """Its unit, and micro-units of it that need not be whole."""
    found = _MONEY.fullmatch(str(written).strip())
    if found is None:
        example = f"{written} USD" if _plain(written) is not None else "20 USD"
        raise ValueError(f"{_said(written)} is not an amount with its unit, such as {example!r}")
    return found[2], Decimal(found[1]) * MICRO


def _said(written: object) -> str:
    return repr(written) if isinstance(written, str) else str(written)


def _plain(written: Written) -> Decimal | None:
    """The number, when it is one and nothing else."""
    if isinstance(written, bool):
        raise ValueError(f"{str(written).lower()} is neither a number nor a quantity")
    try:
        number = Decimal(str(written).strip())
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    if number.adjusted() > MOST_DIGITS:
        raise ValueError(f"{_said(written)} is too large")
    return number


def _part_us(number: str, unit: str, text: str) -> Decimal:
    factor = _TIME_WORDS.get(unit.lower().replace("µ", "u"))
    if factor is None:
        raise ValueError(f"{unit!r} in {text!r} is not a unit of time: s, m, h, d or w")
    return Decimal(number) * factor


def _whole(amount: Decimal, written: Written) -> int:
    if amount < 0:
        raise ValueError(f"{written!r} is negative")
    if amount > MOST:
        raise ValueError(f"{written!r} is too large")
    return int(amount.to_integral_value())


def _trim(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
