"""The journal of inputs: replayed, it gives the very same decisions, in any process."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

from tailrace.scheduler.journal import decode_page, encode_page, replay

from .test_walks import Walk


def recorded(seed: int) -> list[bytes]:
    """A walk with its crashes: each begins a page with the rows it was restored from."""
    walk = Walk(seed)
    for _ in range(250):
        walk.step()
    return [encode_page(page) for page in walk.stage.journal]


def test_a_replay_gives_the_same_decisions() -> None:
    for seed in range(8):
        pages = recorded(seed)
        steps = list(replay(pages, check=True))
        assert len(steps) == sum(len(decode_page(page).entries) for page in pages)
        assert all(step.same for step in steps)


def test_walks_do_crash() -> None:
    assert max(len(recorded(seed)) for seed in range(8)) > 2


def test_a_replay_that_differs_is_noticed() -> None:
    page = decode_page(recorded(1)[0])
    one = next(entry for entry in page.entries if entry.check)
    one.check ^= 1
    assert [step.same for step in replay([encode_page(page)])].count(False) == 1


SCRIPT = """
import sys
from tailrace.scheduler.journal import replay
body = open(sys.argv[1], "rb").read()
pages = []
while body:
    size = int.from_bytes(body[:4], "big")
    pages.append(body[4:4 + size])
    body = body[4 + size:]
steps = [step.same for step in replay(pages)]
print(sum(steps), len(steps))
"""


def test_another_process_with_another_hash_seed_decides_the_same(tmp_path: Path) -> None:
    pages = recorded(11)
    file = tmp_path / "journal"
    file.write_bytes(b"".join(len(page).to_bytes(4, "big") + page for page in pages))
    for seed in random.Random(5).sample(range(1, 1000), 2):
        env = {**os.environ, "PYTHONHASHSEED": str(seed)}
        command = [sys.executable, "-c", SCRIPT, str(file)]
        told = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
        same, all_of_them = map(int, told.split())
        assert same == all_of_them > 100
