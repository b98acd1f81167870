"""Which server a command asks, and what it is told when that is not to be had."""

from __future__ import annotations

import configparser
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.cli.conftest import Answer, Live, ask
from tests.real.served import serving

from tailrace.cli.servers.calling import call
from tailrace.errors import BadInput
from tailrace.worker.joining import BadJoin, found

SECRET = "s" * 43
NOWHERE = "http://127.0.0.1:9"  # the port of `discard`, where nobody listens


@pytest.mark.parametrize("words", ["status", "submit -- true ::: 1", "watch", "results", "hosts"])
def test_a_token_on_the_command_line_is_refused_and_not_repeated(
    tmp_path: Path, words: str
) -> None:
    given = ["--server", f"https://{SECRET}@example.org"]
    told = ask(tmp_path, *words.split()[:1], *given, *words.split()[1:])
    assert told.code == 2
    assert "can be read by anybody" in told.err and "tailrace login" in told.err
    assert SECRET not in told.err


def test_a_join_text_that_others_could_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lab.join").write_text(f"{NOWHERE}\n")
    told = ask(tmp_path, "status", "--server", "lab.join")
    assert told.code == 2 and "chmod 600 lab.join" in told.err


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    told = ask(tmp_path, "status", TAILRACE_SERVER=f"http://{SECRET}@127.0.0.1:9")
    assert told.code == 6
    assert f"the server at {NOWHERE} does not answer" in told.err and SECRET not in told.err


def test_a_login_that_does_not_hold_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "ada.join").write_text(f"http://{SECRET}@127.0.0.1:9\n")
    (tmp_path / "ada.join").chmod(0o600)
    config = tmp_path / "config"
    assert ask(tmp_path, "login", "ada.join", XDG_CONFIG_HOME=str(config)).code == 6
    assert not config.exists()


def test_without_any_server_submit_says_what_to_do(tmp_path: Path) -> None:
    told = ask(tmp_path, "submit", "--", "true", ":::", "1", XDG_CONFIG_HOME=str(tmp_path))
    assert told.code == 2 and "tailrace serve --local" in told.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--tls nonsense", "names no certificate"),
        ("--tls a.pem:b.pem", "there is no file a.pem"),
        ("--tls own --behind-proxy", "given at once"),
        ("--port 70000", "is not a port"),
        ("--cores 2", "without --local"),
        ("--url example.org", "is no address"),
        ("--behind-proxy", "without the address that others call"),
        ("--behind-proxy --url http://example.org", "without the address that others call"),
        ("--store postgresql://me:hidden@host/lab", "a password on the command line"),
        ("--store postgresql://host/lab?password=hidden", "a password on the command line"),
    ],
)
def test_flags_that_cannot_be_meant_are_refused(tmp_path: Path, words: str, text: str) -> None:
    told = ask(tmp_path, "serve", *words.split())
    assert told.code == 2 and text in told.err and "hidden" not in told.err


@pytest.mark.parametrize("address", ["a..b", "203.0.113.7"])
def test_an_address_of_no_machine_is_not_blamed_on_its_port(tmp_path: Path, address: str) -> None:
    told = ask(tmp_path, "serve", "--address", address, "--port", "0", "--tls", "own")
    assert told.code == 6 and "an address of this machine" in told.err


def test_a_token_is_not_sent_in_clear(tmp_path: Path) -> None:
    (tmp_path / "ada.join").write_text(f"http://{SECRET}@203.0.113.7:8600\n")
    (tmp_path / "ada.join").chmod(0o600)
    told = ask(tmp_path, "status", "--server", "ada.join")
    assert told.code == 2 and "sent in clear" in told.err and SECRET not in told.err
    with pytest.raises(BadJoin, match="sent in clear"):
        found(None, str(tmp_path / "ada.join"))


def test_a_token_in_the_environment_is_not_one_on_the_command_line(tmp_path: Path) -> None:
    told = ask(tmp_path, "status", "--server", "http://127.0.0.1:9", TAILRACE_TOKEN=SECRET)
    assert told.code == 6 and "does not answer" in told.err


def test_a_token_is_not_made_when_its_file_cannot_be_written(tmp_path: Path) -> None:
    told = ask(tmp_path, "tokens", "--folder", "runs", "add", "ada", "--user", "--write", "no/a")
    assert told.code == 2 and "folder that exists" in told.err
    assert "no token yet" in ask(tmp_path, "tokens", "--folder", "runs").out


@pytest.mark.parametrize("kept", ["a file", "a link that leads nowhere"])
def test_a_token_is_not_made_for_a_file_that_is_there(tmp_path: Path, kept: str) -> None:
    """It may hold the only copy of another token."""
    file = tmp_path / "ada.join"
    file.write_text("of ada\n") if kept == "a file" else file.symlink_to("away")
    words = ("tokens", "--folder", "runs", "add", "bob", "--user", "--write", "ada.join")
    told = ask(tmp_path, *words)
    assert told.code == 2 and "ada.join is there already" in told.err and "remove it" in told.err
    assert file.is_symlink() or file.read_text() == "of ada\n"
    assert "no token yet" in ask(tmp_path, "tokens", "--folder", "runs").out
    file.unlink()
    assert ask(tmp_path, *words).code == 0


def test_a_name_is_a_users_or_an_admins_with_a_server_and_without(tmp_path: Path) -> None:
    def add(*words: str) -> Answer:
        return ask(tmp_path, "tokens", "add", *words)

    with serving(tmp_path):
        assert add("ada", "--user").code == 0
        told = add("ada", "--admin")
        assert told.code == 2 and "token 1 is of user ada" in told.err
    told = add("ada", "--admin")
    assert told.code == 2 and "tailrace tokens revoke 1" in told.err
    assert ask(tmp_path, "tokens", "revoke", "1").code == 0
    assert add("ada", "--admin").code == 0 and add("ada", "--user").code == 2


def test_the_unit_starts_the_same_server(tmp_path: Path) -> None:
    folder = tmp_path / "50% of $HOME"
    folder.mkdir()
    told = ask(folder, "serve", "--systemd", "--address", "0.0.0.0", "--tls", "own", "--local")
    unit = configparser.ConfigParser(interpolation=None)
    unit.read_string(told.out)
    command = unit["Service"]["ExecStart"].replace("%%", "%").replace("$$", "$")
    words = shlex.split(command)
    assert words[words.index("--folder") + 1] == str(folder / ".tailrace")
    assert words[words.index("--address") + 1] == "0.0.0.0" and "--local" in words
    usual, most = map(int, unit["Service"]["LimitNOFILE"].split(":"))
    assert usual == 1024 and most > 4096  # the tasks, and the server for itself
    assert not (folder / ".tailrace").exists()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="it needs systemd")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    folder = tmp_path / "50% of $HOME"
    folder.mkdir()
    unit = tmp_path / "tailrace.service"
    unit.write_text(ask(folder, "serve", "--systemd", "--address", "0.0.0.0", "--tls", "own").out)
    words = ["systemd-analyze", "verify", "--user", str(unit)]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_tokens_are_made_and_listed_without_a_server(tmp_path: Path) -> None:
    folder = str(tmp_path / "runs")
    made = ask(tmp_path, "tokens", "--folder", folder, "add", "lab", "--pool", "--write", "lab")
    assert made.code == 0 and (tmp_path / "lab").stat().st_mode & 0o777 == 0o600
    (told,) = json.loads(ask(tmp_path, "tokens", "--folder", folder, "list", "--json").out)
    assert (told["kind"], told["name"], told["state"]) == ("pool", "lab", "holds")
    refused = ask(tmp_path, "tokens", "--folder", folder, "add", "lab")
    assert refused.code == 2 and "--user, --admin, --pool and --metrics" in refused.err
    assert ask(tmp_path, "tokens", "--folder", folder, "revoke", "7").code == 2


@pytest.mark.parametrize("words", [("add",), ("revoke",), ("list",), ()])
def test_help_about_tokens_needs_no_server(tmp_path: Path, words: tuple[str, ...]) -> None:
    told = ask(tmp_path, "tokens", *words, "--help")
    assert told.code == 0 and "Usage" in told.out


@pytest.mark.parametrize("words, why", [
    (("--user", "--expires", "0"), "hold for no time"),
    (("--user", "--expires", "0.2s"), "hold for no time"),
    (("--pool", "--user"), "--user and --pool are given at once"),
])  # fmt: skip
def test_a_token_that_is_of_no_use_or_of_two_kinds_is_not_made(
    tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    told = ask(tmp_path, "tokens", "--folder", "runs", "add", "ada", *words)
    assert told.code == 2 and why in told.err
    assert "no token yet" in ask(tmp_path, "tokens", "--folder", "runs").out


def test_a_token_for_metrics_comes_as_prometheus_reads_it(live: Live) -> None:
    told = ask(live.folder, "tokens", "add", "prometheus", "--metrics", "--write", "token")
    assert told.code == 0 and "/metrics" in told.out
    assert (live.folder / "token").read_text().strip().replace("-", "").replace("_", "").isalnum()


def test_a_backup_is_the_whole_store_as_one_file(live: Live) -> None:
    """Taken while its run goes on, it can be read alone, and says the same."""
    assert ask(live.folder, "backup", "copies/.tailrace").code == 2
    (live.folder / "copies").mkdir()
    runs = live.folder / "copies" / ".tailrace"
    told = ask(live.folder, "backup", str(runs))
    assert told.code == 0 and told.out.startswith("1 bag in ")
    assert [path.name for path in runs.iterdir()] == ["store.db"]
    assert runs.stat().st_mode & 0o777 == 0o700
    assert (runs / "store.db").stat().st_mode & 0o777 == 0o600
    again = ask(live.folder, "backup", str(runs))
    assert again.code == 2 and "is there already" in again.err
    (copy,) = ask(live.folder / "copies", "status", "--json").json["bags"]
    assert (copy["count"], copy["succeeded"], copy["state"]) == (5, 3, "interrupted")


def test_what_to_type_next_is_of_a_server_where_there_is_one(live: Live) -> None:
    told = ask(live.folder, "tokens", "add", "more", "--pool", "--write", "more.join")
    assert "A machine that has this file joins by this line:" in told.out
    ada = ask(live.folder, "tokens", "add", "ada", "--user", "--write", "ada.join")
    assert ada.code == 0, ada.err
    told = ask(live.folder, "status", "--server", "ada.join")
    assert told.out == "There is no bag here yet. Hand one in with `tailrace submit`.\n"


def test_an_answer_that_comes_before_all_was_sent_is_read(tmp_path: Path) -> None:
    """A server does not take to its end what it has refused."""
    with serving(tmp_path) as server:
        stranger = replace(server.owner, token=SECRET)
        with pytest.raises(BadInput, match="does not know your token"):
            call(stranger, "POST", "/api/v1/bags", {"spec": "x" * (64 << 20)})
