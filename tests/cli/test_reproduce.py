"""One task in the foreground, as it was run."""

from __future__ import annotations

import re
import shutil
import stat
from pathlib import Path

from tests.cli.conftest import ask, tailrace


def test_a_staged_task_runs_in_a_fresh_folder_that_is_kept(swept: Path) -> None:
    told = tailrace(swept, "reproduce", "alpha=0.1,seed=3")
    assert told.code == 0 and told.out == '{"score": 3}\n'
    assert "output out.txt: 8 B" in told.err and "not enforced here: time 1m" in told.err
    kept = re.search(r"its folder is kept: (.+)", told.err)
    assert kept is not None and (Path(kept[1]) / "out.txt").read_text() == "hello 3\n"


def test_the_exit_code_is_the_tasks_and_the_run_is_remembered(swept: Path) -> None:
    told = tailrace(swept, "reproduce", "1")
    assert told.code == 4
    assert "here: exit 4" in told.err and "the run had: task failed, exit 4" in told.err


def test_listed_commands_and_rows_of_a_csv_are_reproduced(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text("echo one\necho two\n")
    assert tailrace(tmp_path, "run", "--quiet", "--commands", "jobs.txt").code == 0
    (tmp_path / "cases.csv").write_text("a,b\n1,x\n2,y\n")
    (tmp_path / "bag.toml").write_text('command = "echo {a} {b}"\ncsv = "cases.csv"\n')
    assert tailrace(tmp_path, "run", "--quiet", "bag.toml").code == 0
    listed, row = (tailrace(tmp_path, "reproduce", task) for task in ("1/1", "2/1"))
    assert (listed.code, listed.out) == (0, "two\n")
    assert (row.code, row.out) == (0, "2 y\n")


def test_the_environment_is_the_workers(tmp_path: Path) -> None:
    show = "env | grep -e ^TAILRACE_ -e ^OMP_ -e ^MINE | grep -v -e _RESULT -e _PROG -e _ATT | sort"
    (tmp_path / "bag.toml").write_text(
        f"""command = '''{show}; pwd; echo '{{{{"x": {{n}}}}}}' > $TAILRACE_RESULT'''
        parameters = {{n = [5, 6]}}
        needs = {{cores = 2}}
        env = {{MINE = "n is {{n}}"}}"""
    )
    assert tailrace(tmp_path, "run", "--quiet", "--cores", "2").code == 0
    told = tailrace(tmp_path, "reproduce", "1", TAILRACE_CORES="2")
    in_run = tailrace(tmp_path, "logs", "1", "--stdout")
    assert told.out == in_run.out
    assert "TAILRACE_PARAM_n=6" in told.out and "OMP_NUM_THREADS=2" in told.out
    assert "its value: {'x': 6}" in told.err


def test_a_task_may_leave_what_it_likes_beside_its_result(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text(
        "echo 5 > $TAILRACE_RESULT; echo hi > $TAILRACE_RESULT.log\n"
        "mkdir -p $TAILRACE_RESULT/sub\n"
        "ln -s nowhere $TAILRACE_RESULT\n"
    )
    tailrace(tmp_path, "run", "--quiet", "--commands", "jobs.txt")
    (tmp_path / "tmp").mkdir()
    said = []
    for task in "012":
        told = tailrace(tmp_path, "reproduce", task, TMPDIR=str(tmp_path / "tmp"))
        assert told.code == 0, told.err
        said.append(told.err)
    assert "its value: 5\n" in said[0]
    for text in said[1:]:
        assert "its value cannot be used: $TAILRACE_RESULT is not a file" in text
        assert "the run had: task failed" in text
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_environment_is_that_of_the_run_and_what_differs_is_named(tmp_path: Path) -> None:
    run = ["run", "--quiet", "--", "printenv MINE; echo {}", ":::", "a"]
    assert tailrace(tmp_path, *run, MINE="then", ONLY="then").code == 0
    told = tailrace(tmp_path, "reproduce", "0", MINE="now", ALSO="now")
    assert told.out == "then\na\n"
    assert "this shell differs in ALSO, MINE, ONLY\n" in told.err
    now = tailrace(tmp_path, "reproduce", "0", "--current-env", MINE="now")
    assert now.out == "now\na\n" and "differs" not in now.err


def test_an_attempt_made_by_resume_has_the_environment_of_resume(tmp_path: Path) -> None:
    run = ["run", "--quiet", "--", 'test "$MINE" = now && echo {}', ":::", "a"]
    assert tailrace(tmp_path, *run, MINE="then").code == 1
    assert tailrace(tmp_path, "reproduce", "0", MINE="now").code == 1
    assert tailrace(tmp_path, "retry").code == 0
    assert tailrace(tmp_path, "resume", "--quiet", MINE="now").code == 0
    assert tailrace(tmp_path, "reproduce", "0", MINE="later").code == 0


def test_equal_environments_are_kept_once(tmp_path: Path) -> None:
    for mine in ("one", "one", "two", "two"):
        run = tailrace(
            tmp_path, "run", "--quiet", "--again", "--", "printenv MINE # {}", ":::", "a", MINE=mine
        )
        assert run.code == 0, run.err
    kept = list((tmp_path / ".tailrace/environments").iterdir())
    assert len(kept) == 4 and len({file.stat().st_ino for file in kept}) == 2
    told = [tailrace(tmp_path, "reproduce", f"{bag}/0", MINE="now").out for bag in (1, 2, 3, 4)]
    assert told == ["one\n", "one\n", "two\n", "two\n"]


def test_a_folder_of_runs_that_is_open_to_all_is_closed(tmp_path: Path) -> None:
    (tmp_path / ".tailrace").mkdir()
    (tmp_path / ".tailrace").chmod(0o755)
    assert tailrace(tmp_path, "run", "--quiet", "--", "echo", ":::", "a").code == 0
    assert stat.S_IMODE((tmp_path / ".tailrace").stat().st_mode) == 0o700


def test_environments_are_for_their_owner_alone_and_may_be_deleted(tmp_path: Path) -> None:
    assert tailrace(tmp_path, "run", "--quiet", "--", "echo", ":::", "a", SECRET="s3cret").code == 0
    kept = tmp_path / ".tailrace/environments"
    assert stat.S_IMODE((tmp_path / ".tailrace").stat().st_mode) == 0o700
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    modes = {stat.S_IMODE(file.stat().st_mode) for file in kept.iterdir()}
    assert modes == {0o600}
    assert b"s3cret" not in (tmp_path / ".tailrace/store.db").read_bytes()
    shutil.rmtree(kept)
    told = tailrace(tmp_path, "reproduce", "0")
    assert (told.code, told.out) == (0, "a\n") and "that of the run was not kept" in told.err


def test_a_bag_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    home = tmp_path / "bag"
    home.mkdir()
    where = {"TAILRACE_FOLDER": str(tmp_path / "runs")}
    assert tailrace(home, "run", "--quiet", "--", "echo", "{}", ":::", "a", **where).code == 0
    home.rmdir()
    told = tailrace(tmp_path, "reproduce", "0", **where)
    assert told.code == 2 and f"{home}: the folder of the bag is not there" in told.err
    for words in (["status", "1"], ["results"], ["logs", "0"], ["explain", "1/0"], ["report"]):
        assert ask(tmp_path, *words, **where).code == 0


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    run = tailrace(tmp_path, "run", "--quiet", "--", "no-such-program", "{}", ":::", "a")
    assert run.code == 1
    told = tailrace(tmp_path, "reproduce", "0")
    assert told.code == 127 and "not started: no such program: no-such-program" in told.err


def test_files_that_are_no_longer_those_of_the_run_are_named(tmp_path: Path) -> None:
    (tmp_path / "show.sh").write_text('cat "$1"')
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{name}\n")
    run = ["run", "--quiet", "--", "sh", "show.sh", "{}", ":::", "a.txt", "b.txt"]
    assert tailrace(tmp_path, *run).code == 0
    assert "changed" not in tailrace(tmp_path, "reproduce", "0").err
    (tmp_path / "a.txt").write_text("new\n")
    (tmp_path / "show.sh").write_text('cat "$1"; echo end')
    told = tailrace(tmp_path, "reproduce", "0")
    assert told.out == "new\nend\n"
    assert "show.sh, a.txt have changed since the run\n" in told.err
    assert (
        "tailrace: show.sh has changed since the run\n" in tailrace(tmp_path, "reproduce", "1").err
    )
