"""Outputs move to their targets, whole, and as often as it takes; and nothing else moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.bag.task import Output
from tailrace.server.files.publishing import CannotPublish, clear_scratch, place, publish

OUTPUTS = [Output("out.csv", "results/1.csv"), Output("sub/deep.csv", "results/deep/1.csv")]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Attempt 5 has left two files, one of them in a folder, and some rubbish."""
    attempt = tmp_path / "scratch/a5"
    (attempt / "sub").mkdir(parents=True)
    (attempt / "out.csv").write_text("x\n")
    (attempt / "sub/deep.csv").write_text("y\n")
    (attempt / "rubbish").write_text("z\n")
    return tmp_path / "scratch"


def test_outputs_appear_at_their_targets_and_the_folder_goes(scratch: Path, tmp_path: Path) -> None:
    publish(scratch, 5, OUTPUTS, tmp_path)
    assert (tmp_path / "results/1.csv").read_text() == "x\n"
    assert (tmp_path / "results/deep/1.csv").read_text() == "y\n"
    assert not (scratch / "a5").exists()


def test_what_was_published_before_a_crash_is_left_alone(scratch: Path, tmp_path: Path) -> None:
    publish(scratch, 5, OUTPUTS, tmp_path)
    publish(scratch, 5, OUTPUTS, tmp_path)
    assert (tmp_path / "results/1.csv").read_text() == "x\n"


def test_an_output_that_vanished_is_told(scratch: Path, tmp_path: Path) -> None:
    (scratch / "a5/out.csv").unlink()
    with pytest.raises(CannotPublish, match="was deleted before it could be moved"):
        publish(scratch, 5, OUTPUTS, tmp_path)


def test_a_target_that_cannot_be_written_is_named_and_nothing_is_lost(
    scratch: Path, tmp_path: Path
) -> None:
    (tmp_path / "results").write_text("a file stands where a folder should\n")
    with pytest.raises(CannotPublish, match="safe in") as caught:
        publish(scratch, 5, OUTPUTS, tmp_path)
    assert "results" in str(caught.value)
    assert (scratch / "a5/out.csv").read_text() == "x\n"


def test_a_linked_folder_that_leads_outside_moves_and_removes_nothing(
    scratch: Path, tmp_path: Path
) -> None:
    (tmp_path / "precious").write_text("mine\n")
    (scratch / "a5/way").symlink_to("../..")
    with pytest.raises(CannotPublish, match="outside"):
        publish(scratch, 5, [Output("way/precious", "results/1.csv")], tmp_path)
    assert (tmp_path / "precious").read_text() == "mine\n"
    assert (scratch / "a5").exists()


def test_a_link_within_the_folder_takes_nothing_else_with_it(scratch: Path, tmp_path: Path) -> None:
    """The real path is less deep than the name: only the attempt's own folder goes."""
    (scratch / "a5/x").mkdir()
    (scratch / "a5/x/y").symlink_to("..")
    publish(scratch, 5, [Output("x/y/out.csv", "results/1.csv")], tmp_path)
    assert (tmp_path / "results/1.csv").read_text() == "x\n"
    assert scratch.exists()
    assert not (scratch / "a5").exists()


def test_a_name_as_long_as_any_appears_whole_too(tmp_path: Path) -> None:
    target = tmp_path / "results" / ("n" * 255)
    place(target, lambda part: part.write_text("x\n"))
    assert target.read_text() == "x\n"
    assert [found.name for found in target.parent.iterdir()] == [target.name]


def test_folders_of_no_use_are_cleared_and_others_kept(tmp_path: Path) -> None:
    for name in ("a1", "a2", "archive"):
        (tmp_path / name).mkdir()
    clear_scratch(tmp_path, lambda attempt: attempt == 1)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a2", "archive"]
