"""What the reading commands say of a bag that has run, and of one half-way."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ask, clean_environment, tailrace


def test_status_counts_every_bag_and_says_what_to_do(swept: Path) -> None:
    told = ask(swept, "status")
    assert told.code == 0
    assert "sweep" in told.out and "finished" in told.out
    assert "No server runs here now." in told.out
    assert "tailrace retry 1" in told.out and "tailrace results 1" in told.out


def test_status_of_one_bag_shows_failures_in_groups_with_their_text(swept: Path) -> None:
    told = ask(swept, "status", "sweep")
    assert "6 tasks: 4 succeeded, 2 failed" in told.out
    assert "2 tasks (task failed, exit 4): seed 0.1: no [bold]luck[/]  [task 1, 4]" in told.out


def test_status_as_json_has_no_secret(swept: Path) -> None:
    one = ask(swept, "status", "1", "--json").json
    assert one["state"] == "finished" and one["left"] == 0 and one["server"] is None
    assert one["failures"][0]["tasks"] == 2
    assert ask(swept, "status", "--json").json["bags"][0]["succeeded"] == 4


def test_an_interrupted_bag_is_called_so(halfway: Path) -> None:
    told = ask(halfway, "status", "--json").json["bags"][0]
    assert told["state"] == "interrupted" and told["left"] == 1
    assert "tailrace resume 1" in told["next"]


def test_what_was_stopped_did_not_go_wrong(halfway: Path) -> None:
    assert "what went wrong" not in ask(halfway, "status", "1").out
    assert ask(halfway, "status", "1", "--json").json["failures"] == []


def test_what_is_tried_again_did_not_go_wrong(copied: Path) -> None:
    assert ask(copied, "retry", "1", "4").code == 0
    told = ask(copied, "status", "1").out
    assert "1 task (task failed, exit 4)" in told and "[task 1]" in told
    assert ask(copied, "retry").code == 0
    assert "what went wrong" not in ask(copied, "status", "1").out


def test_an_older_interrupted_bag_is_not_forgotten(halfway: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(halfway, copy)
    assert tailrace(copy, "run", "--quiet", "--", "echo", "{}", ":::", "a").code == 0
    told = ask(copy, "status")
    assert "tailrace results 2" in told.out
    assert "tailrace resume 1        go on with the 1 left" in told.out


def test_results_as_json_are_one_object_per_task_in_order(swept: Path) -> None:
    rows = ask(swept, "results", "--json").json
    assert [row["task"] for row in rows] == list(range(6))
    assert rows[2]["params"] == {"alpha": 0.1, "seed": 3} and rows[2]["value"] == {"score": 3}
    assert rows[2]["outputs"][0]["path"] == "results/0.1/3.txt"
    assert rows[1]["outcome"] == "task_failed" and rows[1]["exit"] == 4 and rows[1]["attempts"] == 2


def test_costs_of_results_add_up_to_the_bill(swept: Path) -> None:
    rows = ask(swept, "results", "--json").json
    total = sum(row["cost"]["USD"] for row in rows)
    assert abs(total - 0.60) < 1e-9, "one minute was begun, and paid whole"


def test_results_half_way_have_no_outcome_where_there_is_none(halfway: Path) -> None:
    rows = ask(halfway, "results", "--json").json
    assert [row["outcome"] for row in rows] == ["succeeded", "succeeded", None]
    done = ask(halfway, "results", "--json", "--done").json
    assert [row["task"] for row in done] == [0, 1]


def test_results_as_csv_join_parameters_and_values(swept: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(ask(swept, "results", "--csv").out)))
    assert rows[5]["alpha"] == "0.2" and rows[5]["score"] == "3"
    assert rows[4]["outcome"] == "task_failed"


def test_results_are_a_table_without_a_terminal_too(swept: Path) -> None:
    lines = ask(swept, "results").out.splitlines()
    assert lines[0].split()[:4] == ["task", "alpha", "seed", "score"]
    assert len(lines) == 7 and "\x1b" not in "".join(lines)


def test_results_say_why(swept: Path, tmp_path: Path) -> None:
    lines = ask(swept, "results", "--failed").out.splitlines()
    assert lines[0].endswith("why") and lines[1].endswith("seed 0.1: no [bold]luck[/]")
    (tmp_path / "bag.toml").write_text(
        """command = "echo nonsense > $TAILRACE_RESULT; sleep {x}"
        parameters = {x = [0, 60]}
        limits = {time = "200ms"}
        """
    )
    assert tailrace(tmp_path, "run", "--quiet").code == 1
    _, unusable, late = ask(tmp_path, "results").out.splitlines()
    assert "task failed" in unusable and "$TAILRACE_RESULT is not JSON" in unusable
    assert "ran longer than its limit of 0.2 s; raise `limits.time`" in late


def test_only_failed_and_only_some_columns(swept: Path) -> None:
    told = ask(swept, "results", "--failed", "--csv", "--columns", "task,seed,exit")
    assert told.out == "task,seed,exit\n1,2,4\n4,2,4\n"
    lines = ask(swept, "results", "--columns", "score,task", "--jsonl").out.splitlines()
    assert lines[0] == '{"score":1,"task":0}'


def test_a_field_that_has_become_several_columns_can_be_asked_for(
    swept: Path, halfway: Path
) -> None:
    head = ask(swept, "results", "--csv", "--columns", "task,params,value,cost").out.split("\n")[0]
    assert head == "task,alpha,seed,score,cost.USD"
    assert ask(swept, "results", "--csv", "--columns", "value.score").out.startswith("score\n1\n")
    free = ask(halfway, "results", "--csv", "--columns", "task,cost").out
    assert free == "task,cost\n0,\n1,\n2,\n"


def test_two_formats_at_once_are_refused(swept: Path) -> None:
    told = ask(swept, "results", "--json", "--csv")
    assert told.code == 2 and "--csv and --json are given at once" in told.err
    assert ask(swept, "results", "--json", "--parquet", "x").code == 2


def test_an_unknown_column_names_those_there_are(swept: Path) -> None:
    told = ask(swept, "results", "--columns", "aplha")
    assert told.code == 2
    assert "no column 'aplha'" in told.err and "  did you mean alpha? There are: task," in told.err


def test_results_into_files_by_their_ending(swept: Path, tmp_path: Path) -> None:
    for name in ("a.csv", "a.json", "a.jsonl", "a.parquet"):
        assert ask(swept, "results", "-o", str(tmp_path / name)).code == 0
    assert (tmp_path / "a.csv").read_text() == ask(swept, "results", "--csv").out
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").num_rows == 6
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "a.json", "a.jsonl", "a.parquet"]


def test_a_file_that_cannot_be_written_is_named(swept: Path, tmp_path: Path) -> None:
    told = ask(swept, "results", "--csv", "-o", str(tmp_path / "no" / "a.csv"))
    assert told.code == 2 and "no/a.csv: No such file or directory" in told.err
    assert ask(swept, "results", "-o", str(tmp_path / "a.xls")).code == 2


def test_logs_tell_each_attempt_without_obeying_its_escapes(swept: Path) -> None:
    told = ask(swept, "logs", "alpha=0.1,seed=2")
    assert told.out.count("attempt ") == 2
    assert "why: first attempt" in told.out and "task failed, exit 4" in told.out
    assert "seed 0.1: no [bold]luck[/]" in told.out and "\x1b" not in told.out


def test_logs_into_a_pipe_are_as_they_were(swept: Path) -> None:
    assert ask(swept, "logs", "1", "--stderr").out == "seed 0.1: \x1b[31mno [bold]luck[/]\x1b[0m\n"
    assert ask(swept, "logs", "1/0", "--stdout").out == '{"score": 1}\n'


def test_logs_of_no_such_task_or_attempt(swept: Path) -> None:
    assert "numbered from 0 to 5" in ask(swept, "logs", "6").err
    told = ask(swept, "logs", "1", "--attempt", "999")
    assert told.code == 2 and "Its attempts are:" in told.err


def test_hosts_are_listed(swept: Path) -> None:
    host = ask(swept, "hosts", "--json").json[0]
    assert host["attempts"] == 8 and host["pool"] == "local" and host["host"]
    assert host["host"] in ask(swept, "hosts").out


def test_successes_of_a_host_are_counted(tmp_path: Path) -> None:
    words = ["run", "--quiet", "--", "true", "{}", ":::", *map(str, range(7))]
    assert tailrace(tmp_path, *words).code == 0
    host = ask(tmp_path, "hosts", "--json").json[0]
    assert host["succeeded"] == 7
    assert "of which 7 succeeded" in ask(tmp_path, "explain", host["host"]).out


def test_explain_takes_bags_tasks_and_hosts(swept: Path) -> None:
    assert "The bag is finished." in ask(swept, "explain").out
    both = "(task 1: `tailrace explain 1/1`)\n"
    assert ask(swept, "explain", "sweep").out + both == ask(swept, "explain", "1").out
    task = ask(swept, "explain", "1/1").out
    assert "Nothing runs now" in task and "failed for good" in task
    assert task.count("was sent to") == 2 and "cost " in task
    assert ask(swept, "explain", "alpha=0.1,seed=2").out == task
    assert ask(swept, "explain", "1", "--bag", "1").out == task
    host = ask(swept, "hosts", "--json").json[0]["host"]
    assert f"Host {host}" in ask(swept, "explain", host).out
    assert ask(swept, "explain", "nobody").code == 2


def test_the_report_is_written_where_it_says(swept: Path, tmp_path: Path) -> None:
    told = ask(swept, "report", "-o", str(tmp_path / "r.html"))
    assert told.out.strip() == str(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "sweep" in page and "0.60 USD" in page and "no [bold]luck" in page
    default = Path(ask(swept, "report").out.strip())
    assert default.parent.name == "reports" and default.exists()


def test_the_report_of_a_bag_that_nobody_runs_says_what_status_says(
    copied: Path, halfway: Path
) -> None:
    assert ask(copied, "retry", "1").code == 0
    for folder in (copied, halfway):
        page = Path(ask(folder, "report").out.strip()).read_text()
        assert ask(folder, "status", "--json").json["bags"][0]["state"] == "interrupted"
        assert "; interrupted" in page and "Bag 1, interrupted;" in page
        assert "running;" not in page and "; running" not in page


def test_replay_of_a_real_run_is_identical(swept: Path, halfway: Path) -> None:
    for folder in (swept, halfway):
        told = ask(folder, "replay", "--check")
        assert told.code == 0 and told.out.endswith("identical.\n")
    assert "BagSubmitted" in ask(swept, "replay", "1", "--events").out


def test_commands_find_the_store_from_below_and_refuse_where_there_is_none(
    swept: Path, tmp_path: Path
) -> None:
    (swept / "deep").mkdir(exist_ok=True)
    assert ask(swept / "deep", "status").code == 0
    for name in ("status", "results", "hosts", "explain", "report", "replay", "retry", "watch"):
        told = ask(tmp_path, name)
        assert told.code == 2 and "tailrace run" in told.err, name


def test_a_reader_that_goes_away_is_no_error(swept: Path) -> None:
    line = f"{sys.executable} -m tailrace.cli.main results --json | head -c 1"
    done = subprocess.run(line, shell=True, cwd=swept, capture_output=True, text=True)
    assert done.stdout == "[" and done.stderr == ""


def test_every_command_has_help_with_an_example() -> None:
    for name in ("status", "watch", "results", "logs", "retry", "cancel", "reproduce", "explain",
                 "hosts", "report", "replay", "init", "check", "config"):  # fmt: skip
        told = ask(Path("/"), name, "--help")
        assert told.code == 0 and f"`tailrace {name}" in " ".join(told.out.split()), name


def test_an_interrupt_while_it_loads_ends_it_without_a_word(tmp_path: Path) -> None:
    """The first thing that it loads is made to be slow, and its user impatient."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", "status"],
        env=clean_environment({"PYTHONPATH": str(tmp_path)}),
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_as_a_process_of_its_own(swept: Path) -> None:
    told = tailrace(swept, "results", "--json")
    assert told.code == 0 and len(told.json) == 6


def test_a_full_disk_where_results_go_is_no_fault_of_ours(swept: Path) -> None:
    with open("/dev/full", "w") as full:
        told = subprocess.run(
            [sys.executable, "-m", "tailrace.cli.main", "results", "--json"],
            cwd=swept, env=clean_environment({}), stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert told.returncode == 6 and "cannot write all of it: No space left" in told.stderr
    assert "fault of its own" not in told.stderr


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_a_run_whose_streams_are_closed(tmp_path: Path, closed: str) -> None:
    shut = " ".join(f"{number}>&-" for number in closed.split())
    line = f"{sys.executable} -m tailrace.cli.main run -- echo {{}} ::: a b {shut}"
    done = subprocess.run(line, shell=True, cwd=tmp_path, env=clean_environment({}), timeout=60)
    assert done.returncode == 0
    rows = ask(tmp_path, "results", "--json").json
    assert [row["outcome"] for row in rows] == ["succeeded"] * 2


@pytest.mark.parametrize("more", ["", " --json"])
def test_a_run_whose_reader_has_gone_tells_by_its_exit_code(tmp_path: Path, more: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    line = f"{sys.executable} -m tailrace.cli.main run{more} -- 'exit {{}}' ::: 0 1"
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, env=clean_environment({}), stdout=writing, timeout=60
    )
    os.close(writing)
    assert done.returncode == 1
