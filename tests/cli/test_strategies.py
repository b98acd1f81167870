"""Strategies of a bag through the commands: shown before a run, refused before a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import ask

BAG = """
command = "true {size}"
order = "-size"
matching = "maxmax"
replication = {strategy = "wqr", most = 3}
round = "10s"
repeatable = true
[parameters]
size = [1, 2]
"""


def test_a_check_shows_them(tmp_path: Path):
    (tmp_path / "bag.toml").write_text(BAG)
    told = ask(tmp_path, "check")
    assert told.code == 0, told.err
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in told.out.splitlines() if line}
    assert (rows["matching"], rows["replication"]) == ("maxmax", "wqr, most 3")
    assert rows["round"] == "every 10s"
    assert ask(tmp_path, "check", "--json").json["replication"] == "wqr, most 3"


def test_flags_stand_above_the_file(tmp_path: Path):
    (tmp_path / "bag.toml").write_text(BAG)
    told = ask(tmp_path, "run", "--dry-run", "--json", "--replication", "ntdmr,n=1,mr=0.5")
    assert told.json["replication"] == "ntdmr, n 1, mr 0.5"
    wrong = ask(tmp_path, "run", "--replication", "wqr,most=none")
    assert wrong.code == 2 and "--replication: wqr: most is 'none', not a whole number" in wrong.err
    wrong = ask(tmp_path, "run", "--replication", "wqr,most")
    assert wrong.code == 2 and "Write it as wqr,most=3." in wrong.err


WISHES = [
    ("--prefer", "budget"), ("--prefer", "deadline"),
    ("--replication", "planned,prefer=budget"), ("--replication", "planned,prefer=deadline"),
]  # fmt: skip


@pytest.mark.parametrize(("flag", "wish"), WISHES)
def test_a_bound_that_a_plan_is_to_keep_must_be_there(tmp_path: Path, flag: str, wish: str):
    bound, amount = ("budget", "2 USD") if "budget" in wish else ("deadline", "2h")
    words = ("--dry-run", "--json", flag, wish, "--repeatable", "--", "true", ":::", "a")
    wrong = ask(tmp_path, "run", *words)
    assert wrong.code == 2 and wrong.err.startswith(f"tailrace: {flag}")
    assert f"the bag has no {bound}" in wrong.err and f"--{bound}" in wrong.err
    assert "prefer" in ask(tmp_path, "run", f"--{bound}", amount, *words).json["replication"]


def test_so_it_must_in_a_file_and_in_a_scenario(tmp_path: Path):
    planned = 'replication = { strategy = "planned", prefer = "deadline" }\n'
    (tmp_path / "bag.toml").write_text(f'command = "true"\nrepeatable = true\n{planned}')
    wrong = ask(tmp_path, "check")
    assert wrong.code == 2 and wrong.err.startswith("tailrace: bag.toml:3: ")
    (tmp_path / "s.toml").write_text(
        f'[pools.a]\nmachines = 2\n[bags.b]\ntasks = 3\nlength = "1s"\n{planned}'
    )
    wrong = ask(tmp_path, "simulate", "s.toml")
    assert wrong.code == 2 and "s.toml:6: " in wrong.err and "has no deadline" in wrong.err


def test_what_was_typed_is_named(tmp_path: Path):
    wrong = ask(tmp_path, "run", "--prefer", "product", "--", "true", ":::", "a")
    assert wrong.code == 2 and "--prefer product: " in wrong.err and "--repeatable" in wrong.err


def test_words_on_the_command_line_are_replicated_only_when_they_may_be(tmp_path: Path):
    words = ("--dry-run", "--json", "--replication", "wqr", "--", "echo", "{}", ":::", "a", "b")
    wrong = ask(tmp_path, "run", *words)
    assert wrong.code == 2 and "--repeatable" in wrong.err
    assert ask(tmp_path, "run", "--repeatable", *words).json["replication"] == "wqr"
    assert not (tmp_path / ".tailrace").exists()
