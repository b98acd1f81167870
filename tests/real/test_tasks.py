"""Tasks that do what tasks should not do."""

from __future__ import annotations

import time

from tests.real.conftest import Folder


def test_a_program_that_does_not_exist(folder: Folder) -> None:
    done = folder.tailrace("run", "--", "no-such-program", "{}", ":::", "a")
    assert done.returncode == 1
    (result,) = folder.results()
    assert (result["outcome"], result["exit"]) == ("task_failed", 127)
    assert "no-such-program" in folder.tailrace("logs", "0").stdout


def test_a_hundred_megabytes_of_output_are_cut_in_the_middle(folder: Folder) -> None:
    folder.write("jobs", "echo first; yes | head -c 100000000; echo last\n")
    assert folder.tailrace("run", "--quiet", "--commands", "jobs").returncode == 0
    (result,) = folder.results()
    assert result["stdout"].startswith("first\n")
    assert result["stdout"].endswith("last\n")
    assert len(result["stdout"]) < 70_000
    assert sum(f.stat().st_size for f in folder.path.rglob("*") if f.is_file()) < 5_000_000


def test_children_left_behind_are_ended(folder: Folder) -> None:
    folder.write("jobs", "sleep 300 & setsid sleep 301 & echo left\n")
    assert folder.tailrace("run", "--quiet", "--commands", "jobs").returncode == 0
    assert folder.processes() == {}
    assert folder.outcomes() == ["succeeded"]


def test_a_task_that_ignores_term_is_killed_at_its_time_limit(folder: Folder) -> None:
    folder.write(
        "bag.toml",
        "command = \"trap '' TERM; while :; do sleep 0.1; done # {n}\"\n"
        'grace = "0.5s"\n[parameters]\nn = [1]\n[limits]\ntime = "0.5s"\n',
    )
    assert folder.tailrace("run", "--quiet", "bag.toml").returncode == 1
    (result,) = folder.results()
    assert result["outcome"] == "over_limit"
    assert result["run_s"] < 30


def test_over_its_memory(folder: Folder) -> None:
    hungry = 'python3 -c "x = bytearray(300_000_000); import time; time.sleep(20)"\n'
    folder.write("jobs", hungry)
    done = folder.tailrace("run", "--quiet", "--memory-limit", "100MB", "--commands", "jobs")
    assert done.returncode == 1
    assert folder.outcomes() == ["over_limit"]


def test_more_memory_the_next_time(folder: Folder) -> None:
    folder.write("hungry.py", "x = bytearray(150_000_000)\nimport time; time.sleep(2)\n")
    folder.write(
        "bag.toml",
        'command = "python3 hungry.py {n}"\non_over_limit = { memory = "x3 up to 2 GiB" }\n'
        '[parameters]\nn = [1]\n[limits]\nmemory = "80 MiB"\n',
    )
    done = folder.tailrace("run", "--quiet", "bag.toml")
    assert done.returncode == 0, done.stderr
    (result,) = folder.results()
    assert (result["outcome"], result["attempts"]) == ("succeeded", 2)


def test_over_its_disk(folder: Folder) -> None:
    folder.write(
        "jobs", "dd if=/dev/zero of=big bs=1M count=200 conv=fsync 2>/dev/null; sleep 20\n"
    )
    done = folder.tailrace("run", "--quiet", "--disk-limit", "50MB", "--commands", "jobs")
    assert done.returncode == 1
    assert folder.outcomes() == ["over_limit"]


def test_an_output_outside_its_folder_is_not_published(folder: Folder) -> None:
    folder.write("secret", "secret\n")
    folder.write(
        "bag.toml",
        f'command = "ln -s {folder.path}/secret out.txt; echo {{n}}"\n'
        'outputs = { "out.txt" = "results/{n}.txt" }\n[parameters]\nn = [1]\n',
    )
    assert folder.tailrace("run", "--quiet", "bag.toml").returncode == 1
    assert folder.outcomes() == ["task_failed"]
    assert not (folder.path / "results/1.txt").exists()
    assert (folder.path / "secret").read_text() == "secret\n"


def test_outputs_are_published_where_the_bag_says(folder: Folder) -> None:
    folder.write("data.txt", "input\n")
    folder.write(
        "bag.toml",
        'command = "cat data.txt > out.txt; echo {alpha} {seed} >> out.txt"\n'
        'inputs = ["data.txt"]\noutputs = { "out.txt" = "results/{alpha}/{seed}.csv" }\n'
        "[parameters]\nalpha = [0.1, 0.2]\nseed = [1, 2]\n",
    )
    done = folder.tailrace("run", "--quiet", "bag.toml")
    assert done.returncode == 0, done.stderr
    assert (folder.path / "results/0.2/1.csv").read_text() == "input\n0.2 1\n"
    assert len(list((folder.path / "results").rglob("*.csv"))) == 4
    assert folder.results()[2]["outputs"][0]["path"] == "results/0.2/1.csv"
    assert not list((folder.path / ".tailrace").rglob("out.txt"))


def test_outputs_that_cannot_be_moved_are_told_kept_and_moved_later(folder: Folder) -> None:
    folder.write("results", "a file stands where a folder should\n")
    folder.write(
        "bag.toml",
        'command = "echo {n} > out.txt"\noutputs = { "out.txt" = "results/{n}.txt" }\n'
        "[parameters]\nn = [1]\n",
    )
    done = folder.tailrace("run", "--quiet", "bag.toml")
    assert done.returncode == 6
    assert "safe in" in done.stderr
    path = folder.results()[0]["outputs"][0]["path"]
    assert (folder.path / path).read_text() == "1\n"
    (folder.path / "results").unlink()
    assert folder.tailrace("resume", "--quiet").returncode == 0
    assert (folder.path / "results/1.txt").read_text() == "1\n"
    assert folder.results()[0]["outputs"][0]["path"] == "results/1.txt"


def test_what_a_staged_task_leaves_undeclared_is_cleared(folder: Folder) -> None:
    folder.write(
        "bag.toml",
        'command = "head -c 1000000 /dev/zero > junk; echo {n}"\nfiles = "staged"\n'
        "[parameters]\nn = [1, 2, 3]\n",
    )
    assert folder.tailrace("run", "--quiet", "bag.toml").returncode == 0
    assert not list((folder.path / ".tailrace").rglob("junk"))


def test_of_two_attempts_on_a_shared_folder_the_winners_bytes_stay(folder: Folder) -> None:
    """The first attempt is slow and writes after the second has won."""
    folder.write(
        "race.sh",
        "if mkdir ../first 2>/dev/null; then echo slow > out.txt; sleep 4; echo slow >> out.txt\n"
        "else echo fast > out.txt; fi\n",
    )
    folder.write(
        "bag.toml",
        f'command = "sh {folder.path}/race.sh {{n}}"\ntimeout = "1s"\n'
        'outputs = { "out.txt" = "won-{n}.txt" }\n[parameters]\nn = [1]\n',
    )
    began = time.monotonic()
    done = folder.tailrace("run", "--quiet", "bag.toml")
    assert done.returncode == 0, done.stderr
    (result,) = folder.results()
    assert (folder.path / "won-1.txt").read_text() == "fast\n"
    assert result["attempts"] == 2
    time.sleep(max(0.0, 6 - (time.monotonic() - began)))
    assert (folder.path / "won-1.txt").read_text() == "fast\n"


def test_thread_counts_follow_the_needs(folder: Folder) -> None:
    done = folder.tailrace(
        "run", "--quiet", "--needs", "cores=1", "--", "echo $OMP_NUM_THREADS $TAILRACE_TASK {}",
        ":::", "a",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert folder.results()[0]["stdout"] == "1 0 a\n"
