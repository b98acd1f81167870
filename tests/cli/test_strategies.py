"""Strategies of a bag through the commands: shown before a run, refused before a run."""

from __future__ import annotations

from pathlib import Path

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


def test_words_on_the_command_line_are_replicated_only_when_they_may_be(tmp_path: Path):
    words = ("--dry-run", "--json", "--replication", "wqr", "--", "echo", "{}", ":::", "a", "b")
    wrong = ask(tmp_path, "run", *words)
    assert wrong.code == 2 and "--repeatable" in wrong.err
    assert ask(tmp_path, "run", "--repeatable", *words).json["replication"] == "wqr"
    assert not (tmp_path / ".tailrace").exists()
