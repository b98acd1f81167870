"""One expression of a policy: read once, evaluated often.

At run time UNDEFINED, ERROR, NaN, infinities and values of the wrong kind count as "no", and say
why; see `reading` for what is refused before.
"""

from __future__ import annotations

from enum import Enum
from math import isfinite

import msgspec

from tailrace.policy.ads import PARTS, Ad, Scene
from tailrace.policy.attributes import Scope
from tailrace.policy.flat import Flat
from tailrace.policy.library import Tree, classads
from tailrace.policy.needs import Needs

Value = bool | int | float


class Kind(Enum):
    """What an expression has to give."""

    BOOLEAN = "true or false"
    NUMBER = "a number"  # true counts as 1, as in HTCondor's ranks
    COUNT = "a number from 0"
    SECONDS = "a number of seconds above 0"


# Looked up for each evaluation: members of an enum are slow to reach.
BOOLEAN, NUMBER, COUNT = Kind.BOOLEAN, Kind.NUMBER, Kind.COUNT


class Fault(Enum):
    UNDEFINED = "UNDEFINED"
    ERROR = "ERROR"
    KIND = "of another kind"
    RANGE = "out of range"


class No(msgspec.Struct, frozen=True):
    """What counts as "no"; it is told to the owner of the bag."""

    fault: Fault
    reason: str

    def __bool__(self) -> bool:
        return False


class Expression:
    __slots__ = ("_parts", "_tree", "flat", "keys", "kind", "name", "text", "value")

    def __init__(self, name: str, text: str, kind: Kind, flat: Flat) -> None:
        """Raises the library's error where the text is none of its language."""
        self.name = name
        self.text = text  # as its owner wrote it
        self.kind = kind
        self.flat = flat
        self._tree: Tree = classads().ExprTree(flat.text)
        self.keys = keys_by_part(flat.needs)
        self._parts = sum(1 for keys in self.keys if keys)  # so many ads it needs
        self.value: Value | No | None = None  # of a constant one
        if flat.needs.constant:
            self.value = self.found(Scene())

    @property
    def needs(self) -> Needs:
        return self.flat.needs

    def evaluate(self, scene: Scene, *ads: Ad) -> Value | No:
        """With what the ads say now. Each ad that it needs has to be there."""
        missing = self._parts
        for ad in ads:
            keys = self.keys[ad.part]
            if keys:
                scene.show(ad.values, keys)
                missing -= 1
        if missing:
            raise ValueError(f"{self.name} reads {self.needs.scopes}: an ad of them is missing")
        return self.found(scene)

    def found(self, scene: Scene) -> Value | No:
        """With what the scene shows: for those who showed it what all policies of a bag need."""
        if self.value is not None:
            return self.value
        try:
            value = self._tree.eval(scene.record)
        except Exception as fault:  # what the library gives up on, or half of a character
            return No(Fault.ERROR, f"{self.name} cannot be evaluated: {fault}")
        kind = self.kind
        if value is True or value is False:
            if kind is BOOLEAN:
                return value
            if kind is NUMBER:
                return int(value)
        elif value.__class__ in (int, float) and kind is not BOOLEAN:
            return self._number(value)
        return self._no(value, scene)

    def _number(self, value: int | float) -> Value | No:
        # `isfinite` asks first: NaN is neither above nor below anything.
        if not isfinite(value):
            return No(Fault.ERROR, f"{self.name} gives {value}, which is no number")
        if value > 0 or self.kind is NUMBER or (value == 0 and self.kind is COUNT):
            return value
        reason = f"{self.name} gives {value:g}, but should give {self.kind.value}"
        return No(Fault.RANGE, reason)

    def _no(self, value: object, scene: Scene) -> No:
        values = classads().Value
        # By identity: they are numbers, and `True == values.Error` holds.
        if value is values.Undefined:
            lacking = ", ".join(scene.unknown(self.needs.keys))
            why = f"UNDEFINED, because {lacking} is not known" if lacking else "UNDEFINED"
            return No(Fault.UNDEFINED, f"{self.name} gives {why}")
        if value is values.Error:
            return No(Fault.ERROR, f"{self.name} gives ERROR")
        said = f"{self.name} gives {_said(value)}, but should give {self.kind.value}"
        return No(Fault.KIND, said)


def keys_by_part(needs: Needs) -> tuple[tuple[str, ...], ...]:
    """Keys for each kind of ad, by its `part`."""
    scopes = [[scope for scope in Scope if PARTS[scope] == part] for part in range(4)]
    return tuple(needs.of(*one) for one in scopes)


def _said(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'the text "{value[:40]}"'
    if isinstance(value, (int, float)):
        return f"the number {value:g}"
    return "a list" if isinstance(value, list) else "something else"
