"""The settings there are: how each is written, what it means, and its default."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from tailrace.quantities import duration_us, price, show_duration, show_size, size_bytes
from tailrace.server.files.retention import Retention
from tailrace.server.tables import storeurl


class Setting(msgspec.Struct, frozen=True):
    name: str
    default: Any
    read: Callable[[Any], Any]  # raises ValueError with a sentence
    example: str
    about: str

    @property
    def variable(self) -> str:
        return f"TAILRACE_{self.name.upper()}"

    def show(self, value: Any) -> str:
        """As one would write it."""
        if value is None:
            return {"report": "auto", "quota": "none"}.get(self.name, "all")
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, tuple):
            return ", ".join(value) or "none"
        if self.name in ("memory", "quota"):
            return show_size(value)
        if self.name == "store":
            return storeurl.shown(value) if value else "file"
        if isinstance(value, Retention):
            return "for ever" if value.keep_us is None else show_duration(value.keep_us)
        if self.name == "minimum":
            return show_duration(value)
        return f"{value:g}" if isinstance(value, float) else str(value)


def _cores(written: Any) -> float | None:
    text = str(written).strip()
    if text == "all":
        return None
    if text.endswith("%"):
        return _share_of_cores(text)
    try:
        count = Decimal(str(_scalar(written)).strip())
    except InvalidOperation:
        raise ValueError(f"{written!r} is not a number of cores") from None
    if not count.is_finite() or not Decimal("0.001") <= count <= 1_000_000:
        raise ValueError(f"{written} is not a number of cores above 0")
    return float(count)


def _share_of_cores(text: str) -> float:
    """Of this machine's, whole ones, and never none."""
    from tailrace.worker.machine import cores

    share = text.removesuffix("%").strip()
    if not share.isdecimal() or not 0 < int(share) <= 1000:
        raise ValueError(f"{text} is not a share of the cores such as 50%")
    return float(max(cores() * int(share) // 100, 1))


def _memory(written: Any) -> int | None:
    if written == "all":
        return None
    size = size_bytes(_scalar(written))
    if size == 0:
        raise ValueError(f"{written} of memory leaves nothing for a task")
    return size


def _port(written: Any) -> int:
    text = str(_scalar(written)).strip()
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise ValueError(f"{written!r} is not a port between 0 and 65535")
    return int(text)


def _price(written: Any) -> str:
    text = str(_scalar(written)).strip()
    if text in ("0", "0.0", "free"):
        return "0"
    price(text)
    return text


def _truth(written: Any) -> bool:
    if isinstance(written, bool):
        return written
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if str(written).lower() not in words:
        raise ValueError(f"{written!r} is neither true nor false")
    return words[str(written).lower()]


def _report(written: Any) -> bool | None:
    return None if written in ("auto", None) else _truth(written)


def _color(written: Any) -> str:
    if written not in ("auto", "always", "never"):
        raise ValueError(f"{written!r} is none of auto, always, never")
    return str(written)


def _minimum(written: Any) -> int:
    return duration_us(_scalar(written))


def _scalar(written: Any) -> Any:
    if isinstance(written, (bool, list, dict)):
        kind = {bool: str(written).lower(), list: "a list", dict: "a table"}[type(written)]
        raise ValueError(f"{kind} is not a quantity")
    return written


def _store(written: Any) -> str:
    """A file of the folder, or the URL of a database."""
    if written == "file":
        return ""
    url = str(_scalar(written)).strip()
    storeurl.read(url)
    return url


def _notify(written: Any) -> tuple[str, ...]:
    """Web hooks and commands: one, or a list."""
    found = tuple(written) if isinstance(written, list) else (written,)
    if any(not isinstance(one, str) or not one.strip() for one in found):
        raise ValueError(f"{written!r} is neither the address of a web hook nor a command")
    return () if found == ("none",) else found


def _quota(written: Any) -> int | None:
    return None if written == "none" else size_bytes(_scalar(written))


def _retention(written: Any) -> Retention:
    """A time, or a table."""
    given = dict(written) if isinstance(written, dict) else {"keep": written}
    keep, failed = given.pop("keep", "for ever"), given.pop("keep_failed_output", None)
    if given:
        raise ValueError(f"{next(iter(given))!r} is neither keep nor keep_failed_output")
    keep_us = None if keep == "for ever" else duration_us(_scalar(keep))
    failed_us = None if failed is None else duration_us(_scalar(failed))
    if failed_us is not None and (keep_us is None or failed_us < keep_us):
        raise ValueError("keep_failed_output is a longer time than keep, or of no use")
    return Retention(keep_us, failed_us)


_ALL = (
    Setting(
        "cores", None, _cores, '4, "50%" or "all"', "cores the workers of this machine may use"
    ),
    Setting("memory", None, _memory, '"8 GiB", or "all"', "memory they may use"),
    Setting("port", 0, _port, "8600", "where the server listens; 0: any port that is free"),
    Setting("price", "0", _price, '"0.10 USD/h", or 0', "of this machine; each unit begun counts"),
    Setting("minimum", 0, _minimum, '"10m"', "time that is billed at least"),
    Setting("journal", True, _truth, "true", "keep the journal that `tailrace replay` reads"),
    Setting(
        "store",
        "",
        _store,
        '"postgresql://user@host/database", or "file"',
        "where runs are kept: a file in the folder, or a PostgreSQL",
    ),
    Setting(
        "notify",
        (),
        _notify,
        '"https://hook.example.org", or "mail -s news ada"',
        "told when a bag ends, is braked or stopped, has spent most, or stands still",
    ),
    Setting(
        "retention",
        Retention(),
        _retention,
        '"90 days", or a table: [retention] keep = "90 days"',
        "how long `tailrace serve` keeps bags after their end",
    ),
    Setting("quota", None, _quota, '"50 GiB", or "none"', "what each user may have on a server"),
    Setting("color", "auto", _color, '"never"', "auto, always or never"),
    Setting("report", None, _report, '"auto"', "write the HTML report: true, false or auto"),
)
SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _ALL}
