"""What there is to look at: the attributes of hosts, bags, tasks and pools as they are now, and the
ad in which the library finds them.

Values are kept in dicts, where writing one costs nearly nothing, for most are never read. A `Scene`
holds the ad; before an expression is evaluated, those of its attributes that differ from what the
ad has are set in it, and nothing else is. Hosts, bags and pools have a scene each, so that between
two calls of a host mostly nothing differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tailrace.policy.attributes import ATTRIBUTES, Plain, Scope
from tailrace.policy.library import Record, classads
from tailrace.policy.names import PARAMS

MOST_TEXT = (
    256  # characters of a value; a longer one is UNDEFINED: patterns are quick on short ones
)
MOST_ITEMS = 100

Values = dict[str, Plain]  # by key
_NOTHING = object()


class Scene:
    """One ad of the library, and what it holds."""

    __slots__ = ("_shown", "record")

    def __init__(self) -> None:
        self.record: Record = classads().ClassAd()
        self._shown: Values = {}

    def show(self, values: Mapping[str, Plain], keys: tuple[str, ...]) -> None:
        shown = self._shown
        for key in keys:
            value = values.get(key)
            before = shown.get(key, _NOTHING)
            # 1, 1.0 and True are equal, and three different things to a policy.
            if value is before or (value.__class__ is before.__class__ and value == before):
                continue
            self.record[key] = fitting(value)
            shown[key] = value

    def unknown(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Which of them are UNDEFINED."""
        return tuple(key for key in keys if fitting(self._shown.get(key)) is None)


class Ad:
    """Attributes of one thing, by key: `ad.values["Host.Running"] = 3`."""

    __slots__ = ("values",)
    part: ClassVar[int]  # 0 to 3: which of the keys of an expression are found here

    def __init__(self, values: Mapping[str, Plain] | None = None) -> None:
        self.values: Values = {}
        self.set(values or {})

    def set(self, values: Mapping[str, Plain]) -> None:
        """The same with a check of the keys, for those who have time."""
        for key, value in values.items():
            if self.part != _part(key):
                raise KeyError(f"{key} is no attribute of {type(self).__name__}")
            self.values[key] = value


class HostAd(Ad):
    __slots__ = ("scene",)
    part = 0

    def __init__(self, values: Mapping[str, Plain] | None = None) -> None:
        super().__init__(values)
        self.scene = Scene()


class BagAd(Ad):
    """Of a bag, with what is ours (`Spent`, `Now`) and the queue."""

    __slots__ = ("scene",)
    part = 1

    def __init__(self, values: Mapping[str, Plain] | None = None) -> None:
        super().__init__(values)
        self.scene = Scene()


class TaskAd(Ad):
    """Of one task, made when it is asked about; evaluated in the scene of its bag or of a host."""

    __slots__ = ()
    part = 2


class PoolAd(Ad):
    __slots__ = ("scene",)
    part = 3

    def __init__(self, values: Mapping[str, Plain] | None = None) -> None:
        super().__init__(values)
        self.scene = Scene()


PARTS: dict[Scope, int] = {
    Scope.HOST: 0,
    Scope.BOT: 1,
    Scope.QUEUE: 1,
    Scope.OURS: 1,
    Scope.JOB: 2,
    Scope.POOL: 3,
}


def _part(key: str) -> int | None:
    if key.startswith(PARAMS):
        return PARTS[Scope.JOB]
    found = ATTRIBUTES.get(key)
    return None if found is None else PARTS[found.scope]


def fitting(value: Plain) -> Plain:
    """The value, or None for what the library cannot hold (see `library`)."""
    if isinstance(value, str):
        return value if _is_fit(value) else None
    if isinstance(value, tuple):
        fit = len(value) <= MOST_ITEMS and all(_is_fit(item) for item in value)
        return value if fit else None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    return value


def _is_fit(text: str) -> bool:
    if len(text) > MOST_TEXT:
        return False
    return text.isprintable() or not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text)
