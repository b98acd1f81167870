"""Secrets reach the tasks, and nothing that is kept: every file is searched for their values."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

from tests.real.conftest import Folder, kill
from tests.real.served import serving, tailrace, worker

from tailrace.server.people.secretfile import keep

VALUE = "correct-horse-battery-staple"
CERTIFICATE = "-----BEGIN-----\nMIIBlines0fbase64\n-----END-----"
BAG = """
secrets = ["API_KEY", "CERTIFICATE"]
command = '''printf %s "$API_KEY" | sha256sum > sum.{x}
echo "the key is $API_KEY"; echo "$CERTIFICATE" >&2
echo "0.5 with $API_KEY" > $TAILRACE_PROGRESS
sleep 0.6
echo "{{\\"key\\": \\"$API_KEY\\", \\"$API_KEY\\": [1]}}" > $TAILRACE_RESULT
if [ {x} = 2 ]; then until [ -e go ]; do sleep 0.05; done; echo "no: $API_KEY" >&2; exit 3; fi'''
retries = 0
[parameters]
x = [1, 2]
"""
SUM = hashlib.sha256(VALUE.encode()).hexdigest()
HIDDEN = (VALUE, "MIIBlines0fbase64")


def leaks(*folders: Path, ended: bool = True) -> list[str]:
    """Files with a value, or a good part of it. What a running task itself writes, of how far it is
    or what came out, lies there until it has ended, or another worker begins there."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    files = [path for path in files if ended or path.suffix not in (".progress", ".result")]
    assert any(path.name == "store.db" for path in files)
    parts = [part.encode() for value in HIDDEN for part in (value, value[:9], value[-9:])]
    return [str(path) for path in files if any(part in path.read_bytes() for part in parts)]


def test_no_file_holds_a_value_after_a_run_a_kill_and_a_resume(folder: Folder) -> None:
    folder.write("bag.toml", BAG)
    run = folder.start("run", "--quiet", "-j", "2", API_KEY=VALUE, CERTIFICATE=CERTIFICATE)
    folder.wait_for(lambda: "succeeded" in folder.tailrace("results").stdout, 60)
    assert leaks(folder.path, ended=False) == []
    for pid in folder.processes():
        kill(pid)
    run.communicate()
    folder.wait_for(lambda: not folder.processes(), 60)
    assert leaks(folder.path, ended=False) == []
    (folder.path / "sum.2").unlink()
    (folder.path / "go").touch()
    assert folder.tailrace("resume", "--report").returncode == 1
    assert leaks(folder.path) == []
    assert [(folder.path / f"sum.{x}").read_text().split()[0] for x in (1, 2)] == [SUM, SUM]
    one, two = folder.results()
    assert one["stdout"] == "the key is ***\n" and one["value"] == {"key": "***", "***": [1]}
    assert one["stderr"] == "***\n" and two["stderr"] == "***\nno: ***\n"
    again = folder.tailrace("reproduce", "1")
    assert VALUE in again.stdout, "the task's own, which nobody keeps"
    told = [line for line in again.stderr.splitlines() if line.startswith("tailrace:")]
    assert told and VALUE not in "\n".join(told)


def test_one_that_is_not_set_is_named_before_anything_starts(folder: Folder) -> None:
    folder.write("bag.toml", BAG)
    for words in (("run",), ("run", "--detach")):
        done = folder.tailrace(*words, API_KEY=VALUE)
        assert done.returncode == 2
        assert "bag.toml:2: the variable CERTIFICATE is not set" in done.stderr
        assert not (folder.path / ".tailrace/store.db").exists()


def test_values_that_were_deleted_are_asked_for_again(folder: Folder) -> None:
    given = {"API_KEY": VALUE, "CERTIFICATE": CERTIFICATE}
    folder.write("bag.toml", BAG)
    run = folder.start("run", "--quiet", "-j", "2", **given)
    folder.wait_for((folder.path / "sum.2").exists, 60)
    for pid in folder.processes():
        kill(pid)
    run.communicate()
    shutil.rmtree(folder.path / ".tailrace/secrets")
    (folder.path / "go").touch()
    refused = folder.tailrace("resume", "--quiet")
    assert refused.returncode == 2 and "API_KEY is not set" in refused.stderr
    assert folder.tailrace("resume", "--quiet", **given).returncode == 1
    assert leaks(folder.path) == []


def test_a_server_hands_them_to_its_workers_also_after_it_was_started_anew(tmp_path: Path) -> None:
    lab, home, machine = (tmp_path / name for name in ("lab", "home", "machine"))
    lab.mkdir()
    home.mkdir()
    (home / "bag.toml").write_text(
        'secrets = ["API_KEY"]\n'
        'command = \'echo {x} "$API_KEY"; printf %s "$API_KEY" | sha256sum\'\n'
        "[parameters]\nx = [1, 2]\n"
    )
    with serving(lab) as server:
        user, pool = server.token("ada", "user").text(), server.token("lab", "pool").text()
        keep(home / "join", user)
        tailrace(home, "submit", "--server", "join", code=2)
        tailrace(home, "submit", "--server", "join", API_KEY=VALUE)
        port = server.owner.address.rpartition(":")[2]
        server.process.kill()
        server.process.wait()
    keep(tmp_path / "pool.join", pool)
    with serving(lab, "--port", port), worker(machine, "--join", str(tmp_path / "pool.join")):
        tailrace(home, "watch", "--quiet", "--server", "join")
        said = tailrace(home, "logs", "1/1", "--server", "join").stdout
        assert "2 ***" in said and SUM in said
        assert leaks(lab, home, machine) == []


def test_a_secret_that_the_command_names_leaves_no_hash_in_the_store(folder: Folder) -> None:
    """Other variables of the shell do, so that `run` sees when they have changed."""
    folder.write("bag.toml", 'command = \'echo "$API_KEY $PLACE"\'\nsecrets = ["API_KEY"]\n')
    for words in (("run", "--quiet"), ("run", "--detach", "--again", "--quiet")):
        assert folder.tailrace(*words, API_KEY=VALUE, PLACE="Oslo").returncode == 0
    with sqlite3.connect(folder.path / ".tailrace/store.db") as store:
        kept = [json.loads(row[0]) for row in store.execute("SELECT programs FROM bags")]
    assert [list(one) for one in kept] == [["$PLACE"]] * 2
    assert folder.tailrace("watch", "--quiet").returncode == 0
