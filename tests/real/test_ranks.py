"""Many bags on a real server: strictly by rank; and machines that fail, are slow, or say nothing.

The paper's own size (50 bags of 1,200 tasks): TAILRACE_RANKED=50x1200, a few minutes.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from tests.cli.conftest import ask
from tests.real.served import serving, wait_for, worker

BAGS, TASKS = (int(part) for part in os.environ.get("TAILRACE_RANKED", "6x300").split("x"))
FEW = min(100, TASKS // 3)  # left of a bag: then the next may begin
PATIENCE_S = 60.0 + BAGS * TASKS / 100


def sent(folder: Path) -> list[tuple[int, int, str]]:
    """Bag, task and host, in the order of sending."""
    link = sqlite3.connect(f"file:{folder}/.tailrace/store.db?mode=ro", uri=True)
    try:
        return list(link.execute("SELECT bag, idx, host FROM attempts ORDER BY attempt"))
    finally:
        link.close()


def succeeded(folder: Path, count: int) -> bool:
    link = sqlite3.connect(f"file:{folder}/.tailrace/store.db?mode=ro", uri=True)
    try:
        (done,) = link.execute(
            "SELECT count(*) FROM results WHERE outcome = 'succeeded'"
        ).fetchone()
        return bool(done == count)
    finally:
        link.close()


def test_bags_run_in_the_order_of_their_ranks(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for number in range(1, BAGS + 1):
            words = ["--quiet", "--priority", str(number), "--name", f"rank-{number}"]
            lines = "".join(f"true {task}\n" for task in range(TASKS))
            (tmp_path / "jobs").write_text(lines)
            done = ask(tmp_path, "submit", *words, "--commands", "jobs")
            assert done.code == 0, done.err
        lab = server.token("lab", "pool")
        with worker(tmp_path / "far", "--cores", "2", TAILRACE_JOIN=lab.text()):
            wait_for(lambda: succeeded(tmp_path, BAGS * TASKS), PATIENCE_S)
    left = dict.fromkeys(range(1, BAGS + 1), TASKS)
    on_trial = TASKS - 1  # the first task of each bag is tried alone, and others run meanwhile
    for bag, _, _ in sent(tmp_path):
        above = [one for one in left if one > bag and left[one] >= FEW and left[one] != on_trial]
        assert not above, f"bag {bag} before {above}: {left}"
        left[bag] -= 1
    assert set(left.values()) == {0}, "each was sent once"


TASK = """\
echo $ROLE >> {ran}; case $ROLE in hole) exit 7;; slow) sleep 1;; *) sleep 0.05;; esac; echo {k}
"""
COUNT = 100


def test_a_bag_ends_beside_a_black_hole_a_slow_and_a_silent_machine(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    ran.touch()
    lines = [TASK.replace("{ran}", str(ran)).replace("{k}", str(k)) for k in range(COUNT)]
    (tmp_path / "jobs").write_text("".join(lines))
    with serving(tmp_path) as server, ExitStack() as stack:
        join = server.token("lab", "pool").text()

        def joined(role: str) -> subprocess.Popen[bytes]:
            return stack.enter_context(worker(tmp_path / role, TAILRACE_JOIN=join, ROLE=role))

        joined("hole"), joined("slow"), joined("good")
        silent = joined("silent")
        wait_for(lambda: len(json.loads(ask(tmp_path, "hosts", "--json").out)) == 4)
        words = ["--quiet", "--repeatable", "--timeout", "5s", "--commands", "jobs"]
        assert ask(tmp_path, "submit", *words).code == 0
        wait_for(lambda: "silent" in ran.read_text())
        silent.send_signal(signal.SIGSTOP)
        wait_for(lambda: succeeded(tmp_path, COUNT), PATIENCE_S)
        silent.send_signal(signal.SIGCONT)
    times = Counter(ran.read_text().split())
    assert times["hole"] <= 25, "it fails within milliseconds, and could have had them all"
    assert times["good"] > times["slow"] > 0
