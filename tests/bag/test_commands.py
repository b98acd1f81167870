from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import pytest

from tailrace.bag import bag_from_commands, chunks, load_commands_file
from tailrace.errors import BadInput


def test_comments_and_blank_lines_are_skipped_and_braces_mean_nothing(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_bytes(
        b"\xef\xbb\xbf# first\r\necho {a}\r\n\n   \n  # x\n  awk '{print}'  \ntrue # y"
    )
    bag = load_commands_file(str(tmp_path / "jobs.txt"), tmp_path)
    assert [bag.task(i).shell for i in range(bag.count)] == [
        "echo {a}",
        "awk '{print}'",
        "true # y",
    ]
    assert bag.spec.name == "jobs"
    assert bag.task(0).env == {"TAILRACE_TASK": "0"}


def test_commands_come_from_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"true\nfalse\n")))
    bag = load_commands_file("-", tmp_path, max_failures=3)
    assert [bag.task(i).shell for i in range(bag.count)] == ["true", "false"]
    assert bag.terms().max_failures == 3
    assert bag.spec.name == "commands"


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"true\n" * 300_000 + b"echo \xff\n", 300_001, "byte 0xff"),
        (b"true\n" * 1500 + b"echo \0\n", 1501, "NUL"),
        (b"# only\n\n", None, "no command"),
        (b"", None, "no command"),
    ],
)
def test_a_faulty_file_of_commands_is_refused(
    tmp_path: Path, data: bytes, line: int, message: str
) -> None:
    path = tmp_path / "jobs.txt"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=message) as caught:
        load_commands_file(str(path), tmp_path)
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_a_nul_in_lines_given_is_refused_with_its_line() -> None:
    with pytest.raises(BadInput, match="NUL") as caught:
        bag_from_commands(["true\n", "a\0b\n"], Path("/x"), source="lines")
    assert caught.value.line == 2


@pytest.mark.parametrize(("name", "message"), [("no.txt", "no such file"), (".", "is a folder")])
def test_a_file_of_commands_that_cannot_be_read_is_refused(
    tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        load_commands_file(str(tmp_path / name), tmp_path)


def test_parameters_make_no_sense_with_listed_commands() -> None:
    with pytest.raises(BadInput, match="unknown key parameters"):
        bag_from_commands(["true"], Path("/x"), source="s", parameters={"a": [1]})


def test_a_hundred_thousand_commands_pass_through_in_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lines are read as they are used, and encoded ones wait on disk: never all are in memory."""
    monkeypatch.setattr(chunks, "IN_MEMORY", 1 << 10)
    lines = (f"./simulate --seed {i} --out out/{i}.csv {'x' * 200}\n" for i in range(100_000))
    tracemalloc.start()
    bag = bag_from_commands(lines, Path("/x"), source="s")
    size = sum(map(len, bag.encode()[1]))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bag.count == 100_000
    assert bag.task(99_999).shell == f"./simulate --seed 99999 --out out/99999.csv {'x' * 200}"
    assert size > 20_000_000
    assert most < size / 4
