"""What is known comes first, what is drawn after it keeps its number, and all of it is noted."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.simulation.arrivals import daily, poisson
from tailrace.simulation.drawn import Book, between
from tailrace.simulation.draws import Draws, Streams
from tailrace.simulation.laws import Exponential, Lognormal

COUNT = 60
LAW = Exponential(100.0)
WAYS: dict[str, Callable[[Draws], list[float]]] = {
    "uniforms": lambda stream: _taken(stream.uniforms()),
    "of": lambda stream: _taken(stream.of(Lognormal(1.0, 2.0))),
    "durations": lambda stream: [us / 1e6 for us in _taken(stream.durations(LAW))],
    "values": lambda stream: stream.values(LAW, COUNT).tolist(),
    "one by one": lambda stream: [stream.values(LAW, 1, n).item() for n in range(COUNT)],
    "array": lambda stream: stream.array(COUNT).tolist(),
    "poisson": lambda stream: [us / 1e6 for us in islice(stream.times(poisson(9.0)), COUNT)],
    "daily": lambda stream: [
        us / 1e6 for us in islice(stream.times(daily(900, (1.0, 2.0, 3.0))), COUNT)
    ],
}


def _taken(draw: Callable[[], Any]) -> list[Any]:
    return [draw() for _ in range(COUNT)]


def drawn(way: str, known: list[float] | None = None, book: Book | None = None) -> list[float]:
    events = None if known is None else {"family/name/3": array("d", known)}
    return WAYS[way](Streams(7, between(events, book)).below("family", "name").stream(3))


@pytest.mark.parametrize("way", WAYS)
def test_what_was_noted_gives_the_same_again_whatever_the_seed(way: str) -> None:
    book = Book()
    plain = drawn(way)
    assert drawn(way, book=book) == plain
    noted = book.values["family/name/3"]
    assert noted.tolist() == plain
    again = Streams(8, between({"family/name/3": noted}, None)).below("family", "name").stream(3)
    assert WAYS[way](again) == plain


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("poisson", "daily")])
@given(known=st.lists(st.integers(0, 10**6).map(float), max_size=COUNT))
def test_what_is_not_known_is_drawn_by_its_number(way: str, known: list[float]) -> None:
    assert drawn(way, known) == known + drawn(way)[len(known) :]


@given(known=st.lists(st.integers(0, 10**4).map(float), max_size=COUNT).map(sorted))
def test_arrivals_go_on_after_the_last_that_is_known(known: list[float]) -> None:
    found = drawn("poisson", known)
    assert found == sorted(found) and found[: len(known)] == known
    last = known[-1] if known else 0.0
    assert found[len(known) :] == [max(time, last) for time in drawn("poisson")[len(known) :]]
