"""Every bag has a number of its own, also of bags handed in while others are being committed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.cli.conftest import ask

from tailrace.bag.bagfile import bag_from_commands
from tailrace.server.pools.local_pool import Capacity
from tailrace.server.resident import Resident


def test_bags_added_between_a_commit_and_word_of_it_share_no_number(tmp_path: Path) -> None:
    bag = bag_from_commands(["true"], tmp_path, source="jobs")

    async def go() -> None:
        server = Resident(tmp_path / ".tailrace", Capacity(cores=1), journal=False)
        async with server:
            told = [server.add(bag) for _ in range(3)]
            told[0][1].add_done_callback(lambda _: told.append(server.add(bag)))
            await told[2][1]
            told.extend(server.add(bag) for _ in range(2))
            numbers = [number for number, _ in told]
            assert sorted(numbers) == sorted(set(numbers)) and len(numbers) == 6
            await asyncio.wait_for(asyncio.gather(*(heard for _, heard in told)), 60)
            assert server.world.available

    asyncio.run(go())


def test_a_number_means_that_bag_whatever_another_is_called(tmp_path: Path) -> None:
    for name, word in (("first", "a"), ("1", "b")):
        words = ("run", "-q", "--name", name, "--", "echo {}", ":::", word)
        assert ask(tmp_path, *words, TAILRACE_REPORT="false").code == 0
    assert [one["stdout"] for one in ask(tmp_path, "results", "1", "--json").json] == ["a\n"]
    assert [one["stdout"] for one in ask(tmp_path, "results", "--json").json] == ["b\n"]
