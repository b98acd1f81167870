"""Tasks one by one: lists, columns, and logs of jobs, as a scenario names them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulation.scenarios import done_s, run, scenario, write_log

from tailrace.errors import BadInput

GRID = "[pools.grid]\nmachines = 1\nslots = 3\ncores = 1\n[bags.b]\n"
LOG = "[pools.grid]\nmachines = 1\ncores = 4\n[bags.log]\n"


def test_tasks_of_given_lengths_share_a_machine_as_in_the_thesis() -> None:
    """Case 1: works of 6, 5 and 4 that arrive at 0, 2 and 4 end at 13, 15 and 15."""
    arrivals = 'arrivals = { process = "listed", times = [0, 2, 4] }\n'
    world = run(GRID + arrivals + 'lengths = ["6s", 5, "4s"]')
    assert done_s(world) == pytest.approx([13, 15, 15], abs=1e-5)


def test_lengths_come_from_a_column_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("task,seconds\na,7.5\nb,2\nc,4\n")
    text = (
        '[pools.g]\nmachines = 1\n[bags.b]\nlengths = { file = "runs.csv", column = "seconds" }\n'
    )
    assert done_s(run(text, tmp_path)) == [7.5, 9.5, 13.5]
    assert done_s(run(text + "tasks = 2", tmp_path)) == [7.5, 9.5]


def test_tasks_without_a_length_of_their_own_are_drawn(tmp_path: Path) -> None:
    """Task 1 has no value, task 3 no row; those that are known fail only if they are known to."""
    (tmp_path / "runs.csv").write_text("task,seconds\n0,7.5\n1,\n2,4\n")
    text = (
        "[pools.g]\nmachines = 1\n[bags.b]\nlength = 100\n"
        'lengths = { file = "runs.csv", column = "seconds" }\n'
    )
    assert done_s(run(text, tmp_path)) == [7.5, 107.5, 111.5]
    known = run(text + "tasks = 4\nfailing = { known = [2], tasks = 1 }", tmp_path)
    assert known.records[0].succeeded == 1 and len(known.records[0].done) == 4
    with pytest.raises(BadInput, match="seconds is empty") as caught:
        run(text.replace("length = 100\n", ""), tmp_path)
    assert (caught.value.file, caught.value.line) == ("runs.csv", 3)


def test_a_log_of_jobs_gives_run_times_and_submit_times(tmp_path: Path) -> None:
    write_log(tmp_path / "log.swf", [(0, 50, 1), (100, 60, 4), (130, 5, 2)])
    world = run(LOG + 'jobs = "log.swf"', tmp_path)
    assert [time / 1e6 for time in world.records[0].arrived] == [0, 100, 130]
    assert done_s(world) == [50, 160, 135]


def test_processors_of_a_log_are_needs_and_fill_a_machine(tmp_path: Path) -> None:
    """The job of two processors waits for that of four."""
    write_log(tmp_path / "log.swf", [(0, 50, 1), (100, 60, 4), (130, 5, 2)])
    world = run(LOG + 'jobs = { file = "log.swf", processors = "needs" }', tmp_path)
    names = [tasks.terms.name for tasks in world.scenario.bags]
    assert names == ["log-1", "log-4", "log-2"]
    assert [done_s(world, bag) for bag in (1, 2, 3)] == [[50], [160], [165]]


@pytest.mark.parametrize(
    ("lines", "message", "line"),
    [
        ("lengths = [1, 2]\ntasks = 3", "there are lengths of 2 tasks, not of 3", 7),
        ('lengths = [1, "soon"]', "'soon' is not a duration", 6),
        ("lengths = []", "lengths is empty", 6),
        ('lengths = { file = "x.csv" }', "lengths lacks column", 6),
        ('lengths = [1, 2]\narrivals = { process = "listed", times = [0] }', "only 1 come", 7),
        ("tasks = 1", "bag b has no length", 5),
        ('length = "1m"\njobs = "a.swf"', "length and jobs are both given", 7),
        ("lengths = [3]\nfailing.known = [1]", "there is no task 1, but 1 task", 7),
        ("lengths = [3]\nfailing.known = [-1]", "-1 is not the number of a task", 7),
        ('jobs = "a.swf"\narrivals = "at once"', "arrivals beside jobs", 7),
        ('length = "1m"\ntasks = 2\nneeds = { cores = 9 }', "no machine has room", 5),
    ],
)
def test_bad_lots_are_refused_where_they_stand(lines: str, message: str, line: int) -> None:
    with pytest.raises(BadInput) as caught:
        scenario(GRID + lines)
    assert message in caught.value.message
    assert (caught.value.file, caught.value.line) == ("s.toml", line)
    assert caught.value.remedy or "such as" in caught.value.message


def test_a_job_too_big_for_every_machine_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path / "log.swf", [(0, 50, 64)])
    with pytest.raises(BadInput, match="no machine has room for a task of bag log-64: 64 cores"):
        scenario(LOG + 'jobs = { file = "log.swf", processors = "needs" }', tmp_path)


def test_a_log_without_processors_cannot_make_needs_of_them(tmp_path: Path) -> None:
    write_log(tmp_path / "log.swf", [(0, 50, 1), (1, 1, -1)])
    with pytest.raises(BadInput, match="job 2 has no number of processors"):
        scenario(LOG + 'jobs = { file = "log.swf", processors = "needs" }', tmp_path)
