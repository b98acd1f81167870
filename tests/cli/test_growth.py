"""What is asked of one bag costs by that bag, not by all that ever ran in its folder. Counted in
steps of SQLite's own machine, which no busy computer can distort."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import ask

from tailrace.server.records import bills, reading
from tailrace.server.tables import restored
from tailrace.server.tables.hostwork import host_work

MANY = 5_000
ASKED: dict[str, Callable[[sqlite3.Connection], object]] = {
    "results with their cost": lambda link: list(reading.results(link, 1)),
    "how a bag stands": lambda link: reading.bag(link, 1),
    "when anything last happened": lambda link: reading.last_moment(link, 1),
    "what was spent": lambda link: bills.spent(link, 1),
    "which hosts there are": reading.hosts,
    "what they did": host_work,
    "outputs that wait": lambda link: reading.unpublished(link, 1),
    "what its strategy knows again": lambda link: restored.past(link, 1),
}


def steps(folder: Path, work: Callable[[sqlite3.Connection], object]) -> int:
    link = reading.open_store(folder)
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    link.set_progress_handler(step, 1)
    work(link)
    link.close()
    return count


def add_another_bag(folder: Path) -> None:
    """With many attempts on the same host and lease."""
    link = sqlite3.connect(folder / "store.db")
    rest = "phase, row, spec, permutation, owner, basis, programs"
    link.execute(f"INSERT INTO bags SELECT 2, 'other', {rest} FROM bags")
    (body, host, lease) = link.execute("SELECT body, host, lease FROM attempts").fetchone()
    link.executemany(
        "INSERT INTO attempts (attempt, bag, idx, host, lease, why, sent_us, ended_us, outcome,"
        " accepted, run_us, exit, body) VALUES (?, 2, ?, ?, ?, '', 1, 2, 'succeeded', 1, 1, 0, ?)",
        ((100 + n, n, host, lease, body) for n in range(MANY)),
    )
    link.executemany(
        "INSERT INTO results VALUES (2, ?, ?, 'succeeded')", ((n, 100 + n) for n in range(MANY))
    )
    link.execute("INSERT INTO host_work VALUES (2, ?, ?, ?)", (host, MANY, MANY))
    link.commit()
    link.close()


@pytest.mark.parametrize("what", ASKED)
def test_a_question_about_one_bag_costs_no_more_beside_a_large_one(copied: Path, what: str) -> None:
    folder = copied / ".tailrace"
    before = steps(folder, ASKED[what])
    add_another_bag(folder)
    assert steps(folder, ASKED[what]) <= 1.2 * before + 50


def test_how_a_long_bag_stands_now_needs_no_look_at_its_past(copied: Path) -> None:
    folder = copied / ".tailrace"
    add_another_bag(folder)
    assert steps(folder, lambda link: reading.last_moment(link, 2)) < 200
    assert ask(copied, "hosts", "--json").json[0]["attempts"] == MANY + 8
