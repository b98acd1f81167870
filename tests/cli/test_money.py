"""Prices and bills: remembered by the bag, and the same wherever they are told."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.conftest import ask, tailrace

from tailrace.report.summary import cost_by_currency
from tailrace.scheduler import money
from tailrace.scheduler.brain import Scheduler
from tailrace.scheduler.rows import LeaseRow
from tailrace.server.clock import Clock
from tailrace.server.records import reading
from tailrace.server.records.recording import record
from tailrace.server.tables.restored import restored

HOUR_US = 3_600_000_000


def test_resume_keeps_the_price_so_that_the_budget_binds(tmp_path: Path) -> None:
    poor = ["run", "--quiet", "--price", "1 USD/h", "--budget", "0.5 USD", "--", "echo", ":::", "a"]
    assert tailrace(tmp_path, *poor).code == 4
    assert tailrace(tmp_path, "resume", "--quiet").code == 4
    assert tailrace(tmp_path, "resume", "--quiet", TAILRACE_PRICE="2 USD/h").code == 4
    assert tailrace(tmp_path, "resume", "--quiet", "--price", "0.2 USD/h").code == 0
    assert ask(tmp_path, "status", "1", "--json").json["spent"] == {"USD": 0.2}


def test_the_price_is_that_of_the_bag_and_not_of_the_newest_run(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text(
        'command = "test -e {x}"\nparameters = {x = ["mended"]}\n'
        'budget = "5 USD"\nsettings = {price = "0.30 USD/min", cores = 1}\n'
        "retries = {task_failed = 0}\n"
    )
    dear = ["run", "--quiet", "--price", "40 USD/h", "--", "true", ":::", "a"]
    assert tailrace(tmp_path, "run", "--quiet", TAILRACE_MINIMUM="3m").code == 4
    assert tailrace(tmp_path, *dear).code == 0
    (tmp_path / "mended").touch()
    assert tailrace(tmp_path, "resume", "1", "--quiet").code == 4
    told = ask(tmp_path, "status", "1").out
    assert "does not pay for another lease" in told and "0 USD spent of 5 USD" in told
    assert tailrace(tmp_path, "resume", "1", "--quiet", "--price", "0.01 USD/min").code == 0
    assert ask(tmp_path, "status", "1", "--json").json["spent"] == {"USD": 0.03}
    assert "cores = 1" in (tmp_path / "bag.toml").read_text()
    assert ask(tmp_path, "hosts", "--json").json[0]["capacity"]["cores"] == 1000


def change_lease(store: Path, **fields: Any) -> LeaseRow:
    link = sqlite3.connect(store / "store.db")
    (body,) = link.execute("SELECT row FROM leases WHERE lease = 1").fetchone()
    row = msgspec.structs.replace(msgspec.json.decode(body, type=LeaseRow), **fields)
    link.execute("UPDATE leases SET row = ? WHERE lease = 1", (msgspec.json.encode(row),))
    link.commit()
    link.close()
    return row


def spent_by_the_scheduler(link: sqlite3.Connection) -> int:
    scheduler = Scheduler()
    scheduler.restore(restored(link), Clock().now())
    return money.spent(scheduler.state, scheduler.state.bags[1], "USD")


@pytest.mark.parametrize("gone", ["as it was", "after its end", "not known to be"])
def test_report_results_status_and_budget_tell_one_sum(copied: Path, gone: str) -> None:
    """A lease costs nothing beyond its end, when the server was away for longer than that."""
    begun = change_lease(copied / ".tailrace").wanted_us
    if gone == "after its end":
        change_lease(copied / ".tailrace", ends_us=begun + HOUR_US, gone_us=begun + 9 * HOUR_US)
    elif gone == "not known to be":
        begun -= 7 * HOUR_US
        change_lease(copied / ".tailrace", wanted_us=begun, ends_us=begun + HOUR_US, gone_us=None)
    link = reading.open_store(copied / ".tailrace")
    spent = spent_by_the_scheduler(link)
    assert spent == (600_000 if gone == "as it was" else 36_000_000)
    assert cost_by_currency(record(link, 1)) == {"USD": spent}
    assert ask(copied, "status", "1", "--json").json["spent"] == {"USD": spent / 1e6}
    told = re.search(r"([0-9.]+) USD spent", ask(copied, "status", "1").out)
    assert told is not None and float(told[1]) == spent / 1e6
    rows = ask(copied, "results", "--json").json
    assert sum(row["cost"]["USD"] for row in rows) == pytest.approx(spent / 1e6)
    link.close()


RESULTS = """
[pools.grid]
max = 2
price = "3.60 USD/h"
billing = "per_result"
cores = 1
"""


def test_results_that_are_paid_add_up_to_one_sum(tmp_path: Path) -> None:
    """Two that succeed are paid, 1000 micro-units a second; one that fails is not."""
    (tmp_path / "tailrace.toml").write_text(RESULTS)
    config = tailrace(tmp_path, "config", "pools.grid").out
    assert config == "2 machines, 3.60 USD per hour of results, 1 core each\n"
    words = ["run", "--quiet", "--budget", "8 USD", "--", "sleep {}; test {} != 0.2"]
    assert tailrace(tmp_path, *words, ":::", "0.1", "0.2", "0.3").code == 1
    rows = ask(tmp_path, "results", "--json").json
    paid = {row["task"]: row["cost"].get("USD", 0) for row in rows}
    took = {row["task"]: row["run_s"] for row in rows}
    assert paid[1] == 0
    for task in (0, 2):
        assert paid[task] == pytest.approx(took[task] / 1000, rel=0.01)
    link = reading.open_store(tmp_path / ".tailrace")
    spent = spent_by_the_scheduler(link)
    assert cost_by_currency(record(link, 1)) == {"USD": spent}
    link.close()
    assert sum(paid.values()) == pytest.approx(spent / 1e6)
    assert ask(tmp_path, "status", "1", "--json").json["spent"] == {"USD": spent / 1e6}
    assert "identical" in ask(tmp_path, "replay").out
    assert ask(tmp_path, "simulate", ".", "--as-scenario", "grid.toml").code == 0
    assert 'billing = "per_result"' in (tmp_path / "grid.toml").read_text()
