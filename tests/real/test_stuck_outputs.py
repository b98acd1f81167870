"""Outputs that something keeps from their targets: told of, tried again, and delivered."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import ask
from tests.real.served import serving, wait_for

LONG = "n" * 254  # and a digit: no file system has a longer name
BAG = f"""
command = "echo {{x}} > out"
[outputs]
"out" = "results/{LONG}{{x}}"
[parameters]
x = [1, 2]
"""


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """A user's folder. On the server a file stands where the outputs of bag 1 are to go."""
    folder = tmp_path / "away"
    folder.mkdir()
    (folder / "bag.toml").write_text(BAG)
    (tmp_path / ".tailrace/outputs").mkdir(parents=True)
    (tmp_path / ".tailrace/outputs/1").touch()
    return folder


def test_a_server_delivers_by_itself_what_it_could_not_and_says_so_meanwhile(away: Path) -> None:
    with serving(away.parent, "--local", "-j", "1"):
        join = away / "ada.join"
        assert ask(away.parent, "tokens", "add", "ada", "--user", "--write", str(join)).code == 0
        ran = ask(away, "run", "--quiet", "--server", str(join))
        assert ran.code == 6, ran
        assert "outputs of 2 tasks are not at their targets yet  [task 0, 1]" in ran.err
        assert "Not a directory" in ran.err and "tries again by itself" in ran.err
        for folder, server in ((away, ("--server", str(join))), (away.parent, ())):
            status = ask(folder, "status", "1", *server)
            assert "outputs of 2 tasks" in status.out and "Not a directory" in status.out
            watched = ask(folder, "watch", "1", *server)
            assert watched.code == 6 and "Not a directory" in watched.out
        told = ask(away, "status", "1", "--json", "--server", str(join)).json
        assert told["unpublished"] == 2 and "Not a directory" in told["in_the_way"][0]
        fetched = ask(away, "fetch", "1", "--server", str(join))
        assert fetched.code == 6 and "Not a directory" in fetched.err
        (away.parent / ".tailrace/outputs/1").unlink()
        wait_for(lambda: ask(away, "watch", "1", "--quiet", "--server", str(join)).code == 0)
        assert "not at their targets" not in ask(away, "status", "1", "--server", str(join)).out
        assert ask(away, "fetch", "1", "--quiet", "--server", str(join)).code == 0
    assert (away / f"results/{LONG}2").read_text() == "2\n"


def test_resume_at_a_server_moves_them_at_once_or_says_what_is_in_the_way(
    away: Path, tmp_path: Path
) -> None:
    """Without it the server would have come to it much later."""
    with serving(tmp_path, "--local", "-j", "1", PYTHONPATH=str(patient(tmp_path))):
        join = away / "ada.join"
        assert ask(tmp_path, "tokens", "add", "ada", "--user", "--write", str(join)).code == 0
        assert ask(away, "run", "--quiet", "--server", str(join)).code == 6
        still = ask(away, "resume", "1", "--server", str(join))
        assert still.code == 6 and "Not a directory" in still.err
        (tmp_path / ".tailrace/outputs/1").unlink()
        moved = ask(away, "resume", "1", "--server", str(join))
        assert moved.code == 0 and "its outputs are at their targets" in moved.out
        assert (tmp_path / f".tailrace/outputs/1/results/{LONG}2").read_text() == "2\n"


def patient(folder: Path) -> Path:
    """A server that finds this on its path waits an hour before it tries again."""
    (folder / "path").mkdir()
    (folder / "path/sitecustomize.py").write_text(
        "from tailrace.server.files import porter\nporter.FIRST_S = 3600.0\n"
    )
    return folder / "path"
