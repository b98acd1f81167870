"""Policies on a real server: two users, a change while it runs, a server that starts anew."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import ask
from tests.real.served import Server, serving

from tailrace.server.people.secretfile import keep

BAG = """
command = "sleep {x}"
priority = 2
tasks_per_host = 4
[parameters]
x = [1, 2, 3]
[policy]
JobRequirements = 'Host.Speed > 0'
"""


def join(server: Server, name: str) -> str:
    """A file with the user's join text."""
    path = server.folder / f"{name}.join"
    keep(path, server.token(name, "user").text())
    return str(path)


def test_an_owner_alone_sets_his_policy_and_a_restart_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "bag.toml").write_text(BAG)
    with serving(tmp_path) as server:
        ada, bob = join(server, "ada"), join(server, "bob")
        done = ask(tmp_path, "submit", "--server", ada, "--quiet")
        assert done.code == 0, done.err
        (tmp_path / "bag.toml").write_text(BAG.replace("Host.Speed", "Host.Spede"))
        wrong = ask(tmp_path, "submit", "--server", ada)
        assert wrong.code == 2 and "bag.toml:8: JobRequirements, column 1" in wrong.err
        told = ask(tmp_path, "policy", "show", "1", "--server", ada)
        assert told.out == (
            "JobRequirements =\n    (Host.RunningOfBot < 4) &&  // tasks_per_host = 4\n"
            "    (Host.Speed > 0)\nRank = 2  // priority = 2\n"
        )
        for words in (["show", "1"], ["set", "1", "priority=99"]):
            assert ask(tmp_path, "policy", *words, "--server", bob).code == 2
        words = ["priority=7", "Deadline=Host.NumCpus * 60", "--unset", "JobRequirements"]
        told = ask(tmp_path, "policy", "set", "1", *words, "--server", ada)
        assert told.code == 0 and "No server runs" not in told.out, told.err
        wrong = ask(tmp_path, "policy", "set", "1", "Deadline=-1", "--server", ada)
        assert wrong.code == 2 and "Deadline: it gives -1" in wrong.err
        assert server.end() == 0
    with serving(tmp_path) as server:
        shown = ask(tmp_path, "policy", "show", "1").out
        assert shown == (
            "JobRequirements = Host.RunningOfBot < 4  // tasks_per_host = 4\n"
            "Rank = 7  // priority = 7\nDeadline = Host.NumCpus * 60\n"
        )
