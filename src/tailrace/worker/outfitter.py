"""Attempts that wait until their bag's setup is made, in a thread of its own.

All but `_make` is done in the client's thread.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Union

from .courier import Delivered
from .outfit import Made, SetupFailed, key_of, outfit
from .results import unstarted

Json = Dict[str, Any]
FORGET_S = 60.0  # a failure counts so long for those that come after


class Fitted(NamedTuple):
    """It may begin: what its bag's attempts share, with the variables of the setup."""

    order: Json
    terms: Json


class _Failed(NamedTuple):
    why: str
    at: float


_Made = Union[Made, _Failed]


class Outfitter:
    def __init__(self, place: str, marked: str, arrived: Callable[[], None]) -> None:
        self._place, self._marked, self._arrived = place, marked, arrived
        self._waiting: Dict[str, List[Fitted]] = {}  # by the setup's key
        self._made: Dict[str, _Made] = {}
        self._terms: Dict[str, Fitted] = {}  # by bag: as told, and with the variables
        self._lock = threading.Lock()
        self._news: Dict[str, _Made] = {}

    def fit(self, order: Json, terms: Json) -> List[Any]:
        """What is ready at once."""
        key = key_of(terms["setup"], _folder(terms))
        made = self._made.get(key)
        if isinstance(made, _Failed) and time.monotonic() - made.at > FORGET_S:
            made = None
        if made is not None and key not in self._waiting:
            return [self._arrival(Fitted(order, terms), made)]
        if key not in self._waiting:
            self._waiting[key] = []
            threading.Thread(
                target=self._make, args=(key, terms), name="setup", daemon=True
            ).start()
        self._waiting[key].append(Fitted(order, terms))
        return []

    def _make(self, key: str, terms: Json) -> None:
        """In a thread."""
        made: _Made
        try:
            made = outfit(terms["setup"], _folder(terms), self._place, self._marked)
        except SetupFailed as error:
            made = _Failed(str(error), time.monotonic())
        except Exception as error:
            text = f"the setup of the bag cannot be made here: {error!r}"
            made = _Failed(text, time.monotonic())
        with self._lock:
            self._news[key] = made
        self._arrived()

    def take(self) -> List[Any]:
        """Those whose setup is made, or has failed, since."""
        with self._lock:
            news, self._news = self._news, {}
        found = []
        for key, made in news.items():
            self._made[key] = made
            found += [self._arrival(one, made) for one in self._waiting.pop(key, [])]
        return found

    def _arrival(self, one: Fitted, made: _Made) -> Any:
        if isinstance(made, _Failed):
            result = unstarted(one.order["attempt"], "host_failed", made.why)
            return Delivered(dict(result, of_bag=True))
        bag = str(one.order["bag"])
        told = self._terms.get(bag)
        if told is None or told.order is not one.terms:  # the same for all: it is told once
            told = self._terms[bag] = Fitted(one.terms, dict(one.terms, **made.terms()))
            while len(self._terms) > 64:
                del self._terms[next(iter(self._terms))]
        return Fitted(one.order, told.terms)

    def holds(self, attempt: int) -> bool:
        return any(
            one.order["attempt"] == attempt for some in self._waiting.values() for one in some
        )

    def stop(self, attempt: int) -> List[Any]:
        """It is to end, and has not begun."""
        for key, some in self._waiting.items():
            self._waiting[key] = [one for one in some if one.order["attempt"] != attempt]
        return [Delivered(unstarted(attempt, "cancelled", "not started"))]


def _folder(terms: Json) -> str:
    return str(terms.get("folder") or "/")
