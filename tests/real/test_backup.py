"""A server from its copy: in an empty folder, known by the same join texts, with all files."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import ask
from tests.real.served import serving, worker

BAG = """
command = "cat in > out; cat in >> out"
[inputs]
"in" = "in"
[outputs]
"out" = "results/twice"
"""
SECRET = """
command = "test $KEY = hidden && cat in"
secrets = ["KEY"]
inputs = ["in"]
"""


def test_a_copy_in_an_empty_folder_goes_on_where_the_server_was(tmp_path: Path) -> None:
    """Its certificate is the same, so that old join texts hold; a bag that had not begun has its
    inputs and its secrets, one that was over its outputs."""
    group, again, away = (tmp_path / name for name in ("group", "again", "away"))
    for folder in (group, again, away):
        folder.mkdir()
    join = str(away / "ada.join")
    for name, text in (("in", "x\n"), ("bag.toml", BAG), ("secret.toml", SECRET)):
        (away / name).write_text(text)
    with serving(group, "--tls", "own") as server:
        port, lab = server.owner.address.rpartition(":")[2], server.token("lab", "pool").text()
        assert ask(group, "tokens", "add", "ada", "--user", "--write", join).code == 0
        assert ask(away, "submit", "-q", TAILRACE_SERVER=join).out == "1\n"
        with worker(tmp_path / "w", TAILRACE_JOIN=lab):
            assert ask(away, "watch", "1", "-q", TAILRACE_SERVER=join).code == 0
        (away / "in").write_text("y\n")
        told = ask(away, "submit", "-q", "secret.toml", TAILRACE_SERVER=join, KEY="hidden")
        assert told.out == "2\n", told
        copied = ask(group, "backup", "--files", str(tmp_path / "copy"))
        assert copied.code == 0 and copied.out.startswith("2 bags in "), copied
    shutil.rmtree(group)
    shutil.rmtree(tmp_path / "w/files/cache", ignore_errors=True)
    shutil.copytree(tmp_path / "copy", again / ".tailrace")
    with serving(again, "--tls", "own", "--port", port):
        assert ask(away, "fetch", "1", "-q", TAILRACE_SERVER=join).code == 0
        assert (away / "results/twice").read_text() == "x\nx\n"
        with worker(tmp_path / "w", TAILRACE_JOIN=lab):
            assert ask(away, "watch", "2", "-q", TAILRACE_SERVER=join).code == 0
        (row,) = ask(away, "results", "2", "--json", TAILRACE_SERVER=join).json
        assert row["stdout"] == "y\n"


def test_a_copy_without_files_has_all_results_and_no_blobs(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x\n")
    (tmp_path / "bag.toml").write_text(BAG)
    with serving(tmp_path, "--local", "-j", "1", "--tls", "own"):
        assert ask(tmp_path, "submit", "-q").code == 0
        assert ask(tmp_path, "watch", "-q").code == 0
        assert ask(tmp_path, "backup", "copy").code == 0
    there = sorted(path.name for path in (tmp_path / "copy").iterdir())
    assert there == ["secrets", "store.db", "tls"]
    (tmp_path / "copy").rename(tmp_path / "results/.tailrace")
    (row,) = ask(tmp_path / "results", "results", "--json").json
    assert row["outcome"] == "succeeded"
