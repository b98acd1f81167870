"""What a worker tells of its machine: its owner and what he says, its processor, its speed."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.worker import benchmark, processor
from tailrace.worker.owning import BadFile, found, read, written
from tailrace.worker.processor import named

from .conftest import Worker, wait_for
from .scripted_desk import ScriptedDesk

CONF = """# which bags run here
OWNER = alice
HostRequirements = BOT.Owner == "alice"
    # at night all others, too
    || HourOfDay >= 18

hostrank = BOT.Owner == "alice" ? 10 : 0
"""


def conf(tmp_path: Path, text: str) -> str:
    path = tmp_path / "machine.conf"
    path.write_text(text)
    return str(path)


def test_the_first_call_tells_owner_and_processor(
    desk: ScriptedDesk, start: Callable[..., Worker]
) -> None:
    start()
    desk.wait_until(lambda: desk.calls)
    call = desk.calls[0]
    assert (call["owner"], call["cpu"]) == (getpass.getuser(), processor.model())
    assert 0 < len(call["cpu"]) <= 256
    assert call["benchmark"] is None and "says" not in call


def test_the_first_call_tells_what_the_file_of_the_owner_says(
    desk: ScriptedDesk, start: Callable[..., Worker], tmp_path: Path
) -> None:
    start("--conf", conf(tmp_path, CONF))
    desk.wait_until(lambda: desk.calls)
    call = desk.calls[0]
    assert call["owner"] == "alice"
    assert call["says"] == {
        "host_requirements": 'BOT.Owner == "alice"\n    || HourOfDay >= 18',
        "host_rank": 'BOT.Owner == "alice" ? 10 : 0',
    }


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    text = written({"Owner": "bob", "HostRequirements": " Host.Running < 2\n\n|| true\n"})
    assert read(conf(tmp_path, text)) == {
        "owner": "bob", "hostrequirements": "Host.Running < 2\n    || true",
    }  # fmt: skip


def test_the_command_line_names_the_owner_before_the_file(tmp_path: Path) -> None:
    assert found(conf(tmp_path, CONF), "bob").owner == "bob"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("HostRank 3", r"conf:1: this is no NAME = VALUE"),
        ("\nRank = 3", r"conf:2: there is no Rank here; the names are Owner, HostReq"),
        ("HostRank = 1\nhostRANK = 2", r"conf:2: HostRank stands there twice"),
        ("HostRank =  ", r"conf:1: HostRank says nothing"),
        ("  HostRank", r"conf:1: this is no NAME = VALUE"),
        (f"HostRank = 1\n  {'+ 1' * 2000}", r"conf:2: HostRank is too long; it may have 4000"),
        ("# " + "x" * 70_000, r"is too long: it may have 65536 bytes"),
        (f"Owner = {'x' * 300}", r"an owner is a name in one line"),
        ("Owner = a\n  b", r"an owner is a name in one line"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_its_line(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(BadFile, match=told):
        found(conf(tmp_path, text), None)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read: No such file"):
        read(str(tmp_path / "none"))
    (tmp_path / "odd").write_bytes(b"Owner = \xff")
    with pytest.raises(BadFile, match="no text in UTF-8"):
        read(str(tmp_path / "odd"))


def test_a_worker_with_a_bad_file_says_so_and_calls_nobody(
    desk: ScriptedDesk, start: Callable[..., Worker], tmp_path: Path
) -> None:
    worker = start("--conf", conf(tmp_path, "HostRank"))
    assert worker.process.wait(20) == 2
    assert "machine.conf:1: this is no NAME = VALUE" in worker.said
    assert not desk.calls


def test_a_worker_whose_words_are_refused_prints_why_and_ends(
    desk: ScriptedDesk, start: Callable[..., Worker], tmp_path: Path
) -> None:
    desk.fail_with = 422
    worker = start("--conf", conf(tmp_path, CONF))
    assert worker.process.wait(20) == 2
    assert (
        "ended: the server does not take what the owner of this machine says (422)" in worker.said
    )
    assert "trying again" not in worker.said


@pytest.mark.parametrize(
    ("lines", "model"),
    [
        (["processor\t: 0", "model name\t: Xeon(R)  E5 @ 2.2GHz\x1b"], "Xeon(R) E5 @ 2.2GHz"),
        (["model name\t: first", "model name\t: second"], "first"),
        (["processor\t: 0", "cpu\t\t: POWER9, altivec supported"], "POWER9, altivec supported"),
        (["processor : 0", "CPU implementer : 0x41", "CPU part : 0xd0c"],
         "implementer 0x41 part 0xd0c"),
        (["processor : 0", "Hardware\t: BCM2835"], "BCM2835"),
        (["model name : " + "x" * 900], "x" * 256),
        (["processor : 0", "nonsense", ""], ""),
    ],
)  # fmt: skip
def test_a_processor_is_called_as_its_architecture_calls_it(lines: list[str], model: str) -> None:
    assert named(lines) == model


def test_a_machine_without_cpuinfo_has_a_name_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "CPUINFO", "/none")
    assert processor.model()


def test_a_worker_that_idles_measures_its_speed_once(
    desk: ScriptedDesk, start: Callable[..., Worker], tmp_path: Path
) -> None:
    worker = start("--benchmark", "0.1")
    kept = wait_for((tmp_path / "worker" / "benchmark").exists, within=60) and json.loads(
        (tmp_path / "worker" / "benchmark").read_text()
    )
    assert kept["speed"] > 0
    desk.add({"attempt": 1, "shell": "true"})
    desk.wait_for(1)
    assert desk.calls[-1]["benchmark"] == kept["speed"]
    worker.end()
    before = len(desk.calls)
    start("--benchmark", "never")
    desk.wait_until(lambda: len(desk.calls) > before)
    assert desk.calls[before]["benchmark"] == kept["speed"]


def test_nothing_is_measured_before_or_beside_a_task(
    desk: ScriptedDesk, start: Callable[..., Worker], tmp_path: Path
) -> None:
    """One that begins is killed when a task comes."""
    file = tmp_path / "running"
    running = (
        "for pid in /proc/[0-9]*; do tr '\\0' ' ' < $pid/cmdline | grep -q 'benchmark import' "
        f"&& grep -q PPid.*$(cat {file}) $pid/status && echo there; done; true"
    )
    worker = start("--benchmark", "0")
    file.write_text(str(worker.process.pid))
    desk.add({"attempt": 1, "shell": f"sleep 0.3; {running} 2>/dev/null"})
    assert desk.wait_for(1)[0]["stdout"] == ""


def test_what_was_measured_holds_for_one_processor_and_one_boot(tmp_path: Path) -> None:
    of = ["a", benchmark.boot()]
    for text, speed in (
        (json.dumps({"of": of, "speed": 1.5}), 1.5),
        (json.dumps({"of": ["b", of[1]], "speed": 1.5}), None),
        (json.dumps({"of": ["a", "earlier"], "speed": 1.5}), None),
        (json.dumps({"of": of, "speed": -1}), None),
        (json.dumps([1]), None),
        ("{", None),
    ):
        (tmp_path / "benchmark").write_text(text)
        assert benchmark.Benchmark(str(tmp_path), "a", 0, lambda: None, 0).speed == speed


def test_speed_is_rounds_in_a_second_of_cpu_by_those_of_the_reference() -> None:
    ticks = iter(range(1000))
    rounds_in_ten_ticks = benchmark.measure(10, lambda: next(ticks))
    assert rounds_in_ten_ticks == pytest.approx(9 / 11 / benchmark.REFERENCE)
