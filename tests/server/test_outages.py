"""Times in which no server ran."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from tailrace.scheduler.events import Tick
from tailrace.scheduler.journal import Entry, Page, encode_page
from tailrace.scheduler.rows import Restored
from tailrace.server.records.outages import Span, outages, together_us

NOTHING = Restored([], {}, {}, {}, [], [], [], [])


def page(*moments: int, begins: bool = False) -> bytes:
    entries = [Entry(moment, Tick(), 0) for moment in moments]
    return encode_page(Page(NOTHING if begins else None, moments[0] - 1 if begins else 0, entries))


def test_an_outage_lasts_from_the_last_event_to_the_next_server() -> None:
    link = sqlite3.connect(":memory:")
    link.execute("CREATE TABLE journal (n INTEGER PRIMARY KEY, body BLOB)")
    pages = [page(10, 20, begins=True), page(30, 40), page(100, 110, begins=True), page(120)]
    link.executemany("INSERT INTO journal (body) VALUES (?)", [(body,) for body in pages])
    assert list(outages(link)) == [Span(40, 99)]


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted), max_size=8)


@given(SPANS)
def test_spans_together_count_each_moment_once(spans: list[list[int]]) -> None:
    moments = {at for begins, ends in spans for at in range(begins, ends)}
    assert together_us(Span(*span) for span in spans) == len(moments)
