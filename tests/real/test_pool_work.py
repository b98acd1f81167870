"""What came of the machines of a pool, as `tailrace pools` tells it after real runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.real.served import serving, tailrace, wait_for, worker
from tests.real.test_terminal import Terminal

from .conftest import Folder

POOL = """
[pools.spot]
max = 2
cores = 1
startup = "0.2s"
"""
BAG = """
command = 'sleep 0.1; test {n} != 3'
retries = 0
[parameters]
n = { from = 1, to = 8 }
"""


def told(folder: Folder) -> dict[str, Any]:
    (one,) = json.loads(folder.tailrace("pools", "--json").stdout)
    return dict(one["work"] or {})


def test_a_pool_tells_what_came_of_its_machines(folder: Folder) -> None:
    folder.write("pools.toml", POOL)
    assert told(folder) == {}
    folder.write("bag.toml", BAG)
    assert folder.tailrace("run", "bag.toml", "--quiet").returncode == 1
    work = told(folder)
    assert (work["pool"], work["finished"], work["failures"]) == ("spot", 7, {"task_failed": 1})
    assert 1 <= work["most"] <= 2
    assert work["first_task_us"] >= 200_000 and work["mean_run_us"] >= 100_000
    assert work["dedicated_cores"] > 0
    times = [at for at, _ in work["machines"]]
    assert times == sorted(times) and work["machines"][-1][1] == 0
    shown = folder.tailrace("pools").stdout
    assert "as dedicated cores" in shown and "1 task_failed" in shown


def test_the_live_view_and_the_report_tell_the_same_of_a_run(folder: Folder) -> None:
    folder.write("pools.toml", POOL)
    folder.write("bag.toml", BAG.replace("sleep 0.1", "sleep 1"))
    run = Terminal(folder, "run", "bag.toml")
    screen = run.finish()
    assert run.process.returncode == 1
    assert re.search(r"spot: .*\d machines?", screen) and "first task after" in screen
    page = Path(folder.tailrace("report").stdout.strip()).read_text()
    work = told(folder)
    pools = re.sub(r"<[^>]*>", " ", page.partition("<h2>Pools</h2>")[2].partition("<h2>")[0])
    for text in ("spot", "as dedicated cores", "1 task failed", f"{work['dedicated_cores']:.1f}"):
        assert text in pools, pools
    assert ("Machines of each pool" in page) == (work["most"] > 1)


def test_watch_tells_of_the_machines_of_a_server(tmp_path: Path) -> None:
    (tmp_path / "jobs").write_text("sleep 1\n" * 15)
    with serving(tmp_path) as server:
        lab, ada = server.token("lab", "pool"), server.token("ada", "user")
        tailrace(tmp_path, "submit", "--commands", "jobs", TAILRACE_SERVER=ada.text())
        with worker(tmp_path / "far", "--cores", "1", TAILRACE_JOIN=lab.text()):
            seen = tailrace(tmp_path, "watch", TAILRACE_SERVER=ada.text()).stderr
        (work,) = server.ask(ada, "GET", "/api/v1/pools")[1]
    assert "1 machine" in seen, seen
    assert work["finished"] == 15 and work["machines"][-1][1] in (0, 1)


def test_a_machine_that_is_there_counts_until_it_is_silent(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        lab, ada = server.token("lab", "pool"), server.token("ada", "user")
        with worker(tmp_path / "far", TAILRACE_JOIN=lab.text()):
            wait_for(lambda: server.ask(ada, "GET", "/api/v1/pools")[1])
            (work,) = server.ask(ada, "GET", "/api/v1/pools")[1]
            assert [count for _, count in work["machines"]] == [1]


def test_machines_that_come_by_themselves_are_a_pool_too(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        lab, ada = server.token("lab", "pool"), server.token("ada", "user")
        assert server.ask(ada, "GET", "/api/v1/pools") == (200, [])
        with worker(tmp_path / "far", TAILRACE_JOIN=lab.text()):
            wait_for(lambda: server.ask(ada, "GET", "/api/v1/pools")[1])
        (work,) = server.ask(ada, "GET", "/api/v1/pools")[1]
        assert (work["pool"], work["most"], work["finished"]) == ("lab", 1, 0)
        assert (work["first_task_us"], work["dedicated_cores"]) == (None, None)


def test_a_user_is_told_of_machines_and_of_his_own_work_alone(tmp_path: Path) -> None:
    """What others have there, how long it takes and how it fails, is theirs."""
    (tmp_path / "jobs").write_text("sleep 0.1\nsleep 0.1\nfalse\n")
    with serving(tmp_path) as server:
        lab, boss = server.token("lab", "pool"), server.token("boss", "admin")
        ada, bob = server.token("ada", "user"), server.token("bob", "user")
        tailrace(tmp_path, "submit", "--commands", "jobs", TAILRACE_SERVER=ada.text())
        with worker(tmp_path / "far", TAILRACE_JOIN=lab.text()):
            tailrace(tmp_path, "watch", "-q", TAILRACE_SERVER=ada.text(), code=1)

        def pools(who: Any) -> dict[str, Any]:
            (work,) = server.ask(who, "GET", "/api/v1/pools")[1]
            return dict(work)

        of_all, hers, his = pools(boss), pools(ada), pools(bob)
    assert hers == of_all and hers["finished"] == 2 and hers["failures"]
    theirs = {"finished": 0, "failures": {}, "mean_run_us": None, "dedicated_cores": None}
    assert his == {**of_all, **theirs}
