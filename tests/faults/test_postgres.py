"""The same promises with the store in PostgreSQL, whose connections are really cut."""

from __future__ import annotations

import pytest
from tests.database import Database

from .oracle import Violation
from .planted import FAULTS
from .world import run

SEEDS = 5


def test_promises_hold_when_connections_are_cut(database: Database) -> None:
    told = [run(seed, store=database.url()) for seed in range(SEEDS)]
    assert sum(one.results for one in told) > 50
    assert sum(one.lives for one in told) > SEEDS


def test_a_world_in_postgres_is_that_in_a_file(database: Database) -> None:
    """Nothing of the database reaches the scheduler: neither its order of rows nor its numbers."""
    assert run(3, store=database.url()) == run(3)


def test_a_commit_taken_as_done_is_found_out(database: Database) -> None:
    fault = FAULTS["failed-commit-ignored"]
    with pytest.raises(Violation) as found:
        for seed in range(40):
            run(seed, fault.parts, store=database.url())
    assert found.value.rule in fault.rules
