"""Attempts from which a plan is made: of a bag that has ended or not, or of a file."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.cli.conftest import Live, ask
from tests.real.served import serving

from tailrace.cli.planning import attemptsfile, methods
from tailrace.cli.planning.observed import Observation, observed
from tailrace.errors import BadInput
from tailrace.knowledge.characterisation import METHODS
from tailrace.knowledge.sendings import Fate

HEAD = "sent_s,turnaround_s,pool,outcome\n"


def read(folder: Path, text: str | bytes, name: str = "attempts.csv") -> Observation:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return observed(str(path))


def test_a_list_of_turnarounds(tmp_path: Path) -> None:
    found = read(tmp_path, "turnaround_s\n10\n 30 \n\n20.5\n").characterise()
    assert list(found.turnaround.points()) == [10, 20.5, 30]
    assert (
        found.reliability.next == 1
        and found.size is None
        and (found.sent, found.returned) == (3, 3)
    )


def test_attempts_in_any_order_of_columns_and_rows(tmp_path: Path) -> None:
    text = (
        "outcome,more,pool,sent_s,turnaround_s,run_s\n"
        "succeeded,x,osg,1700000010,5,4\nlost,x,osg,1700000000,3,\n,x,osg,1700000020,,\n"
        "expired,x,osg,1700000030,40,\n,x,wm,1700000040,7,\ncancelled,x,wm,1700000050,2,\n"
    )
    sent = read(tmp_path, text).sendings
    assert list(sent.sent_s) == [0, 10, 20, 30, 40, 50]
    assert list(sent.took_s) == [3, 5, math.inf, 40, 7, 2]
    assert list(sent.fate) == [
        Fate.FAILED, Fate.RETURNED, Fate.EXPIRED, Fate.EXPIRED, Fate.RETURNED, Fate.OUT
    ]  # fmt: skip
    assert [sent.pools[n] for n in sent.pool] == ["osg"] * 4 + ["wm"] * 2
    assert sent.of("osg").returned == 1 and sent.run_s[1] == 4


def test_what_results_prints_is_such_a_file(swept: Path, tmp_path: Path) -> None:
    """Those with seed 2 failed, and it is told when."""
    told = ask(swept, "results", "--csv").out
    found = read(tmp_path, told)
    assert found.sendings.returned == 4 and found.sendings.count == 6
    assert found.unreliable == ("local",)


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_tabs_in_a_tsv(tmp_path: Path, name: str) -> None:
    text = "pool,turnaround_s\na,1\n".replace(",", "\t" if name == "a.tsv" else ",")
    assert read(tmp_path, text, name).sendings.pools == ("a",)


BAD = [
    ("", "1", "the file is empty", "The first line names the columns"),
    ("\n \n", "1", "the file is empty", "turnaround_s alone will do"),
    (HEAD, "1", "there is a header but no attempt", "a line"),
    ("turnaround\n5\n", "1", "no column turnaround_s; there are: 'turnaround'", "turnaround_s"),
    ("5\n6\n", "1", "no column turnaround_s; there are: '5'", "The first line names"),
    ("turnaround_s,turnaround_s\n1,2\n", "1", "two columns are named turnaround_s", "Rename"),
    ("turnaround_s\n5\nfast\n", "3", "turnaround_s is 'fast', not a number", "such as 2066.5"),
    ("turnaround_s\nNaN\n", "2", "turnaround_s is 'NaN', not a number", "leave it empty where"),
    ("turnaround_s\n5\ninf\n", "3", "turnaround_s is 'inf', not a number", "Give seconds"),
    ("turnaround_s\n1_000\n", "2", "turnaround_s is '1_000', not a number", "Give seconds"),
    ('turnaround_s\n"12,5"\n', "2", "turnaround_s is '12,5', not a number", "2066.5"),
    ("turnaround_s\n-5\n", "2", "turnaround_s is -5, below 0", "Give seconds"),
    ("turnaround_s\n1e300\n", "2", "turnaround_s is 1e300, beyond three hundred", "Give seconds"),
    (HEAD + ",5,p,\n", "2", "sent_s is empty", "leave out the whole column"),
    (HEAD + "nan,5,p,\n", "2", "sent_s is 'nan', not a number", "Give seconds"),
    (HEAD + "0,,p,succeeded\n", "2", "it succeeded, and turnaround_s is empty", "How long"),
    (HEAD + "0,5,p,done\n", "2", "outcome is 'done'", "It is one of: succeeded, task_failed"),
    (HEAD + "0,5,p,suceeded\n", "2", "outcome is 'suceeded'", "succeeded"),
    (HEAD + "0,5,p\n", "2", "this row has 3 cells, the header has 4", "one cell per column"),
    (HEAD + "0,,p,lost\n1,2,p,lost\n", None, "none of 2 attempts succeeded", "another run"),
    ("turnaround_s\n5\n".encode("utf-16"), "1", "byte 0xff (at offset 0) is not UTF-8", "iconv"),
    (b"turnaround_s\n5\n\0\n", "3", "a NUL byte stands here", "text file"),
    ('turnaround_s\n"5\n', "2", "not valid CSV", ""),
]


@pytest.mark.parametrize(("text", "line", "found", "remedy"), BAD)
def test_a_bad_file_is_told_with_file_and_line(
    tmp_path: Path, text: str | bytes, line: str | None, found: str, remedy: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read(tmp_path, text)
    told = str(refused.value)
    place = f"{tmp_path}/attempts.csv" + ("" if line is None else f":{line}")
    assert told.startswith(f"{place}: "), told
    assert found in told and remedy in told, told


def test_a_file_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="there is no such file"):
        observed(str(tmp_path / "none.csv"))
    with pytest.raises(BadInput, match="nothing was run in this folder"):
        observed(str(tmp_path))
    with pytest.raises(BadInput, match=r"is a folder, not a file"):
        attemptsfile.read_attempts(tmp_path)
    monkeypatch.setattr(attemptsfile, "MOST_BYTES", 1 << 20)
    with pytest.raises(BadInput, match="more than 1 MiB, the most that is read"):
        attemptsfile.read_attempts(Path("/dev/zero"))


# bags


def test_a_bag_that_has_ended(swept: Path) -> None:
    """Two of six tasks failed for good, twice each: their host did nothing wrong."""
    found = observed(str(swept))
    assert found.name == "bag 1 (sweep)" and found.finished and found.online is None
    assert (found.tasks, found.left) == (6, 0)
    known = found.characterise()
    assert (known.returned, known.sent, known.reliability.next) == (8, 8, 1)
    assert known.pools == ("local",) and found.pools["local"].billing.price > 0
    assert known.run is not None and 0 < known.run.value < known.turnaround.mean_s
    assert known.turnaround.values_s[-1] < found.now_s < 60


def test_a_bag_of_which_nothing_succeeded(tmp_path: Path) -> None:
    assert ask(tmp_path, "run", "--quiet", "--", "false {}", ":::", "1", "2").code == 1
    with pytest.raises(BadInput, match="bag 1: none of 4 attempts succeeded"):
        observed(str(tmp_path))


def test_of_bags_here_the_newest_or_the_one_that_is_named(
    swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(swept)
    monkeypatch.delenv("TAILRACE_SERVER", raising=False)
    for source in (None, "1", "sweep"):
        assert observed(source).sendings.returned == 8
    with pytest.raises(BadInput, match="there is no bag '7'"):
        observed("7")


def test_a_bag_that_runs(live: Live) -> None:
    """Three are done, one fails twice and is done with then, and the last is out."""
    found = observed(str(live.folder))
    assert not found.finished and found.tasks == 5 and found.left in (1, 2)
    sent = found.sendings
    assert sent.returned == (5 if found.left == 1 else 3) and sent.how(Fate.OUT).any()
    assert found.online is not None and found.online.tail_s == found.now_s
    assert (sent.sent_s + sent.took_s).max() <= found.now_s + 1e-6
    assert found.characterise().returned == sent.returned
    (live.folder / "go").touch()


def test_what_went_when_its_owner_interrupted_the_run_has_not_failed(halfway: Path) -> None:
    """Two are done, and the last slept when Ctrl-C was pressed."""
    found = observed(str(halfway))
    assert list(found.sendings.fate) == [Fate.RETURNED, Fate.RETURNED, Fate.OUT]
    assert not found.characterise().failures_s.size


def test_a_bag_at_a_server(tmp_path: Path) -> None:
    """Asked by its user, over HTTP."""
    with serving(tmp_path, "--local", "-j", "1") as server:
        join = tmp_path / "ada.join"
        join.touch(0o600)
        join.write_text(server.token("ada", "user").text())
        words = ["run", "--quiet", "--server", str(join), "--", "true {}", ":::", "1", "2", "3"]
        assert ask(tmp_path, *words).code == 0
        there = observed("1", str(join))
        here = observed(str(tmp_path))
    assert there.finished and (there.tasks, there.left) == (3, 0)
    assert there.sendings.returned == 3 and there.pools == here.pools
    assert list(there.sendings.took_s) == list(here.sendings.took_s)


# methods of a user's package

PACKAGE = """
from tailrace.knowledge.characterisation import METHODS
from tailrace.knowledge.reliability import constant

def surely(seen, online):
    return METHODS["paper"](seen, online)[0], constant(0.5)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "theirs-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    entries = "surely = theirs_of_test:surely\nbroken = theirs_of_test:none\n"
    (told / "entry_points.txt").write_text(f"[tailrace.characterisation]\n{entries}")
    (tmp_path / "theirs_of_test.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(METHODS, "surely", METHODS["paper"])  # so that it goes afterwards
    del METHODS["surely"]


@pytest.mark.usefixtures("package")
def test_a_package_may_add_a_method(tmp_path: Path) -> None:
    found = read(tmp_path, "turnaround_s\n5\n").characterise(method=methods.load("surely"))
    assert found.method == "surely" and found.reliability.next == 0.5


@pytest.mark.usefixtures("package")
def test_a_method_that_is_not_there_or_does_not_load_is_named() -> None:
    with pytest.raises(BadInput, match="no method of characterisation 'sure'") as refused:
        methods.load("sure")
    assert "broken, measured, paper, surely" in str(refused.value)
    with pytest.raises(BadInput, match=r"the method 'broken' of theirs cannot be loaded: .*none"):
        methods.load("broken")
