"""What a user types and sees, from a first bag to an interrupted one."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
from typing import Any

from tests.real.conftest import Folder, Run


def test_a_bag_from_words_runs_to_its_end(folder: Folder) -> None:
    done = folder.tailrace("run", "--", "echo", "{}", ":::", "a", "b", "c")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 tasks succeeded" in done.stdout
    assert [result["stdout"] for result in folder.results()] == ["a\n", "b\n", "c\n"]


def test_quiet_prints_nothing(folder: Folder) -> None:
    done = folder.tailrace("run", "--quiet", "--", "echo", "{}", ":::", "a")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_result_has_the_fields_scripts_rely_on(folder: Folder) -> None:
    folder.write("jobs", "echo '{\"x\": 1}'\nexit 3\n")
    done = folder.tailrace("run", "--quiet", "--commands", "jobs")
    assert done.returncode == 1
    first, second = folder.results()
    assert list(first) == [
        "task", "params", "outcome", "exit", "value", "stdout", "stderr", "outputs", "attempts",
        "host", "pool", "run_s", "turnaround_s", "cost", "from_bag",
    ]  # fmt: skip
    assert first["value"] == {"x": 1}
    assert (second["outcome"], second["exit"], second["attempts"]) == ("task_failed", 3, 2)


def test_the_end_tells_of_numbers_that_json_has_not(folder: Folder) -> None:
    """And the feed, from which it knows."""
    values = ('{"loss": NaN}', '{"loss": 1}', '{"gain": -Infinity}')
    folder.write("jobs", "".join(f"echo '{value}'\n" for value in values))
    done = folder.tailrace("run", "-j", "1", "--commands", "jobs")
    assert done.returncode == 0, done.stderr
    note = "not a finite number, so null in the value: "
    assert f"  2 succeeded with a note, such as: {note}loss  (task 0, 2)\n" in done.stdout
    assert [result["value"] for result in folder.results()] == [
        {"loss": None}, {"loss": 1}, {"gain": None},
    ]  # fmt: skip
    link = sqlite3.connect(folder.path / ".tailrace/store.db")
    bodies = [row[0] for row in link.execute("SELECT body FROM feed WHERE kind = 'settled'")]
    link.close()
    told = [one for body in bodies for one in json.loads(body).get("noted", [])]
    assert told == [[0, f"{note}loss"], [2, f"{note}gain"]]


def test_results_are_in_the_order_of_the_tasks(folder: Folder) -> None:
    folder.write("jobs", "".join(f"sleep 0.{9 - n}; echo {n}\n" for n in range(8)))
    folder.tailrace("run", "--quiet", "--commands", "jobs")
    found = folder.results()
    assert [result["task"] for result in found] == list(range(8))
    assert [result["stdout"].strip() for result in found] == [str(n) for n in range(8)]


def test_a_broken_bag_is_braked_and_says_why(folder: Folder) -> None:
    folder.write("jobs", "echo 'no such file' >&2; exit 4\n" * 200)
    done = folder.tailrace("run", "--commands", "jobs")
    assert done.returncode == 5
    assert "failed alike" in done.stdout
    assert "no such file" in done.stdout
    assert sum(outcome is not None for outcome in folder.outcomes()) < 30


def test_an_interrupted_run_says_how_to_go_on_and_goes_on(folder: Folder) -> None:
    folder.write("jobs", "echo started >> marks; sleep 1; echo done\n" * 6)
    run = folder.start("run", "--commands", "jobs")
    folder.wait_for((folder.path / "marks").exists)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "tailrace resume" in out
    assert "again to stop at once" in err
    again = folder.tailrace("resume", "--quiet")
    assert again.returncode == 0, again.stderr
    assert folder.outcomes() == ["succeeded"] * 6


def test_a_resumed_run_has_as_many_cores_as_before(folder: Folder) -> None:
    """And its workers are known by what they had, not by what they offered when they ended."""
    task = "echo $$ >> begun; until [ -e go ]; do sleep 0.05; done"
    folder.write("jobs", f"{task}\n" * 3)
    run = folder.start("run", "--commands", "jobs", "-j", "1")
    folder.wait_for((folder.path / "begun").exists)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    assert [host["capacity"]["cores"] for host in _hosts(folder)] == [1000]
    folder.write("go", "")
    assert folder.tailrace("resume", "--quiet").returncode == 0
    assert [host["capacity"]["cores"] for host in _hosts(folder)] == [1000] * len(_hosts(folder))


def _hosts(folder: Folder) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(folder.tailrace("hosts", "--json").stdout)
    return found


def _with_a_second_bag(folder: Folder) -> Run:
    """Bag 2 is run; bag 1 was brought to its server by `retry`, and both have a task under way."""
    folder.write(
        "first", "test -e again || exit 1; echo 1 >> marks; until test -e go; do sleep 0.05; done\n"
    )
    folder.write("second", "echo 2 >> marks; until test -e end; do sleep 0.05; done\n")
    assert folder.tailrace("run", "--quiet", "--commands", "first").returncode == 1
    folder.write("again", "")
    run = folder.start("run", "--cores", "2", "--commands", "second")
    marks = folder.path / "marks"
    folder.wait_for(marks.exists)
    assert folder.tailrace("retry", "first").returncode == 0
    folder.wait_for(lambda: sorted(marks.read_text().split()) == ["1", "2"])
    return run


def test_an_interrupt_stops_every_bag_that_runs_and_names_them(folder: Folder) -> None:
    run = _with_a_second_bag(folder)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "tailrace resume 2" in out
    assert "bag 1 (first) was interrupted with it, 1 task left; go on: " in out
    assert "tailrace resume 1" in out
    folder.write("go", "")
    assert folder.tailrace("resume", "1", "--quiet").returncode == 0


def test_a_run_that_waits_for_another_bag_says_so(folder: Folder) -> None:
    run = _with_a_second_bag(folder)
    folder.write("end", "")
    folder.wait_for(lambda: "waiting for bag 1: first, 1 task left" in run.stderr)
    assert run.poll() is None
    folder.write("go", "")
    out, err = run.communicate(timeout=30)
    assert run.returncode == 0, err
    assert err.count("waiting for bag") == 1
    assert "interrupted" not in out


def test_a_second_interrupt_ends_it_at_once(folder: Folder) -> None:
    """The task is deaf to TERM and has ten minutes of grace: nothing else could end it so soon."""
    folder.write(
        "bag.toml",
        "command = \"trap '' TERM; echo started >> marks; while :; do sleep 1; done # {n}\"\n"
        'grace = "600s"\n[parameters]\nn = [1, 2]\n',
    )
    run = folder.start("run", "bag.toml")
    folder.wait_for((folder.path / "marks").exists)
    run.send_signal(signal.SIGINT)
    folder.wait_for(lambda: "stopping" in run.stderr)
    assert run.poll() is None, "one interrupt gives tasks their grace"
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    assert run.returncode == 130


def test_a_lost_terminal_does_not_stop_a_run(folder: Folder) -> None:
    folder.write("jobs", "echo started >> marks; sleep 0.5\n" * 6)
    run = folder.start("run", "--commands", "jobs")
    folder.wait_for((folder.path / "marks").exists)
    run.send_signal(signal.SIGHUP)
    run.communicate(timeout=60)
    assert run.returncode == 0
    assert folder.outcomes() == ["succeeded"] * 6


def test_a_second_server_on_one_store_is_refused_with_the_address_of_the_first(
    folder: Folder,
) -> None:
    folder.write("jobs", "echo started >> marks; while [ ! -e go ]; do sleep 0.05; done\n")
    first = folder.start("run", "--quiet", "--commands", "jobs")
    folder.wait_for((folder.path / "marks").exists)
    address = json.loads((folder.path / ".tailrace/server.json").read_text())["address"]
    second = folder.tailrace("run", "--", "echo", "{}", ":::", "a")
    assert second.returncode == 6
    assert address in second.stderr
    folder.write("go", "")
    first.communicate(timeout=60)
    assert first.returncode == 0


def test_a_port_in_use_is_named(folder: Folder) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = folder.tailrace("run", "--port", str(port), "--", "echo", "{}", ":::", "a")
    assert done.returncode == 6
    assert f"127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr


def test_several_bags_live_in_one_folder(folder: Folder) -> None:
    folder.tailrace("run", "--quiet", "--name", "one", "--", "echo", "{}", ":::", "a")
    folder.tailrace("run", "--quiet", "--name", "two", "--", "echo", "{}", ":::", "b", "c")
    status = folder.tailrace("status").stdout
    assert "one" in status
    assert "two" in status
    one = json.loads(folder.tailrace("results", "one", "--json").stdout)
    assert [result["stdout"] for result in one] == ["a\n"]


def test_a_new_bag_leaves_an_interrupted_one_as_it_is(folder: Folder) -> None:
    folder.write("slow", "echo started >> marks; sleep 3\n")
    run = folder.start("run", "--quiet", "--commands", "slow")
    folder.wait_for((folder.path / "marks").exists)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    folder.tailrace("run", "--quiet", "--", "echo", "{}", ":::", "a")
    assert folder.outcomes() == ["succeeded"]
    assert (folder.path / "marks").read_text().count("started") == 1
    assert folder.tailrace("resume", "--quiet").returncode == 0
    assert (folder.path / "marks").read_text().count("started") == 2


def test_a_dry_run_starts_nothing(folder: Folder) -> None:
    done = folder.tailrace("run", "--dry-run", "--", "echo", "{}", ":::", "a", "b")
    assert done.returncode == 0
    assert "echo a" in done.stdout
    assert "echo b" in done.stdout
    assert not (folder.path / ".tailrace").exists()


def test_what_fits_on_no_machine_is_refused_before_the_start(folder: Folder) -> None:
    done = folder.tailrace("run", "--needs", "cores=100000", "--", "echo", "{}", ":::", "a")
    assert done.returncode == 2
    assert "100000 cores wanted" in done.stderr
    assert not (folder.path / ".tailrace").exists()


def test_money_that_pays_for_no_lease_stops_the_bag(folder: Folder) -> None:
    done = folder.tailrace(
        "run", "--price", "1 USD/h", "--budget", "0.5 USD", "--", "echo", "{}", ":::", "a"
    )
    assert done.returncode == 4, done.stderr
    assert "does not pay for another lease" in done.stdout


def test_the_journal_of_a_real_run_replays_exactly(folder: Folder) -> None:
    folder.write("jobs", "true\nfalse\nexit 2\n" * 20)
    folder.tailrace("run", "--quiet", "--commands", "jobs")
    done = folder.tailrace("replay")
    assert done.returncode == 0, done.stdout
    assert "identical" in done.stdout
