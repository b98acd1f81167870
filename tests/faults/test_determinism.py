"""A failing seed is worth nothing unless it fails again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .world import run

TESTS = Path(__file__).parent.parent
CODE = "from faults.world import run; print([run(seed).digest for seed in (3, 7, 11)])"


def test_a_seed_replays_exactly():
    for seed in (3, 7, 11):
        first, second = [], []
        run(seed, say=first.append)
        run(seed, say=second.append)
        assert first == second


def test_a_seed_does_not_depend_on_the_hash_seed():
    printed = {_digests(hash_seed) for hash_seed in ("0", "1", "12345")}
    assert printed == {f"{[run(seed).digest for seed in (3, 7, 11)]}\n"}


def _digests(hash_seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    env["PYTHONPATH"] = os.pathsep.join([str(TESTS), env.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True
    ).stdout
