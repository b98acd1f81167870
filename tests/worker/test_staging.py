"""Staged attempts: a folder of their own, inputs that cannot be hurt, outputs looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailrace.worker.staging import MOST_NEW, Refused, collect, found_new, prepare

from .conftest import Worker, wait_for
from .scripted_desk import Json, ScriptedDesk


@pytest.fixture
def staged(desk: ScriptedDesk, worker: Worker, tmp_path: Path):
    def run(shell: str, inputs: object = (), outputs: object = (), **terms: object) -> Json:
        attempt = 1 + max([0, *desk.results])
        order = {"attempt": attempt, "shell": shell, "inputs": inputs, "outputs": outputs}
        desk.add(order, files="staged", scratch=str(tmp_path / "scratch"), **terms)
        return desk.wait_for(attempt)[0]

    return run


def test_inputs_come_in_and_outputs_stay(staged, tmp_path: Path) -> None:
    model = tmp_path / "model.txt"
    model.write_text("model\n")
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    (data / "deep" / "x").write_text("x\n")
    result = staged(
        "cat model.txt in/deep/x > out.txt; mkdir sub; echo 1 > sub/other; ls -A",
        [{"name": "model.txt", "path": str(model)}, {"name": "in", "path": str(data)}],
        [{"name": "out.txt", "required": True}, {"name": "sub/other", "required": True},
         {"name": "maybe.txt", "required": False}],
    )  # fmt: skip
    folder = tmp_path / "scratch" / "a1"
    assert result["outcome"] == "succeeded" and result["stdout"] == "in\nmodel.txt\nout.txt\nsub\n"
    assert result["outputs"] == [
        {"name": "out.txt", "path": f"{folder}/out.txt", "size": 8},
        {"name": "sub/other", "path": f"{folder}/sub/other", "size": 2},
    ]
    assert (folder / "out.txt").read_text() == "model\nx\n"


def test_a_task_cannot_change_the_original_of_its_input(staged, tmp_path: Path) -> None:
    model = tmp_path / "model.txt"
    model.write_text("model\n")
    inputs = [{"name": "model.txt", "path": str(model)}]
    result = staged("stat -c %a model.txt; chmod 600 model.txt; echo bad > model.txt", inputs)
    assert result["outcome"] == "succeeded" and result["stdout"] == "444\n"
    assert model.read_text() == "model\n" and os.stat(model).st_nlink == 1


def test_a_program_keeps_its_execute_permission(staged, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho works\n")
    tool.chmod(0o755)
    assert staged("./tool", [{"name": "tool", "path": str(tool)}])["stdout"] == "works\n"


def test_a_missing_output_fails_the_task_and_its_folder_goes(staged, tmp_path: Path) -> None:
    result = staged("true", outputs=[{"name": "out.csv", "required": True}])
    assert (result["outcome"], result["exit"]) == ("task_failed", 0)
    assert result["error"] == "output not written: out.csv"
    wait_for(lambda: not (tmp_path / "scratch" / "a1").exists())


def test_the_folder_of_a_failed_attempt_goes(staged, tmp_path: Path) -> None:
    assert staged("mkdir -p x/y; touch x/y/z; exit 1")["outcome"] == "task_failed"
    wait_for(lambda: not (tmp_path / "scratch" / "a1").exists())


def test_the_folder_of_an_attempt_without_outputs_goes(staged, tmp_path: Path) -> None:
    result = staged("touch x", outputs=[{"name": "maybe", "required": False}])
    assert result["outcome"] == "succeeded" and result["outputs"] == []
    wait_for(lambda: not (tmp_path / "scratch" / "a1").exists())


@pytest.mark.parametrize(
    ("shell", "error"),
    [
        ("ln -s /etc/passwd out", "output leads outside the task's folder: out"),
        ("mkdir out", "output is not a file: out"),
        ("mkfifo out", "output is not a file: out"),
        ("ln -s nowhere out", "output not written: out"),
    ],
)
def test_outputs_that_are_refused(staged, shell: str, error: str) -> None:
    result = staged(shell, outputs=[{"name": "out", "required": True}])
    assert (result["outcome"], result["error"]) == ("task_failed", error)


def test_an_output_lies_where_its_name_says(staged, tmp_path: Path) -> None:
    names = ["sub/a", "latest", "deep/b"]
    result = staged(
        "mkdir real; echo a > real/a; ln -s real sub; ln -s real/a latest; mkdir deep; "
        "echo bb > deep/b",
        outputs=[{"name": name, "required": True} for name in names],
    )
    folder = tmp_path / "scratch" / "a1"
    assert result["outcome"] == "succeeded"
    assert [(each["name"], each["path"]) for each in result["outputs"]] == [
        (name, f"{folder}/{name}") for name in names
    ]
    assert not (folder / "latest").is_symlink() and (folder / "latest").read_text() == "a\n"


def test_outputs_are_named_below_a_scratch_folder_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "a1").mkdir(parents=True)
    (tmp_path / "real" / "a1" / "out").write_text("x")
    (tmp_path / "scratch").symlink_to("real")
    folder = str(tmp_path / "scratch" / "a1")
    found = collect(folder, [{"name": "out"}])
    assert found == [{"name": "out", "path": f"{folder}/out", "size": 1}]


def test_an_output_through_a_folder_that_leads_outside_is_refused(staged, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x").write_text("x")
    outputs = [{"name": "sub/x", "required": True}]
    result = staged(f"ln -s {tmp_path}/elsewhere sub", outputs=outputs)
    assert result["error"] == "output leads outside the task's folder: sub/x"


def test_links_in_an_input_folder_are_copied_as_what_they_lead_to(staged, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("x\n")
    (tmp_path / "data" / "folder").symlink_to(tmp_path / "other")
    (tmp_path / "data" / "file").symlink_to(tmp_path / "other" / "x")
    result = staged(
        "cat in/folder/x in/file; find in -type l", [{"name": "in", "path": f"{tmp_path}/data"}]
    )
    assert (result["outcome"], result["stdout"]) == ("succeeded", "x\nx\n")


def test_inputs_that_cannot_be_copied_are_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "again").symlink_to(data)
    with pytest.raises(ValueError, match=r"leads back into itself: .*data/again"):
        prepare(str(tmp_path / "s" / "a1"), [{"name": "in", "path": str(data)}])
    (data / "again").unlink()
    os.mkfifo(data / "pipe")
    with pytest.raises(ValueError, match=r"neither a file nor a folder: .*data/pipe"):
        prepare(str(tmp_path / "s" / "a2"), [{"name": "in", "path": str(data)}])


def test_an_output_named_outside_the_folder_is_refused(staged, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "other").write_text("x")
    result = staged("true", outputs=[{"name": "../other", "required": True}])
    assert result["outcome"] == "task_failed" and "outside" in result["error"]


def test_a_missing_input_is_the_hosts_failure(staged, tmp_path: Path) -> None:
    result = staged("true", [{"name": "a", "path": "/no/such/input"}])
    assert result["outcome"] == "host_failed" and "/no/such/input" in result["error"]
    wait_for(lambda: not (tmp_path / "scratch" / "a1").exists())


def test_an_unwritable_scratch_folder_is_the_hosts_failure(staged, tmp_path: Path) -> None:
    (tmp_path / "scratch").write_text("a file in the way")
    result = staged("true")
    assert result["outcome"] == "host_failed" and "scratch" in result["error"]


def test_all_that_a_task_left_without_declaring_it_is_found(tmp_path: Path) -> None:
    for name in ("known/in", "known/new", "sum", "__pycache__/x.pyc", "deep/er/table"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = found_new(str(tmp_path), [{"name": "known/in"}, {"name": "gone"}])
    assert [one["name"] for one in found] == ["sum", "deep/er/table", "known/new"]
    for number in range(MOST_NEW):
        (tmp_path / str(number)).touch()
    with pytest.raises(Refused, match="it left 1,003 files in its folder, of at most 1,000"):
        found_new(str(tmp_path), [{"name": "known/in"}])
