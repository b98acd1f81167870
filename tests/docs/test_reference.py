"""The reference says what the code says: every key, command, field, table and word."""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

from tailrace.bag.bagfile import load_bag_file
from tailrace.bag.outcome import Outcome
from tailrace.bag.starter import write_bag_file
from tailrace.cli.main import COMMANDS
from tailrace.cli.setting import SETTINGS
from tailrace.errors import BadInput, Exit
from tailrace.report.record import Result
from tailrace.scheduler.rows import BagPhase
from tailrace.server.tables.store import Store
from tailrace.simulation.reading import load_scenario
from tailrace.simulation.statistics import figures, machines
from tailrace.simulation.world import World

DOCS = ROOT / "docs"
WORDS = (
    "bag", "task", "attempt", "pool", "lease", "host", "worker", "deadline", "time-out",
    "time limit", "errand", "strategy", "policy", "plan", "frontier", "tail",
)  # fmt: skip


def table(path: str, head: str) -> dict[str, list[str]]:
    """The rows of the tables whose first column has this head, by their first cell."""
    rows: dict[str, list[str]] = {}
    inside = False
    for line in (DOCS / path).read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == head:
            inside = True
        elif inside and not set(cells[0]) <= {"-"}:
            rows[cells[0]] = cells[1:]
    return rows


def test_the_command_line_is_what_the_commands_say():
    script = DOCS / "reference" / "make_command_line.py"
    spec = importlib.util.spec_from_file_location("make_command_line", script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), f"run: python {script.relative_to(ROOT)}"


def test_the_glossary_has_every_word_once():
    assert tuple(table("glossary.md", "word")) == WORDS


def test_the_glossary_has_every_outcome_and_phase():
    assert set(table("glossary.md", "outcome")) == {outcome.value for outcome in Outcome}
    assert set(table("glossary.md", "phase")) == {phase.value for phase in BagPhase}


def test_every_exit_code_is_explained():
    assert set(table("reference/exit-codes.md", "code")) == {str(int(code)) for code in Exit}


def test_every_field_of_a_result_is_explained():
    assert tuple(table("reference/result.md", "field")) == Result.__struct_fields__


def test_every_setting_is_explained_with_its_default():
    told = table("reference/settings.md", "setting")
    assert {name: row[0] for name, row in told.items()} == {
        name: setting.show(setting.default) for name, setting in SETTINGS.items()
    }


def test_every_setting_has_its_variable():
    text = (DOCS / "reference/environment.md").read_text()
    assert [s.variable for s in SETTINGS.values() if f"`{s.variable}`" not in text] == []


def test_every_table_of_the_store_is_explained():
    store = Store(":memory:")
    names = store.link.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    store.close()
    there = {name for (name,) in names if not name.startswith("sqlite_")}
    assert set(table("reference/store.md", "table")) == there


def test_every_kind_of_the_feed_is_explained():
    """As the ledger names them."""
    sources = (ROOT / "src/tailrace/server").glob("*.py")
    kinds = {
        k
        for s in sources
        for k in re.findall(r'_tell\([^"()]*(?:\([^()]*\))?[^"()]*"(\w+)"', s.read_text())
    }
    assert kinds and set(table("reference/feed.md", "kind")) == kinds


def test_every_key_of_a_bag_file_is_explained(tmp_path: Path):
    assert set(table("reference/bag-file.md", "key")) == set(known_keys(tmp_path))


def known_keys(folder: Path) -> list[str]:
    bag = folder / "bag.toml"
    bag.write_text('command = "true"\nnonsense = 1\n')
    with pytest.raises(BadInput) as fault:
        load_bag_file(bag)
    return listed_in(fault.value)


def listed_in(fault: BadInput) -> list[str]:
    """From the message about a key that is none."""
    listed = re.search(r"known here are ([^;]+)", fault.remedy)
    assert listed
    return listed[1].split(", ")


SCENARIO = """
[sites.s]
#sites
[network]
#network
[pools.p]
machines = 1
#pools
[bags.b]
tasks = 1
length = 1
#bags
"""


@pytest.mark.parametrize("where", ["", "#sites", "#network", "#pools", "#bags"])
def test_every_key_of_a_scenario_is_explained(tmp_path: Path, where: str):
    """Those of its tables too; what a bag file alone has a use for is let be."""
    text = SCENARIO.replace(where, "nonsense = 1", 1) if where else f"nonsense = 1{SCENARIO}"
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(BadInput) as fault:
        load_scenario(tmp_path / "s.toml")
    page = re.sub(r"```.*?```", "", (DOCS / "reference/scenario.md").read_text(), flags=re.DOTALL)
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert set(listed_in(fault.value)) - told - NOT_SIMULATED == set()


# Of commands and their ends, which a scenario has none of.
NOT_SIMULATED = {"env", "grace", "keep_output", "on_over_limit", "result", "repeatable"}


def test_every_figure_of_a_simulation_is_explained(tmp_path: Path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    world = World(load_scenario(tmp_path / "s.toml"), 0)
    told = " ".join(table("reference/scenario.md", "figure"))
    assert [name for name in figures(world) if f"{name}" not in told] == []
    page = (DOCS / "reference/scenario.md").read_text()
    assert [name for name in machines(world)[0].figures if f"`{name}`" not in page] == []


def test_the_commented_bag_file_speaks_of_every_key_too(tmp_path: Path):
    text = write_bag_file("echo {alpha}")
    missing = [key for key in known_keys(tmp_path) if not re.search(rf"\b{key}\b", text)]
    assert missing in ([], ["settings"])


def test_every_option_of_the_worker_is_explained():
    words = [sys.executable, "-m", "tailrace.worker", "--help"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  (--[a-z-]+)", told, re.MULTILINE))
    explained = {cell.partition("`")[0] for cell in table("reference/worker.md", "option")}
    assert listed and explained == listed


def test_every_command_is_in_the_reference():
    assert list(table("reference/command-line.md", "command")) == [
        f"[`{name}`](#{name})" for name in COMMANDS
    ]


def test_sqlite_reads_the_store_as_the_page_says(tmp_path: Path):
    store = Store(tmp_path / "store.db")
    assert store.link.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()
    assert sqlite3.connect(tmp_path / "store.db").execute("SELECT * FROM results").fetchall() == []
