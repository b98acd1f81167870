"""What the commands tell to type next works where the user stands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ask, clean_environment, tailrace
from tests.real.served import serving

from tailrace.server.people.secretfile import keep
from tailrace.worker.machine import cores


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A `tailrace` that is not on the PATH, as after `make demo`."""
    script = tmp_path / "env/bin/tailrace"
    script.parent.mkdir(parents=True)
    script.write_text(
        f"#!{sys.executable}\nfrom tailrace.cli.main import main\nmain()\n",
    )
    script.chmod(0o755)
    return script


def type_in(folder: Path, line: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Into a shell that knows no `tailrace`."""
    path = "/usr/bin:/bin"
    return subprocess.run(
        line, shell=True, cwd=folder, capture_output=True, text=True, timeout=60,
        env={**clean_environment(env), "PATH": path}, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def hinted(text: str, label: str) -> str:
    found = re.search(rf"^  {label}: +(.+)$", text, re.M)
    assert found is not None, text
    return found[1]


def typed(text: str, label: str) -> list[str]:
    program, *words = shlex.split(hinted(text, label))
    assert program == "tailrace"
    return words


def test_after_a_run_elsewhere_by_a_path_every_hint_can_be_typed(
    installed: Path, tmp_path: Path
) -> None:
    bag = tmp_path / "a b/bag.toml"
    bag.parent.mkdir()
    bag.write_text('command = "test {x} = 1"\nparameters = {x = [1, 2]}\n')
    ran = type_in(tmp_path, "env/bin/tailrace run 'a b/bag.toml'")
    assert ran.returncode == 1, ran.stderr
    assert hinted(ran.stdout, "results") == "cd 'a b' && ../env/bin/tailrace results"
    assert type_in(tmp_path, hinted(ran.stdout, "results")).returncode == 0
    first, _, retry = hinted(ran.stdout, "failed").split(" · ")
    assert "test" not in type_in(tmp_path, first).stderr
    told = type_in(bag.parent, retry)
    assert "1 task of bag 1 will be tried again" in told.stdout
    again = re.search(r"`(.+resume 1)`", told.stdout)
    assert again is not None and type_in(bag.parent, again[1]).returncode == 1


def test_hints_and_what_they_are_for_stand_in_columns(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a-place/below"
    folder.mkdir(parents=True)
    assert tailrace(folder, "run", "--quiet", "--", "exit {}", ":::", "0", "1").code == 1
    for words in ("status", "status 1"):
        told = type_in(folder, f"{installed} {words}").stdout
        steps = [line for line in told.splitlines() if "bin/tailrace " in line]
        assert len(steps) == 2, told
        begins = {re.search(r"  +(try|see) ", line).start(1) for line in steps}  # type: ignore[union-attr]
        assert len(begins) == 1, told


def test_errors_name_the_command_as_it_can_be_typed(installed: Path, tmp_path: Path) -> None:
    told = type_in(tmp_path, "env/bin/tailrace results")
    assert told.returncode == 2 and "Start one with `env/bin/tailrace run`" in told.stderr
    path = f"{installed.parent}:/usr/bin:/bin"
    told = type_in(tmp_path, f"PATH={path}; tailrace results")
    assert "Start one with `tailrace run`" in told.stderr


def test_hints_after_submit_lead_to_its_server_past_a_run_that_is_nearer(tmp_path: Path) -> None:
    lab, here = tmp_path / "lab", tmp_path / "here"
    lab.mkdir()
    here.mkdir()
    config = {"XDG_CONFIG_HOME": str(tmp_path / "my config")}
    assert tailrace(here, "run", "--quiet", "--", "true", ":::", "1").code == 0
    with serving(lab, "--tls", "own") as server:
        keep(here / "ada.join", server.token("ada", "user").text())
        assert ask(here, "login", "ada.join", **config).code == 0
        told = ask(here, "submit", "--", "echo", ":::", "1", "2", "3", **config)
        assert len(ask(here, *typed(told.out, "results"), "--json", **config).json) == 3
        _, bag, *there = typed(told.out, "follow")
        assert ask(here, "cancel", bag, "--yes", *there, **config).out.count("echo) is cancelled")
        for short, shape in (("-q", r"\d+\n"), ("--json", r"\{.*\}\n")):  # read by a script
            told = ask(here, "submit", short, "--", "echo", ":::", "4", **config)
            assert re.fullmatch(shape, told.out), told.out
            assert "its commands need `--server " in told.err
            words = shlex.split(told.err.partition("`")[2].partition("`")[0])
            number = re.findall(r"\d+", told.out)[0]
            assert len(ask(here, "results", number, *words, "--json", **config).json) == 1
        assert ask(here, "submit", "-q", "--server", "ada.join", "--", "true", ":::", "4").err == ""
        (here / ".tailrace").rename(tmp_path / "away")
        told = ask(here, "submit", "--", "echo", ":::", "5", **config)
        assert hinted(told.out, "results") == "tailrace results 5"
        assert ask(here, "submit", "-q", "--", "echo", ":::", "6", **config).err == ""


def test_a_bag_is_named_where_there_are_several(tmp_path: Path) -> None:
    assert tailrace(tmp_path, "run", "--quiet", "--", "false", ":::", "1").code == 1
    told = tailrace(tmp_path, "run", "--", "false", ":::", "1").out
    assert "results 2 --failed · tailrace logs 2/TASK · tailrace retry 2" in told
    assert ask(tmp_path, "retry", "1").code == 0
    told = tailrace(tmp_path, "resume", "1").out
    assert "tailrace results 1\n" in told and "tailrace report 1\n" in told


def test_resume_of_a_finished_bag_says_that_nothing_is_left(swept: Path) -> None:
    told = ask(swept, "resume")
    assert told.code == 1 and "is finished: nothing is left to do" in told.out
    assert "try the 2 failed again:  tailrace retry 1 && tailrace resume 1" in told.out
    assert ask(swept, "resume", "--quiet").out == ""


@pytest.mark.parametrize(
    ("written", "used"), [("all", cores()), ("50%", max(cores() // 2, 1)), ("1%", 1), ("1.0", 1)]
)
def test_cores_as_a_number_a_share_or_all(tmp_path: Path, written: str, used: int) -> None:
    assert tailrace(tmp_path, "run", "-q", "-j", written, "--", "echo", ":::", "1").code == 0
    assert ask(tmp_path, "hosts", "--json").json[0]["capacity"]["cores"] == used * 1000


@pytest.mark.parametrize("written", ["0", "-1", "0%", "some", "nan"])
def test_no_number_of_cores(tmp_path: Path, written: str) -> None:
    told = tailrace(tmp_path, "run", "-q", f"-j{written}", "--", "echo", ":::", "1")
    assert told.code == 2 and "give --cores 4, 50% or all" in told.err
    assert not (tmp_path / ".tailrace").exists()


def test_a_lease_given_back_is_not_worth_a_note(swept: Path) -> None:
    from tailrace.cli.here.progress import Progress
    from tailrace.server.records import reading

    link = reading.open_store(swept / ".tailrace")
    progress = Progress("sweep", 6, 0, 0, 0)
    for item in reading.feed(link, 1, 0):
        progress.take(item)
    assert progress.phase == "finished" and progress.notes == []
    last = [item for item in reading.feed(link, 1, 0) if item.kind == "lease"][-1]
    assert b"bag 1 is finished" in bytes(last.body)
    link.close()


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["echo", "a", "b c"], "tailrace run -- echo ::: a 'b c'"),
        (["python3 model.py {}"], "tailrace run -- 'python3 model.py {}' ::: a b c"),
        (["gzip", "{}"], "tailrace run -- gzip '{}' ::: a b c"),
    ],
)
def test_a_command_without_its_values_is_told_as_it_was_meant(
    tmp_path: Path, words: list[str], meant: str
) -> None:
    told = ask(tmp_path, "run", *words)
    assert told.code == 2 and "is not a bag file" in told.err and f"`{meant}`" in told.err


def test_a_bag_file_that_is_not_there_tells_where_it_was_looked_for(tmp_path: Path) -> None:
    told = ask(tmp_path, "run", "nope.toml")
    assert told.code == 2 and f"looked in {tmp_path}" in told.err


def test_other_files_than_bag_files_are_told_apart(tmp_path: Path) -> None:
    for name, meant in (("model.py", "run -- python3 model.py {} :::"), ("a.txt", "--commands a")):
        (tmp_path / name).write_text("import sys\n")
        told = ask(tmp_path, "run", name)
        assert told.code == 2 and "not a bag file" in told.err and meant in told.err
    assert "2 bag files are given" in ask(tmp_path, "run", "a.toml", "b.toml").err


def test_a_budget_that_binds_nothing_is_told(tmp_path: Path) -> None:
    run = ["run", "--budget", "3 USD", "--", "echo", ":::", "a"]
    told = tailrace(tmp_path, *run)
    assert told.code == 0 and "the budget of 3 USD does not bind" in told.err
    other = tailrace(tmp_path, *run, TAILRACE_PRICE="1 EUR/h")
    assert other.code == 2 and "--budget: the budget of 3 USD does not" in other.err
    assert "machines are paid in EUR" in other.err
    assert "Give the budget in EUR" in other.err and other.out == ""
    assert "bind" not in tailrace(tmp_path, *run, TAILRACE_PRICE="1 USD/h").err


def test_the_report_begins_with_what_the_run_ends_with(tmp_path: Path) -> None:
    text = 'command = "sleep 0.3; exit {x}"\nparameters = {x = [0, 3]}\ndeadline = "100ms"\n'
    (tmp_path / "bag.toml").write_text(text)
    told = tailrace(tmp_path, "run", "--report")
    assert told.code == 1
    headline = told.out.splitlines()[0]
    assert "1 of 2 tasks succeeded, 1 failed, in " in headline
    assert ", its deadline missed by " in headline
    (page,) = (tmp_path / ".tailrace/reports").glob("*.html")
    assert f">{headline}<" in page.read_text()


def test_the_demo_does_all_again(tmp_path: Path) -> None:
    folder = tmp_path / "tailrace-demo"
    folder.mkdir()
    text = 'command = "echo {x} >> done"\nparameters = {x = [1, 2]}\n'
    (folder / "bag.toml").write_text(text)  # one that is there is left as it is
    assert "tailrace run bag.toml`" in tailrace(tmp_path, "demo").out
    again = tailrace(tmp_path, "demo").out
    assert "tailrace run --again bag.toml`" in again and "2 of 2 tasks succeeded, in " in again
    assert sorted((folder / "done").read_text().split()) == ["1", "1", "2", "2"]
