"""Run again: what has its result is kept, what is new or changed is done; through the command."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import (
    Answer,
    Live,
    ask,
    clean_environment,
    interrupt_half_way,
    tailrace,
)

SWEEP = """
command = "echo run >> ran; python3 model.py {alpha} {seed}"
[parameters]
alpha = [0.1, 0.2]
seed = {from = 1, to = SEEDS}
"""


def run(folder: Path, *words: str) -> Answer:
    return tailrace(folder, "run", *words)


def ran(folder: Path) -> int:
    """How many tasks have run in all."""
    return len((folder / "ran").read_text().splitlines())


def write(folder: Path, seeds: int, model: str = "print(1)") -> None:
    (folder / "bag.toml").write_text(SWEEP.replace("SEEDS", str(seeds)))
    if not (folder / "model.py").exists() or (folder / "model.py").read_text() != model:
        (folder / "model.py").write_text(model)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """A sweep of four, at a price; then with a seed more on each row."""
    folder = tmp_path_factory.mktemp("grown")
    write(folder, 2)
    assert run(folder, "--price", "0.60 USD/min").code == 0
    write(folder, 3)
    return folder, run(folder)


def test_a_larger_sweep_does_only_what_is_new(grown: tuple[Path, Answer]) -> None:
    folder, told = grown
    line = "tailrace: 4 of 6 tasks have results from bag 1; 2 to do; --again does all"
    assert told.code == 0 and told.err.splitlines()[0] == line
    assert "bag: 6 of 6 tasks succeeded (4 before)" in told.out and ran(folder) == 6


def test_results_are_joined_and_say_where_they_come_from(grown: tuple[Path, Answer]) -> None:
    results = ask(grown[0], "results", "2", "--json").json
    assert [result["params"]["seed"] for result in results] == [1, 2, 3, 1, 2, 3]
    assert [result["from_bag"] for result in results] == [1, 1, None, 1, 1, None]
    assert all(result["stdout"] == "1\n" for result in results)
    assert not any(result["cost"] for result in results), "paid already"
    assert "from_bag" in ask(grown[0], "results", "2", "--csv").out.splitlines()[0]
    assert "from_bag" not in ask(grown[0], "results", "1", "--csv").out.splitlines()[0]


def test_other_commands_know_of_results_taken_over(grown: tuple[Path, Answer]) -> None:
    folder = grown[0]
    assert "accepted" in ask(folder, "logs", "2/0").out
    assert ask(folder, "status", "2", "--json").json["taken"] == 4
    assert tailrace(folder, "report", "2").code == 0
    assert "The task has its result" in ask(folder, "explain", "2/0").out
    assert ask(folder, "replay", "2").code == 0


def test_again_does_all(tmp_path: Path) -> None:
    write(tmp_path, 1)
    assert run(tmp_path, "--quiet").code == run(tmp_path, "--quiet", "--again").code == 0
    assert ran(tmp_path) == 4
    told = run(tmp_path)
    assert told.err == "tailrace: 2 of 2 tasks have results from bag 2; --again does all\n"
    assert ran(tmp_path) == 4


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    jobs = "echo ran >> ran\necho ran >> ran; test -e there\n"
    (tmp_path / "jobs.txt").write_text(jobs)
    words = ("--retries", "0", "--commands", "jobs.txt")
    assert run(tmp_path, *words).code == 1
    (tmp_path / "there").touch()
    (tmp_path / "jobs.txt").write_text(f"echo ran more >> ran\n{jobs}")
    told = run(tmp_path, *words)
    assert told.code == 0 and "1 of 3 tasks have results from bag 1; 2 to do" in told.err
    assert ran(tmp_path) == 4


def test_a_task_whose_file_changed_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n")
    (tmp_path / "b.txt").write_text("1\n")
    words = ("--", "sort {} > {.}.out", ":::", "a.txt", "b.txt")
    assert run(tmp_path, *words).code == 0
    (tmp_path / "b.txt").write_text("2\n")
    told = run(tmp_path, *words)
    said = "(1 task whose files have changed since not counted)"
    assert f"1 of 2 tasks have results from bag 1 {said}; 1 to do" in told.err
    assert (tmp_path / "b.out").read_text() == "2\n"
    assert "2 of 2 tasks have results from bag 2;" in run(tmp_path, *words).err


def test_a_file_that_the_shell_wrote_and_that_is_gone_is_written_again(tmp_path: Path) -> None:
    line = "echo run >> ran; echo {} > t{}; mv t{} kept{}; echo {} | awk '$1 > 0' > {}.txt"
    words = ("--quiet", "--", line, ":::", "1", "2")
    assert run(tmp_path, *words).code == 0
    (tmp_path / "2.txt").unlink()
    assert run(tmp_path, *words).code == 0 and (tmp_path / "2.txt").read_text() == "2\n"
    assert ran(tmp_path) == 3
    assert run(tmp_path, *words).code == 0 and ran(tmp_path) == 3, "what was moved is not missed"


def test_a_declared_output_that_is_gone_is_made_again(tmp_path: Path) -> None:
    text = 'command = "echo {n} > out"\noutputs = {out = "{n}.txt"}\n[parameters]\nn = [1, 2, 3]\n'
    (tmp_path / "bag.toml").write_text(text)
    assert run(tmp_path).code == 0
    (tmp_path / "2.txt").unlink()
    assert "; 1 to do" in run(tmp_path).err
    assert (tmp_path / "2.txt").read_text() == "2\n"


def test_a_changed_program_is_refused_without_a_terminal(tmp_path: Path) -> None:
    write(tmp_path, 1)
    assert run(tmp_path).code == 0
    write(tmp_path, 2, "print(2)")
    told = run(tmp_path)
    assert told.code == 2 and "model.py has changed since bag 1 ran\n  --again does" in told.err
    assert "2 of 4 tasks have results from bag 1; 2 to do" in run(tmp_path, "--keep").err
    write(tmp_path, 1, "print(1)")
    assert "2 of 2 tasks have results from bag 1" in run(tmp_path).err, "as it was before"
    (tmp_path / "other.toml").write_text("[parameters]\nseed = 7")
    write(tmp_path, 1, "print(3)")
    values = (tmp_path / "bag.toml").read_text().replace("[0.1, 0.2]", "[9]")
    (tmp_path / "bag.toml").write_text(values)
    assert run(tmp_path).code == 0, "nothing of before is asked for"


def test_a_changed_program_is_told_whatever_else_has_run_here(tmp_path: Path) -> None:
    """Another list names no program: nothing of it has changed, and nothing is taken from it."""
    (tmp_path / "other.txt").write_text("echo hi\n")
    (tmp_path / "jobs.txt").write_text("echo run >> ran; sh w.sh\n")
    (tmp_path / "w.sh").write_text("echo 1\n")
    for jobs in ("other.txt", "jobs.txt"):
        assert run(tmp_path, "--quiet", "--commands", jobs).code == 0
    (tmp_path / "w.sh").write_text("echo 2\n")
    told = run(tmp_path, "--commands", "jobs.txt")
    assert told.code == 2 and "w.sh has changed since bag 2 ran" in told.err and ran(tmp_path) == 1
    (tmp_path / "w.sh").unlink()
    told = run(tmp_path, "--quiet", "--commands", "jobs.txt")
    assert told.code == 2 and "w.sh has changed since bag 2 ran" in told.err, "gone is changed"


def test_a_variable_that_the_command_names_counts_like_a_program(tmp_path: Path) -> None:
    words = ("run", "--quiet", "--", "echo run >> ran; echo x=$X ${Y:-none} {}", ":::", "a")
    assert tailrace(tmp_path, *words, X="1").code == 0
    told = tailrace(tmp_path, *words, X="2")
    assert told.code == 2 and "$X has changed since bag 1 ran\n" in told.err
    assert "$X, $Y have changed" in tailrace(tmp_path, *words, X="2", Y="set").err
    assert tailrace(tmp_path, *words, X="1", Z="3").code == 0 and ran(tmp_path) == 1
    assert tailrace(tmp_path, "run", "--again", *words[1:], X="2").code == 0
    assert ask(tmp_path, "results", "--json").json[0]["stdout"] == "x=2 none a\n"
    assert tailrace(tmp_path, *words, X="2").code == 0 and ran(tmp_path) == 2


@pytest.mark.parametrize(("answer", "runs"), [("y", 4), ("n", 2)])
def test_a_changed_program_asks_at_a_terminal(tmp_path: Path, answer: str, runs: int) -> None:
    write(tmp_path, 1)
    assert run(tmp_path).code == 0
    write(tmp_path, 1, "print(2)")
    said = at_terminal(tmp_path, answer)
    assert "model.py has changed since bag 1 ran. Do all tasks again?" in said
    assert ran(tmp_path) == runs


def at_terminal(folder: Path, answer: str) -> str:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "tailrace.cli.main", "run"]
    process = subprocess.Popen(words, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
                               env=clean_environment({}))  # fmt: skip
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    said = b""
    try:
        while select.select([ours], [], [], 60)[0]:
            said += os.read(ours, 4096)
    except OSError:  # it has ended, and with it the terminal
        pass
    finally:
        os.close(ours)
        assert process.wait(60) == 0
    return said.decode()


def test_a_grown_array_keeps_its_results(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/bin/sh\necho ran >> ran\n")
    assert run(tmp_path, "--array", "1-3", "job.sh").code == 0
    told = run(tmp_path, "--array", "0-4", "job.sh")
    assert told.code == 0 and "3 of 5 tasks have results from bag 1" in told.err
    (tmp_path / "job.sh").write_text("#!/bin/sh\necho other >> ran\n")
    assert run(tmp_path, "--array", "0-4", "job.sh").code == 2


def test_what_a_later_run_has_done_is_not_resumed(tmp_path: Path) -> None:
    interrupt_half_way(tmp_path, last="echo run >> ran; [ -e go ] || sleep 60")
    (tmp_path / "go").touch()
    before = ran(tmp_path)
    assert run(tmp_path, "--quiet", "--commands", "jobs.txt").code == 0
    assert ran(tmp_path) == before + 1
    told = tailrace(tmp_path, "resume")
    assert told.code == 0 and "bag 2 (jobs) is finished: nothing is left" in told.out
    assert ran(tmp_path) == before + 1
    assert "resume" not in ask(tmp_path, "status").out
    assert "bag 1 (jobs): continued: as bag 2" in ask(tmp_path, "status", "1").out
    assert all(ask(tmp_path, "replay", bag).out.endswith("identical.\n") for bag in "12")
    assert tailrace(tmp_path, "resume", "1", "--quiet").code == 0, "by its number it goes on"
    assert ran(tmp_path) == before + 2


def test_a_bag_with_other_tasks_left_waits_on(tmp_path: Path) -> None:
    interrupt_half_way(tmp_path)
    (tmp_path / "jobs.txt").write_text("echo one\necho three\n")
    assert run(tmp_path, "--quiet", "--commands", "jobs.txt").code == 0
    assert "tailrace resume 1 " in ask(tmp_path, "status").out


def test_an_interrupted_bag_need_not_be_resumed(tmp_path: Path) -> None:
    folder = interrupt_half_way(tmp_path)
    jobs = (folder / "jobs.txt").read_text().replace("sleep 60", "echo three")
    (folder / "more.txt").write_text(jobs)
    told = tailrace(folder, "run", "--commands", "more.txt")
    assert told.code == 0 and "2 of 3 tasks have results from bag 1; 1 to do" in told.err


def test_what_was_not_done_is_said_also_by_a_quiet_run(tmp_path: Path) -> None:
    words = ["run", "--quiet", "--", "echo", "{}", ":::", "a", "b"]
    assert tailrace(tmp_path, *words).err == ""
    assert "2 of 2 tasks have results from bag 1" in tailrace(tmp_path, *words).err


def test_a_sweep_too_large_to_be_compared_is_not_begun_anew(tmp_path: Path) -> None:
    ranges = "".join(f"{name} = {{ from = 1, to = 1000 }}\n" for name in "abc")
    (tmp_path / "bag.toml").write_text(
        f'command = "echo {{a}} {{b}} {{c}}"\n[parameters]\n{ranges}'
    )
    words = [sys.executable, "-m", "tailrace.cli.main", "run", "--quiet"]
    process = subprocess.Popen(words, cwd=tmp_path, env=clean_environment({}), stderr=-3)
    Live(tmp_path, process).wait_until(done=2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    told = tailrace(tmp_path, "run", "--quiet")
    assert told.code == 2 and "1,000,000,000 are too many to be compared" in told.err
    assert "`tailrace resume 1` goes on with it" in told.err


def test_a_folder_that_all_tasks_have_as_input_counts_like_a_program(tmp_path: Path) -> None:
    (tmp_path / "data/deep").mkdir(parents=True)
    (tmp_path / "data/deep/a.txt").write_text("1\n")
    text = 'command = "cat data/deep/* {n}"\ninputs = ["data", "1"]\n[parameters]\nn = [1]\n'
    (tmp_path / "bag.toml").write_text(text)
    (tmp_path / "1").touch()
    assert run(tmp_path, "--quiet").code == 0
    assert "1 of 1 task have results from bag 1" in run(tmp_path).err
    (tmp_path / "data/deep/a.txt").write_text("2\n")
    told = run(tmp_path)
    assert told.code == 2 and "data has changed since bag 2 ran" in told.err
