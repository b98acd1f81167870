"""Pickled results run whatever their maker put in: they are taken from trusted pools only."""

from __future__ import annotations

import msgspec
import pytest

from tailrace.bag.items import Function, Items, Luggage, encode_items, in_chunks, pack
from tailrace.pools.terms import Pool
from tailrace.server.desk import Content, Desk
from tailrace.server.protocol import WorkResult, decode_result
from tailrace.server.tables.store import Store


@pytest.mark.parametrize(("pool", "taken"), [("ours", True), ("theirs", False), ("unknown", False)])
def test_a_pickled_result_of_a_pool_that_is_not_trusted_is_refused(pool: str, taken: bool) -> None:
    pools = (Pool("ours"), Pool("theirs", trusted=False))
    desk = Desk(Store(":memory:"), Content(lambda *_: None, lambda _: {}), pools, 0)  # type: ignore[arg-type,return-value]
    told = decode_result(b'{"attempt":1,"outcome":"succeeded","pickled":"gARLAS4=","value":1}')
    vetted: WorkResult = desk._vetted(told, pool)
    assert (vetted == told) is taken
    if not taken:
        assert (vetted.outcome, vetted.pickled, bytes(vetted.value)) == ("lost", "", b"null")
        assert f"the pool {pool}, which is not trusted" in vetted.error


def test_what_was_pickled_is_stored_as_it_is() -> None:
    line = b'{"attempt":1,"outcome":"succeeded","value":null,"pickled":"gARLAS4="}'
    assert msgspec.json.encode(decode_result(line)) == line


def test_items_are_found_in_chunks_of_any_size() -> None:
    items = [bytes([n % 256]) * (n % 7 * 100_000) for n in range(2500)]
    chunks = [encode_items(chunk) for chunk in in_chunks(items)]
    ends = [0]
    for chunk in in_chunks(items):
        ends.append(ends[-1] + len(chunk))
    about = Function("f", "3.11", "python", ends=tuple(ends[1:]))
    read = Items(about, [pack(Luggage(b"code")), *chunks].__getitem__)
    assert about.count == 2500
    assert max(map(len, chunks)) <= (1 << 20) + 10_000
    assert all(read[n] == items[n] for n in (0, 999, 1000, 2499, 3, 1234))
    assert read.shared()["pickled"] == b"code"
