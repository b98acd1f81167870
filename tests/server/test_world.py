"""The world around a desk whose commits fail: nothing uncommitted is seen, done or promised."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tailrace.bag.bagfile import bag_from_commands, load_bag_file
from tailrace.pools.terms import Pool
from tailrace.scheduler.events import BagChanged, Change
from tailrace.scheduler.rows import BagPhase
from tailrace.server import world as worlds
from tailrace.server.batch import Batch
from tailrace.server.embedded import Embedded
from tailrace.server.pools.local_pool import Capacity, LocalPool
from tailrace.server.tables.store import Store


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "TRY_AGAIN_S", 0.05)


def _server(folder: Path) -> Embedded:
    return Embedded(folder / ".tailrace", (LocalPool(Pool("local"), Capacity(cores=1)),))


def _fail(server: Embedded, *numbers: int, after: bool = False) -> None:
    """These commits report a failure; `after`: although they took place."""
    store, commit, count = server.world.store, server.world.store.commit, [0]

    def failing(batch: Batch) -> None:
        count[0] += 1
        if count[0] not in numbers or after:
            commit(batch)
        if count[0] in numbers:
            raise sqlite3.OperationalError("disk I/O error")

    store.commit = failing  # type: ignore[method-assign]


def _bag(folder: Path, *lines: str) -> Any:
    return bag_from_commands(lines, folder, source="jobs")


def test_no_machine_is_started_for_a_lease_that_was_never_committed(tmp_path: Path) -> None:
    async def go() -> None:
        server = _server(tmp_path)
        _fail(server, *range(1, 8))
        async with server:
            server.submit(_bag(tmp_path, "true"))
            await asyncio.sleep(0.2)
            driver = server.world.machines.drivers["local"]
            assert driver.list() == []
            assert not server.world.at_rest()

    asyncio.run(go())


def test_a_bag_handed_in_while_nothing_can_be_committed_runs_all_the_same(tmp_path: Path) -> None:
    async def go() -> None:
        server = _server(tmp_path)
        _fail(server, 1, 2, 3)
        async with server:
            number = server.submit(_bag(tmp_path, "true", "true"))
            assert await asyncio.wait_for(server.rest(number), 30) is BagPhase.FINISHED

    asyncio.run(go())


@pytest.mark.parametrize("number", range(1, 9))
def test_a_commit_that_succeeds_unheard_loses_and_doubles_nothing(
    tmp_path: Path, number: int
) -> None:
    (tmp_path / "bag.toml").write_text(
        'command = "echo {n} > out.txt"\noutputs = { "out.txt" = "results/{n}.txt" }\n'
        "[parameters]\nn = [1, 2, 3]\n"
    )

    async def go() -> None:
        server = _server(tmp_path)
        _fail(server, number, after=True)
        async with server:
            bag = server.submit(load_bag_file(tmp_path / "bag.toml"))
            assert await asyncio.wait_for(server.rest(bag), 30) is BagPhase.FINISHED
            assert server.world.store.unpublished() == []
            tasks = server.world.store.link.execute("SELECT count(*) FROM bags").fetchone()
            assert tasks == (1,)

    asyncio.run(go())
    written = sorted(file.read_text() for file in (tmp_path / "results").iterdir())
    assert written == ["1\n", "2\n", "3\n"]
    assert list((tmp_path / ".tailrace/scratch").iterdir()) == []


def test_a_change_is_heard_only_when_it_is_committed(tmp_path: Path) -> None:
    async def go() -> None:
        server = _server(tmp_path)
        async with server:
            number = server.submit(_bag(tmp_path, "sleep 30"))
            await asyncio.sleep(0.3)
            _fail(server, 1, 2)
            heard = server.world.tell(BagChanged(number, Change.CANCEL))
            rows = "SELECT phase FROM bags"
            while not heard.done():
                phase = server.world.store.link.execute(rows).fetchone()[0]
                assert phase == "running"
                await asyncio.sleep(0.005)
            assert server.world.store.link.execute(rows).fetchone()[0] == "cancelled"
            await asyncio.wait_for(server.rest(number), 30)

    asyncio.run(go())


def test_a_store_taken_over_by_another_server_ends_this_one_at_once(tmp_path: Path) -> None:
    async def go() -> None:
        server = _server(tmp_path)
        async with server:
            number = server.submit(_bag(tmp_path, "sleep 30"))
            await asyncio.sleep(0.2)
            server.world.store.link.execute("UPDATE meta SET value = value + 1")
            server.world.tell(BagChanged(number, Change.CANCEL))
            with pytest.raises(Exception, match="taken over"):
                await asyncio.wait_for(server.rest(number), 5)

    asyncio.run(go())


def test_numbers_that_no_table_can_hold_are_refused(tmp_path: Path) -> None:
    import msgspec

    from tailrace.server.protocol import decode_request

    call = {
        "protocol": 2, "key": "k" * 32,
        "host": "h", "session": 1, "seq": 1, "pool": "p", "kind": "k",
        "capacity": {"cores": 1000}, "held": [], "results": [], "wait_s": 0,
    }  # fmt: skip
    decode_request(msgspec.json.encode(call))
    for key, value in (("seq", 2**70), ("session", -1), ("wait_s", 1e308), ("lease", 2**70),
                       ("capacity", {"cores": 2**70}), ("held", [2**70])):  # fmt: skip
        with pytest.raises(msgspec.ValidationError):
            decode_request(msgspec.json.encode({**call, key: value}))


def test_an_orderly_end_stores_what_hosts_did_and_what_owners_had(tmp_path: Path) -> None:
    async def go() -> None:
        async with _server(tmp_path) as server:
            number = server.submit(_bag(tmp_path, "true", "true", "true"))
            await asyncio.wait_for(server.rest(number), 60)

    asyncio.run(go())
    store = Store(tmp_path / ".tailrace" / "store.db")
    rows = store.restored()
    store.close()
    assert sum(host.today for host in rows.hosts) == sum(host.succeeded for host in rows.hosts) == 3
    assert [use.bag for use in rows.uses] == [0, 1]
    assert rows.uses[0].used == rows.uses[1].used > 0
