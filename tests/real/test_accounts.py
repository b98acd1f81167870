"""What tasks can read of the server that runs them: its environment, its files, its account."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import ROOT
from tests.real.served import Server, serving, tailrace, wait_for

PAGE = ROOT / "docs/how-to/server.md"
SYSTEM_PYTHON = "/usr/bin/python3"
SECRETS = {"PGPASSWORD": "hush", "TAILRACE_TOKEN": "hush", "CLOUD_KEY": "hush"}
LOOKS = "env; tr '\\0' '\\n' < /proc/$PPID/environ; : {}"


def _said(folder: Path, command: str) -> str:
    """By a bag of one task."""
    tailrace(folder, "submit", "-q", "--", command, ":::", "1")
    tailrace(folder, "watch", "-q", code=None)
    told = json.loads(tailrace(folder, "results", "--json").stdout)[-1]
    assert told["outcome"] == "succeeded", told
    return str(told["stdout"])


def test_tasks_and_workers_of_a_server_do_not_inherit_its_secrets(tmp_path: Path) -> None:
    with serving(tmp_path, "--local", "-j", "1", **SECRETS):
        said = _said(tmp_path, LOOKS)
        assert "PATH=" in said and "hush" not in said
    with serving(tmp_path, "--local", "-j", "1", "--inherit", **SECRETS):
        said = _said(tmp_path, "env; : {}")
        assert "CLOUD_KEY=hush" in said and "TAILRACE_TOKEN" not in said


def test_a_server_says_once_that_users_share_its_account(tmp_path: Path) -> None:
    def told() -> int:
        return (tmp_path / "log").read_text().count("users run on this machine")

    with serving(tmp_path, "--local", "-j", "1") as server:
        server.token("ada", "user")
        assert told() == 0
        server.token("bob", "user")
        server.token("eve", "user")
        assert told() == 1
    with serving(tmp_path, "--local", "-j", "1"):
        wait_for(lambda: told() == 2)
    with serving(tmp_path) as server:
        server.token("joe", "user")
    assert told() == 2


@pytest.fixture
def apart() -> Iterator[Path]:
    """Below a folder that everybody may enter, as `tmp_path` is not."""
    lacks = [name for name in ("runuser", SYSTEM_PYTHON) if shutil.which(name) is None]
    if os.getuid() != 0 or lacks:
        pytest.skip(f"only root, with runuser and {SYSTEM_PYTHON}, can work as somebody else")
    made = Path(tempfile.mkdtemp(dir="/var/tmp"))
    made.chmod(0o755)
    for name in ("group", "home"):
        (made / name).mkdir()
    shutil.chown(made / "home", "nobody")
    yield made
    shutil.rmtree(made)


def _pool(home: Path) -> str:
    """As the page says, with another way to be somebody else than sudo."""
    text = PAGE.read_text().partition("# file: pools.toml\n")[2].partition("```")[0]
    assert tomllib.loads(text)["pools"]["apart"]["stop"].startswith("sudo -n -u tasks ")
    text = text.replace("sudo -n -u tasks", f"runuser -u nobody -- env HOME={home}")
    text = text.replace("-u tasks", "-u nobody").replace("python3", SYSTEM_PYTHON)
    return text.replace('look = "5s"', 'look = "1s"').replace("max = 1", "max = 1\ncores = 1")


def test_a_task_under_another_account_reads_nothing_of_the_server(apart: Path) -> None:
    group = apart / "group"
    (group / "pools.toml").write_text(_pool(apart / "home"))
    secret = group / ".tailrace/server.json"
    (group / "bag.toml").write_text(
        f'command = "id -un; cat {secret} || echo refused; : {{n}}"\nfiles = "staged"\n'
        "[parameters]\nn = [1]\n"
    )
    with serving(group) as server:
        assert "token" in secret.read_text()
        tailrace(group, "submit", "-q", "bag.toml")
        tailrace(group, "watch", "-q")
        (told,) = json.loads(tailrace(group, "results", "--json").stdout)
        assert told["stdout"] == "nobody\nrefused\n"
        _its_token_opens_no_bag(server, next((apart / "home").glob("*.join")))
        wait_for(lambda: _standing(group) == "0")


def _its_token_opens_no_bag(server: Server, file: Path) -> None:
    from tailrace.worker.joining import parse

    join = parse(file.read_text())
    for path in ("/api/v1/bags", "/api/v1/bags/1/results", "/api/v1/tokens", "/metrics"):
        assert server.ask(join, "GET", path)[0] == 403


def _standing(folder: Path) -> str:
    (pool,) = json.loads(tailrace(folder, "pools", "--json").stdout)
    return str(pool["standing"])
