"""What the figures of benchmarks rest on: nothing here is timed."""

from __future__ import annotations

from pathlib import Path

import msgspec
from benchmarks.__main__ import _kept
from benchmarks.children.crowd import Group
from benchmarks.crowded import Answers, Crowd
from benchmarks.figure import Figure
from benchmarks.machine import Machine
from benchmarks.page import NOTES, Results, page
from benchmarks.served import Served
from tests.docs.pages import ROOT

THEN = Machine(2, "a processor", 8.0, "Linux", "3.11", "3.40", fsyncs_per_s=1234.0, load_before=0.5)
NOW = msgspec.structs.replace(THEN, load_before=7.5)


def test_a_crowd_tells_each_call_and_every_result_is_stored(tmp_path: Path) -> None:
    with Served(tmp_path / "served") as server:
        server.tell("sweep 100000")
        crowd = Crowd(server.port, Group(5, 2.0, 0.1), Group(3, 1.0, 0.0))
        crowd.hear()
        stored = server.tell("facts")
    answers = crowd.within((0.0, 600.0))
    assert answers.calls == len(crowd.told.took_s) and answers.refused == 0
    assert crowd.told.acked == stored["done"] == 100_000 - stored["unsent"]
    # Each of the eight fetches a task at least once, and brings it with its last call.
    assert crowd.told.acked >= 8 and answers.calls >= crowd.told.acked + 8


def test_refused_calls_are_no_part_of_the_time_that_calls_take() -> None:
    answers = Answers([0.001, 0.1, 0.2], [True, False, False], 2.0)
    assert (answers.calls, answers.refused, answers.rate) == (3, 1, 1.0)
    assert answers.percentile(50) == 150.0


def test_figures_of_scripts_not_run_stay_with_the_machine_of_then(tmp_path: Path) -> None:
    old = [Figure(script, "old", "s", [1.0]) for script in ("work_call", "files")]
    file = tmp_path / "results.json"
    file.write_bytes(msgspec.json.encode(Results(THEN, old)))
    results = _kept(file, Results(NOW, [Figure("clients", "new", "ms", [2.0, 3.0])]))
    assert [one.script for one in results.figures] == ["work_call", "clients", "files"]
    _, work_call, clients, files = page(results).split("\n## ")
    assert "load average 0.5" in work_call and "load average 0.5" in files
    assert "load average 7.5" in clients and "2.5 ms (2 … 3)" in clients


def test_sections_that_were_measured_with_quick_say_so_and_how_often(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    two, five = [1.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0]
    old = [Figure("work_call", "old", "s", two), Figure("files", "old", "s", [*two])]
    file.write_bytes(msgspec.json.encode(Results(THEN, old, quick=["work_call", "files"])))
    new = [Figure("planning", "new", "s", two), Figure("planning", "one", "s", [1.0])]
    results = _kept(
        file, Results(NOW, [*new, Figure("files", "new", "s", five)], quick=["planning"])
    )
    work_call, files, planning = page(results).split("\n## ")[1:]
    assert "with `--quick`: two repetitions each" in work_call
    assert "with `--quick`: at most two repetitions each" in planning
    assert "--quick" not in files


def test_the_page_says_which_form_of_the_virtual_world_a_bar_is_for() -> None:
    (made,) = page(Results(NOW, [Figure("virtual_world", "events", "s", [1.0])])).split("\n## ")[1:]
    published = (ROOT / "docs/reference/benchmarks.md").read_text().split("\n## ")
    (shown,) = (part for part in published if part.startswith("virtual_world\n"))
    for part in (made, shown):
        before = part.split("\n| what |")[0]
        assert before.endswith(NOTES["virtual_world"] + "\n")
    assert "compiled" in before and "policies" in before
