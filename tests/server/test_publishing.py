"""Outputs move to their targets, whole, and as often as it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.bag.outcome import Outcome
from tailrace.bag.task import Output
from tailrace.server.protocol import OutputFile, WorkResult
from tailrace.server.publishing import CannotPublish, clear_scratch, publish


@pytest.fixture
def result(tmp_path: Path) -> WorkResult:
    """Attempt 5 has left two files, one of them in a folder."""
    attempt = tmp_path / "scratch/a5"
    (attempt / "sub").mkdir(parents=True)
    (attempt / "out.csv").write_text("x\n")
    (attempt / "sub/deep.csv").write_text("y\n")
    (attempt / "rubbish").write_text("z\n")
    files = [
        OutputFile("out.csv", str(attempt / "out.csv"), 2),
        OutputFile("sub/deep.csv", str(attempt / "sub/deep.csv"), 2),
    ]
    return WorkResult(5, Outcome.SUCCEEDED, outputs=files)


OUTPUTS = (Output("out.csv", "results/1.csv"), Output("sub/deep.csv", "results/deep/1.csv"))


def test_outputs_appear_at_their_targets_and_the_folder_goes(
    result: WorkResult, tmp_path: Path
) -> None:
    publish(result, OUTPUTS, tmp_path)
    assert (tmp_path / "results/1.csv").read_text() == "x\n"
    assert (tmp_path / "results/deep/1.csv").read_text() == "y\n"
    assert not (tmp_path / "scratch/a5").exists()


def test_what_was_published_before_a_crash_is_left_alone(
    result: WorkResult, tmp_path: Path
) -> None:
    publish(result, OUTPUTS, tmp_path)
    publish(result, OUTPUTS, tmp_path)
    assert (tmp_path / "results/1.csv").read_text() == "x\n"


def test_a_target_that_cannot_be_written_is_named_and_nothing_is_lost(
    result: WorkResult, tmp_path: Path
) -> None:
    (tmp_path / "results").write_text("a file stands where a folder should\n")
    with pytest.raises(CannotPublish, match="safe in") as caught:
        publish(result, OUTPUTS, tmp_path)
    assert "results" in str(caught.value)
    assert (tmp_path / "scratch/a5/out.csv").read_text() == "x\n"


def test_folders_of_no_use_are_cleared_and_others_kept(tmp_path: Path) -> None:
    for name in ("a1", "a2", "archive"):
        (tmp_path / name).mkdir()
    clear_scratch(tmp_path, lambda attempt: attempt == 1)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a2", "archive"]
