"""A tail that is planned on real machines of two pools, one of which really die."""

from __future__ import annotations

import json
import re
import sqlite3

from tests.real.conftest import Folder, kill

from tailrace.knowledge.inquiry import Plan
from tailrace.scheduler.decisions import Assign
from tailrace.scheduler.events import HostSeen, PlanReady
from tailrace.scheduler.journal import replay
from tailrace.server.records import reading

POOLS = """
[pools.spot]
price = "0.06 USD/min"
unit = "1s"
max = 6
cores = 1
reliable = false
up = { law = "exponential", mean = "20s", at_least = "1s" }
seed = 3

[pools.owned]
price = "0.60 USD/min"
unit = "1s"
max = 2
cores = 1
"""
BAG = """
command = "sleep {seconds}"
repeatable = true
unused = "ok"
budget = "50 USD"
retries = { lost = 50 }

[parameters]
seconds = [2, 3, 4, 9]
k = { from = 1, to = 6 }
"""


def plans(folder: Folder) -> list[dict]:
    link = sqlite3.connect(folder.path / ".tailrace/store.db")
    query = "SELECT body FROM feed WHERE kind = 'plan' ORDER BY n"
    return [json.loads(body) for (body,) in link.execute(query)]


def test_a_tail_is_planned_without_a_word_and_the_report_says_what_came_of_it(folder: Folder):
    folder.write("pools.toml", POOLS)
    folder.write("bag.toml", BAG)
    done = folder.tailrace("run", "--quiet", "--prefer", "makespan", "--report", "bag.toml")
    assert done.returncode == 0, done.stderr
    assert folder.outcomes() == ["succeeded"] * 24
    told = plans(folder)
    assert told and told[0]["number"] >= 1
    first = told[0]
    assert 0 < first["left"] < 6 and 0 < first["lasts"][1] <= first["lasts"][0] <= first["lasts"][2]
    page = next(folder.path.glob(".tailrace/reports/*.html")).read_text()
    words = " ".join(re.sub("<[^>]+>", " ", page).split())
    assert "Plans of the tail" in words and "each given up after" in words
    assert len(re.findall(rf"after submission {first['left']} (.+?) s .+? s to .+? s .+? s", words))
    assert "identical" in folder.tailrace("replay", "--check").stdout
    again = sent_again(folder)
    assert again, "no plan was followed"
    for plan, reliable, sent in again:
        assert reliable or sent.timeout_us == plan.d_us
        assert not reliable or plan.n >= 0


def sent_again(folder: Folder) -> list[tuple[Plan, bool, Assign]]:
    """What was sent beside another attempt, by which plan, and whether to a reliable host."""
    plan, reliable, found = None, {}, []
    link = reading.open_store(folder.path / ".tailrace")
    for step in replay(reading.journal(link), check=False):
        match step.event:
            case PlanReady(plan=Plan() as plan):
                pass
            case HostSeen(host=host, pool=pool):
                reliable[host] = pool == "owned"
        for one in step.decisions:
            if isinstance(one, Assign) and one.why.endswith(": planned"):
                assert plan is not None
                found.append((plan, reliable[one.host], one))
    return found


def test_a_preference_beside_a_strategy_is_refused(folder: Folder):
    said = folder.tailrace(
        "run", "--prefer", "cost", "--replication", "wqr", "--", "true", ":::", "1"
    )
    assert said.returncode == 2
    assert "both say how tasks are sent again" in said.stderr


HELD = """
command = "case {n} in 8|9) until [ -e go ]; do sleep 0.1; done;; *) sleep 0.2;; esac"
repeatable = true
unused = "ok"
replication = { strategy = "planned", every_s = 3600, patience_s = 3600 }

[parameters]
n = { from = 0, to = 9 }
"""
OWN = """
[pools.desktops]
max = 3
cores = 1
reliable = false
"""


def test_a_server_that_was_killed_plans_from_all_that_was_seen_before(folder: Folder):
    """Two tasks are left, whose results would be too few: what came before is in the tables."""
    folder.write("pools.toml", OWN)
    folder.write("bag.toml", HELD)
    run = folder.start("run", "--quiet", "bag.toml")
    folder.wait_for(folder.server_pid, patience_s=60)
    folder.wait_for(lambda: len(plans(folder)) == 1, patience_s=60)
    pid = folder.server_pid()
    assert pid is not None
    kill(pid)
    run.communicate()
    run = folder.start("resume", "--quiet")
    folder.wait_for(lambda: len(plans(folder)) == 2, patience_s=60)
    before, after = plans(folder)
    assert before["left"] == after["left"] == 2
    folder.write("go", "")
    out, err = run.communicate()
    assert run.returncode == 0, (out, err)
    assert folder.outcomes() == ["succeeded"] * 10
    assert "identical" in folder.tailrace("replay", "--check").stdout
