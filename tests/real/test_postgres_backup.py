"""A copy of a real PostgreSQL by `pg_dump`, and a server that goes on from it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import ask
from tests.database import Database, binaries
from tests.real.served import serving, tailrace, wait_for

LAB = "lab"


def _run(database: Database, program: str, *words: str) -> None:
    found = binaries()
    assert found is not None
    given = ["-h", "127.0.0.1", "-p", str(database.port), "-U", database.user]
    env = {**os.environ, "PGAPPNAME": "backup"}
    done = subprocess.run(
        [str(found / program), *given, *words], capture_output=True, text=True, env=env, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("format", ["custom", "plain"])
def test_a_server_goes_on_from_a_dump_taken_while_another_ran(
    tmp_path: Path, database: Database, format: str
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    url = database.url()
    schema, other = url.partition("schema=")[2], f"{LAB}_{format}_{os.getpid()}"
    with serving(here, "--local", "--store", url) as server:
        tailrace(here, "submit", "--name", "kept", "--", "echo", "{}", ":::", "1", "2")
        wait_for(lambda: ask(here, "status", "1", "--json").json["phase"] == "finished")
        server.token("ada", "user")
        held = "until test -e go; do sleep 0.1; done; echo {}"
        tailrace(here, "submit", "--name", "under way", "--", held, ":::", "3")
        wait_for(lambda: ask(here, "status", "2", "--json").json["live"] == 1)
        dump = str(tmp_path / "store.dump")
        _run(database, "pg_dump", f"--schema={schema}", f"--format={format}", f"--file={dump}",
             "postgres")  # fmt: skip
        told = ask(here, "backup", "--files", str(tmp_path / "copy"))
        assert told.code == 0, told.err
        before = ask(here, "results", "1", "--json").json
        (here / "go").touch()
        assert server.end() == 0

    _run(database, "createdb", other)
    if format == "custom":
        _run(database, "pg_restore", "--no-owner", "--exit-on-error", "--dbname", other, dump)
    else:
        _run(database, "psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", other, "-f", dump)
    shutil.copytree(tmp_path / "copy", there / ".tailrace")
    address = url.replace("/postgres?", f"/{other}?")
    (there / ".tailrace" / "store.url").write_text(address)
    assert ask(there, "results", "1", "--json").json == before
    with serving(there, "--local") as server:
        wait_for(lambda: ask(there, "status", "2", "--json").json["phase"] == "finished")
        tailrace(there, "submit", "--name", "new", "--", "echo", "{}", ":::", "4")
        wait_for(lambda: ask(there, "status", "3", "--json").json["phase"] == "finished")
        assert "ada" in ask(there, "tokens").out
        assert server.end() == 0
    (late,) = ask(there, "results", "2", "--json").json
    assert late["stdout"] == "3\n"
    database.execute(f"DROP DATABASE {other}")
