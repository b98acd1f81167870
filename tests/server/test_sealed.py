"""Secrets on disk: one key, whoever comes first, and nothing that outlives its bag."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ask
from tests.real.served import tailrace
from tests.server.spoken import OWNER, SPEC, Ahead, Spoken, end_leases, spoken

from tailrace.scheduler.leases import KEPT_US
from tailrace.server.files.retention import Retention
from tailrace.server.files.sweeping import Sweeper
from tailrace.server.people.sealed import LEAST_S, Sealed
from tailrace.server.web.app import App
from tailrace.server.world import Parts

AT_ONCE = 8
TRIALS = 25
BAGS = "/api/v1/bags"


def _values(bag: int) -> dict[str, str]:
    return {"API_KEY": f"value of {bag}"}


def _at_once(kept: Iterable[Sealed]) -> list[Exception]:
    """Each seals its bag, all from the same moment on; what went wrong."""
    several = list(kept)
    barrier, wrong = threading.Barrier(len(several)), list[Exception]()

    def keep(bag: int, sealed: Sealed) -> None:
        barrier.wait()
        try:
            sealed.keep(bag, _values(bag))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=keep, args=one) for one in enumerate(several)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.mark.parametrize("servers", [1, AT_ONCE], ids=["one server", "as many processes"])
def test_bags_that_are_sealed_at_once_have_one_key(tmp_path: Path, servers: int) -> None:
    for trial in range(TRIALS):
        folder = tmp_path / str(trial)
        folder.mkdir()
        made = [Sealed(folder) for _ in range(servers)]
        assert _at_once(made[bag % servers] for bag in range(AT_ONCE)) == []
        assert [Sealed(folder).of(bag) for bag in range(AT_ONCE)] == [*map(_values, range(AT_ONCE))]
        names = {path.name for path in (folder / "secrets").iterdir()}
        assert names == {"key", *(f"{bag}.sealed" for bag in range(AT_ONCE))}


def test_a_key_that_is_there_is_never_replaced_and_a_damaged_one_is(tmp_path: Path) -> None:
    Sealed(tmp_path).keep(1, _values(1))
    key = tmp_path / "secrets" / "key"
    before = key.read_bytes()
    Sealed(tmp_path).keep(2, _values(2))
    assert key.read_bytes() == before and key.stat().st_mode & 0o077 == 0
    key.write_bytes(before[:5])
    assert Sealed(tmp_path).of(1) is None
    Sealed(tmp_path).keep(3, _values(3))
    assert Sealed(tmp_path).of(3) == _values(3) and Sealed(tmp_path).of(1) is None


def _with_secret(value: str) -> dict[str, Any]:
    return {"spec": {**SPEC, "secrets": ["API_KEY"]}, "secrets": {"API_KEY": value}}


def test_bags_handed_in_at_once_to_a_fresh_server_keep_their_secrets(tmp_path: Path) -> None:
    for trial in range(5):
        folder = tmp_path / str(trial)
        folder.mkdir()
        with spoken(folder) as server:
            told = server.loop.run_until_complete(_hand_in(server))
            assert [status for status, _ in told] == [200] * AT_ONCE, told
            found = {value["bag"]: server.world.sealed.of(value["bag"]) for _, value in told}
            assert sorted(str(one) for one in found.values()) == sorted(
                str({"API_KEY": f"value {n}"}) for n in range(AT_ONCE)
            )


async def _hand_in(server: Spoken) -> list[tuple[int, Any]]:
    calls = (server.calling("POST", BAGS, _with_secret(f"value {n}")) for n in range(AT_ONCE))
    return list(await asyncio.gather(*calls))


def _age(path: Path) -> None:
    old = time.time() - LEAST_S - 60
    os.utime(path, (old, old))


def test_secrets_go_with_their_bag_and_with_bags_that_never_came_to_be(tmp_path: Path) -> None:
    clock = Ahead()
    with spoken(tmp_path, parts=Parts(clock=lambda: clock)) as server:
        gone, stays = (server.call("POST", BAGS, _with_secret("value"))[1]["bag"] for _ in range(2))
        folder = tmp_path / ".tailrace" / "secrets"
        for bag in (98, 99):  # sealed, and then the server was killed
            server.world.sealed.keep(bag, _values(bag))
        (folder / "key.new").write_bytes(b"of an older version")
        for name in (f"{gone}.sealed", f"{stays}.sealed", "98.sealed", "key.new", "key"):
            _age(folder / name)
        assert server.call("POST", f"{BAGS}/{gone}/change", {"change": "cancel"})[0] == 200
        end_leases(server)
        clock.ahead_us += KEPT_US + 1_000_000
        server.app = App(server.world, OWNER, sweeper=Sweeper(server.world, Retention(0)))
        status, told = server.call("POST", "/api/v1/gc", {"keep_s": 10**9, "dry_run": True})
        assert status == 200 and [one["bag"] for one in told["removed"]] == [gone]
        assert (folder / f"{gone}.sealed").exists() and (folder / "98.sealed").exists()
        told = server.call("POST", "/api/v1/gc", {"keep_s": 10**9})[1]
        assert [one["bag"] for one in told["removed"]] == [gone]
        left = {path.name for path in folder.iterdir()}
        assert left == {"key", f"{stays}.sealed", "99.sealed"}, "one is young: it may come yet"
        assert server.world.sealed.of(stays) == {"API_KEY": "value"}


def test_secrets_go_with_their_bag_where_no_server_runs(tmp_path: Path) -> None:
    words = ("run", "-q", "--secrets", "API_KEY", "--", "test", "{}", "=", "1", ":::")
    tailrace(tmp_path, *words, "1", API_KEY="value one")
    tailrace(tmp_path, *words, "2", code=1, API_KEY="value two")
    folder = tmp_path / ".tailrace" / "secrets"
    Sealed(folder.parent).keep(77, _values(77))
    for path in folder.iterdir():
        _age(path)
    assert ask(tmp_path, "gc", "--dry-run").code == 0 and (folder / "77.sealed").exists()
    assert ask(tmp_path, "gc").code == 0
    assert {path.name for path in folder.iterdir()} == {"key", "1.sealed", "2.sealed"}
    (tmp_path / "tailrace.toml").write_text('[retention]\nkeep = "0s"\nkeep_failed_output = "9d"\n')
    assert "bag 1 (test), 1 task, removed" in ask(tmp_path, "gc").out
    assert {path.name for path in folder.iterdir()} == {"key", "2.sealed"}
