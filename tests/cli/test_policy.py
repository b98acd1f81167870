"""Who runs the tasks of a bag: from its file and from flags, shown and changed by `policy`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Live, ask, clean_environment, tailrace

from tailrace.bag.bagfile import load_bag_file
from tailrace.bag.policy import BagPolicy, Plain, Policy
from tailrace.policy import library
from tailrace.simulation.reading import load_scenario

BAG = """
command = "true {x}"
%s
[parameters]
x = [1, 2]
"""


def write(folder: Path, top: str, below: str = "") -> Path:
    path = folder / "bag.toml"
    path.write_text(BAG % top + below)
    return path


WORDS = {
    "priority = 5": ("policy", "priority 5", "Rank = 5  // priority = 5"),
    "priority = -0.5": ("policy", "priority -0.5", "Rank = -0.5  // priority = -0.5"),
    "max_running = 2": (
        "max_running", "2 at a time", "JobRequirements = BOT.JobsRunning < 2  // max_running = 2"
    ),
    "tasks_per_host = 4": (
        "policy", "tasks per host 4",
        "JobRequirements = Host.RunningOfBot < 4  // tasks_per_host = 4",
    ),
    'pools = ["local"]': (
        "pools", "local", 'JobRequirements = Host.Pool =?= "local"  // pools = ["local"]'
    ),
    'pools = "!spot"': (
        "policy", "pools !spot", 'JobRequirements = !(Host.Pool =?= "spot")  // pools = ["!spot"]'
    ),
    'pools = ["loc*", "!spot"]': (
        "policy", "pools loc* !spot", '// pools = ["loc*", "!spot"]'
    ),
    'hosts = "*-?"': ("policy", "hosts *-?", '// hosts = ["*-?"]'),
    "max_attempts = 1": (
        "policy", "max attempts 1",
        "ReplicationRequirements = Job.NumberOfReplicas < 1  // max_attempts = 1",
    ),
    'timeout = "2h"': ("timeout", "2h", "Deadline = 7200  // timeout = 7200s"),
    "weight = 2": ("policy", "weight 2", "weight 2, beside other bags of its owner"),
}  # fmt: skip


@pytest.mark.parametrize("written", WORDS)
def test_every_plain_word_is_checked_and_shown(tmp_path: Path, written: str) -> None:
    key, told, _ = WORDS[written]
    write(tmp_path, written)
    assert ask(tmp_path, "check", "--json").json[key] == told
    assert told in ask(tmp_path, "check").out


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bag with all that can be said, run to its end."""
    folder = tmp_path_factory.mktemp("waiting")
    top = [word for word in WORDS if "-0.5" not in word and "pools" not in word]
    rank = "[policy]\nJobRequirements = 'Host.NumCpus > 0'\ntail_below = 9\ntail_stays = true\n"
    rank += "losers = 'run on'\n"
    write(folder, "\n".join([*top, 'pools = ["loc*", "!spot"]']).replace("*-?", "*"), rank)
    done = tailrace(folder, "run", "--quiet")
    assert done.code == 0, done.err
    return folder


def test_show_prints_all_of_it_as_classads(waiting: Path) -> None:
    told = ask(waiting, "policy", "show")
    for word, (_, _, line) in WORDS.items():
        if "-0.5" not in word and "pools" not in word and word != 'hosts = "*-?"':
            text = line.removeprefix("JobRequirements = ").replace("  //", ") &&  //")
            assert line in told.out or text in told.out, told.out
    assert "    (Host.NumCpus > 0)\n" in told.out
    assert "its tail begins when fewer than 9 tasks wait to be sent, and does not end" in told.out
    assert "\nlosers run on: attempts whose task has its result from another" in told.out
    found = ask(waiting, "policy", "show", "bag", "--json").json
    assert found["policy"]["plain"]["pools"] == ["loc*", "!spot"] and found["tail_below"] == 9
    assert "policy priority 5, tasks per host 4" in ask(waiting, "status", "1").out
    assert ask(waiting, "replay").out.endswith("identical.\n")


def test_show_says_so_when_there_is_none(halfway: Path) -> None:
    told = ask(halfway, "policy", "show")
    assert (told.code, told.out) == (0, "bag 1 (jobs) has no policy: any host may run its tasks.\n")


BAD = [
    ("priority = 1", "[policy]\nRank = 2", "bag.toml:7: the bag has both priority and Rank"),
    ('timeout = "1h"', "[policy]\nDeadline = 2", "bag.toml:7: the bag has both timeout and Deadli"),
    ("priority = 'high'", "", "bag.toml:3: priority is 'high', but should be a whole number"),
    ("max_running = 0", "", "bag.toml:3: max_running is 0"),
    ("most_running = 3", "", "bag.toml:3: unknown key most_running\n  did you mean max_running?"),
    ("tasks_per_host = 'all'", "", "bag.toml:3: tasks_per_host is 'all'"),
    ("max_attempts = 3", "", "bag.toml:3: max_attempts lets a task run twice at once, but the bag"),
    ("weight = -1", "", "bag.toml:3: weight is -1"),
    ("hosts = ['a/b']", "", "bag.toml:3: 'a/b' is no name and no pattern"),
    ("pools = ['!sp\"ot']", "", "bag.toml:3: '!sp\"ot' is no name and no pattern"),
    ("pools = ['nowhere']", "", "bag.toml:3: there is no pool 'nowhere'"),
    ("timeout = '0s'", "", "bag.toml:3: timeout: 0s leaves nothing"),
    ("", "[policy]\nRank = 'Host.Sped'", "bag.toml:7: Rank, column 1: there is no attribute"),
    ("", "[policy]\nRank = 'Params.x'", "bag.toml:7: Rank, column 1: Rank cannot look at Params.x"),
    ("", "[policy]\nGridPolicy = 'Host.Reliable'", "bag.toml:7: GridPolicy, column 1: GridPolicy"),
    ("", "[policy]\nRank = '1'\nrank = '2'", "bag.toml:8: unknown key policy.rank"),
    ("", "[policy]\ntail_below = -1", "bag.toml:7: policy.tail_below is -1"),
    ("policy = 'Rank'", "", "bag.toml:3: policy is 'Rank', but should be a table"),
    ("", "[policy]\nReplicationRequirements = 'Tail'", "bag.toml:7: ReplicationRequirements lets"),
]


@pytest.mark.parametrize(("top", "below", "said"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_told_with_its_line_and_nothing_starts(
    tmp_path: Path, top: str, below: str, said: str
) -> None:
    write(tmp_path, top, below)
    for words in (["check"], ["run"]):
        told = ask(tmp_path, *words)
        assert told.code == 2 and said in told.err, told.err
    assert not (tmp_path / ".tailrace").exists()


def test_a_policy_is_tried_before_a_run(tmp_path: Path) -> None:
    slow = 'regexp("^[ab]+[ab]+[ab]+$", Host.Name)'
    costly = " || ".join([slow] * 50)
    write(tmp_path, "", f"[policy]\nJobRequirements = '{costly}'\n")
    for words in (["check"], ["run"]):
        told = ask(tmp_path, *words)
        assert told.code == 2 and "bag.toml:7: " in told.err and "takes too long" in told.err
    assert not (tmp_path / ".tailrace").exists()


def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "classad2", None)
    monkeypatch.setattr(library, "is_installed", lambda: False)
    library.classads.cache_clear()


def test_without_the_library_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "priority = 5")
    lacks = tmp_path / "lacks"
    lacks.mkdir()
    (lacks / "classad2.py").write_text("raise ImportError")
    without_library(monkeypatch)
    told = ask(tmp_path, "check", PYTHONPATH=str(lacks))
    sent = ask(tmp_path, "submit", XDG_CONFIG_HOME=str(tmp_path))
    assert "tailrace serve --local" in sent.err, "a server may have it: only there is none"
    library.classads.cache_clear()
    assert told.code == 2 and "pip install 'tailrace[policies]'" in told.err
    write(tmp_path, 'timeout = "1h"\nmax_running = 3\npools = ["local"]\nweight = 2')
    assert ask(tmp_path, "check", PYTHONPATH=str(lacks)).code == 0


def test_flags_stand_above_the_file(tmp_path: Path) -> None:
    write(tmp_path, "priority = 5\nhosts = 'a'\nmax_running = 9")
    flags = ["--priority", "7.5", "--hosts", "node0*, node1*", "--pools", "!spot", "--repeatable",
             "--tasks-per-host", "2", "--max-running", "3", "--max-attempts", "2"]  # fmt: skip
    told = ask(tmp_path, "run", "--dry-run", "--json", *flags).json
    assert told["max_running"] == "3 at a time"
    assert told["policy"] == (
        "priority 7.5, tasks per host 2, max attempts 2, pools !spot, hosts node0* node1*"
    )
    for flag, value in (("--priority", "high"), ("--hosts", "a/b"), ("--tasks-per-host", "0")):
        wrong = ask(tmp_path, "run", flag, value)
        assert wrong.code == 2 and f"{flag}: " in wrong.err, wrong.err
    words = ("--dry-run", "--json", "--priority", "3", "--", "echo", "{}", ":::", "a", "b")
    assert ask(tmp_path, "run", *words).json["policy"] == "priority 3"


def test_what_is_said_travels_with_the_bag(tmp_path: Path) -> None:
    path = write(tmp_path, "priority = 5\npools = ['!spot']", "[policy]\nConcurrency = 3\n")
    terms = load_bag_file(path).terms()
    plain = Plain(priority=5, pools=("!spot",))
    assert terms.policy == BagPolicy(Policy(concurrency="3"), plain) and terms.pools == ()
    assert terms.owner == ""


SCENARIO = """
[pools.p]
machines = 1
[bags.b]
tasks = 1
length = 1
%s
"""


def test_a_scenario_takes_them_too(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    text = "priority = 2\nweight = 3\nmax_running = 1\npolicy.Rank = 'Host.Speed'"
    path.write_text(SCENARIO % text.replace("priority = 2\n", ""))
    terms = load_scenario(path).bags[0].terms
    assert (terms.weight, terms.most_running) == (3.0, 1)
    assert terms.policy == BagPolicy(Policy(rank="Host.Speed"))
    assert ask(tmp_path, "simulate", "s.toml", "--quiet").code == 0
    for more, said in (
        (text, "s.toml:10: the bag has both priority and Rank"),
        ("policy.Rank = 'Host.Sped'", "s.toml:7: Rank, column 1: there is no attribute Host.Sped"),
        ("tasks_per_host = 0", "s.toml:7: bags.b.tasks_per_host is 0"),
        ("pools = ['a/b']", "s.toml:7: 'a/b' is no name and no pattern"),
    ):
        path.write_text(SCENARIO % more)
        told = ask(tmp_path, "simulate", "s.toml")
        assert told.code == 2 and said in told.err, told.err


@pytest.fixture
def left(halfway: Path, tmp_path: Path) -> Path:
    """A bag that was interrupted, to change at will."""
    shutil.copytree(halfway, tmp_path / "copy")
    return tmp_path / "copy"


def test_set_without_a_server_holds_when_the_bag_goes_on(left: Path) -> None:
    told = ask(left, "policy", "set", "1", "priority=5", "pools=!spot,loc*", "Concurrency=2")
    assert told.code == 0, told.err
    assert "Rank = 5  // priority = 5\nConcurrency = 2\n" in told.out
    assert told.out.endswith("No server runs now; it holds when the bag goes on.\n")
    told = ask(left, "policy", "set", "jobs", "--unset", "priority", "Rank=Host.Speed", "--json")
    assert told.json["policy"]["own"] == {"Rank": "Host.Speed", "Concurrency": "2"}
    assert told.json["policy"]["plain"] == {"pools": ["!spot", "loc*"]}
    shown = ask(left, "policy", "show").out
    assert shown.endswith(
        "Rank = Host.Speed\nConcurrency = 2\n"
        'GridPolicy = regexp("^loc.*$", Pool.Name) && !(Pool.Name =?= "spot")'
        '  // pools = ["!spot", "loc*"]\n'
    )
    assert ask(left, "replay").out.endswith("identical.\n")
    names = ["Rank", "Concurrency", "pools"]
    told = ask(left, "policy", "set", "1", *[word for name in names for word in ("--unset", name)])
    assert told.out.startswith("bag 1 (jobs) has no policy")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "what the policy is to be is not said, or twice"),
        (["priority=1", "--file", "bag.toml"], "what the policy is to be is not said, or twice"),
        (["priority"], "'priority' says nothing"),
        (["priority="], "'priority=' says nothing"),
        (["priority=high"], "priority is 'high'"),
        (["priority=1", "priority=2"], "priority is given twice"),
        (["priority=1", "--unset", "priority"], "priority is given twice"),
        (["prioriti=1"], "there is no prioriti in a policy\n  did you mean priority?"),
        (["--unset", "Rnak"], "there is no Rnak in a policy\n  did you mean Rank?"),
        (["timeout=1h"], "timeout cannot be changed"),
        (["max_running=3"], "max_running cannot be changed"),
        (["weight=3"], "weight cannot be changed"),
        (["tail_below=3"], "tail_below cannot be changed"),
        (["losers=end"], "losers cannot be changed"),
        (["hosts=a/b"], "'a/b' is no name and no pattern"),
        (["tasks_per_host=0"], "tasks_per_host is 0"),
        (["max_attempts=2"], "max_attempts lets a task run twice at once"),
        (["priority=1", "Rank=2"], "the bag has both priority and Rank"),
        (["Rank=Host.Sped"], "Rank, column 1: there is no attribute Host.Sped"),
        (["Rank=Params.x"], "Rank cannot look at Params.x: it is asked about a bag"),
        (["--file", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_what_cannot_be_set_changes_nothing(left: Path, words: list[str], said: str) -> None:
    told = ask(left, "policy", "set", "1", *words)
    assert told.code == 2 and said in told.err, told.err
    assert "has no policy" in ask(left, "policy", "show").out


def test_a_bag_file_is_taken_as_a_whole(left: Path) -> None:
    assert ask(left, "policy", "set", "1", "priority=5", "hosts=a*").code == 0
    path = write(left, "tasks_per_host = 2\npools = ['local']", "[policy]\nRank = 'Host.Speed'\n")
    found = ask(left, "policy", "set", "1", "--file", "bag.toml", "--json").json["policy"]
    assert found == {
        "own": {"Rank": "Host.Speed"}, "plain": {"tasks_per_host": 2, "pools": ["local"]},
    }  # fmt: skip
    for top, below, said in (
        ("max_running = 3", "", "bag.toml:3: max_running cannot be changed: the bag has none"),
        ("timeout = 3", "", "bag.toml:3: timeout cannot be changed: the bag has none"),
        ("weight = 3", "", "bag.toml:3: weight cannot be changed: the bag has 1.0"),
        ("", "[policy]\ntail_below = 3", "bag.toml:7: tail_below cannot be changed"),
        ("", "[policy]\nlosers = 'run on'", "bag.toml:7: losers cannot be changed: the bag"),
        ("", "[policy]\nRank = 'Host.Sped'", "bag.toml:7: Rank, column 1: there is no attribute"),
    ):
        write(left, top, below)
        told = ask(left, "policy", "set", "1", "--file", path.name)
        assert told.code == 2 and said in told.err, told.err
    assert ask(left, "policy", "show", "--json").json["policy"] == found


def test_a_trial_says_which_hosts_match_and_why_others_do_not(live: Live, left: Path) -> None:
    folder = live.folder
    told = ask(folder, "policy", "test", "--json").json
    (host,) = told["hosts"]
    assert host["matches"] and host["pool"] == "local" and told["twice"] == []
    assert ask(folder, "policy", "set", "1", "priority=3", "hosts=nobody").code == 0
    told = ask(folder, "policy", "test")
    head, row, last = told.out.splitlines()
    assert head.split() == [
        "host",
        "pool",
        "matches",
        "rank",
        "most",
        "holds",
        "time-out",
        "why",
        "not",
    ]
    assert row.split()[:4] == [host["host"], "local", "no", "3"] and "JobRequirements" in row
    assert last == "No task would get one more attempt."
    assert ask(folder, "policy", "test", "1", "--host", host["host"]).out.splitlines() == [
        head,
        row,
    ]
    wrong = ask(folder, "policy", "test", "--host", "nobody")
    assert wrong.code == 2 and f"Hosts are: {host['host']}." in wrong.err
    wrong = ask(left, "policy", "test")
    assert wrong.code == 2 and "no server runs here now" in wrong.err


def test_set_while_it_runs_and_still_there_after_it_was_taken_up_again(live: Live) -> None:
    told = ask(live.folder, "policy", "set", "1", "priority=5", "Concurrency=2 * Host.NumCpus")
    assert told.code == 0 and "No server runs" not in told.out, told.err
    wrong = ask(live.folder, "policy", "set", "1", "Deadline=0")
    assert wrong.code == 2 and "Deadline: it gives 0" in wrong.err
    live.process.terminate()
    live.process.wait(30)
    text = "Rank = 5  // priority = 5\nConcurrency = 2 * Host.NumCpus\n"
    assert ask(live.folder, "policy", "show").out == text
    (live.folder / "go").touch()
    words: Any = [sys.executable, "-m", "tailrace.cli.main", "resume", "--quiet"]
    again = subprocess.run(words, cwd=live.folder, env=clean_environment({}), timeout=60)
    assert again.returncode == 1, "one of its tasks fails"
    assert ask(live.folder, "policy", "show").out == text
    assert ask(live.folder, "replay").out.endswith("identical.\n")
