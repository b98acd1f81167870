"""`image` in `[setup]`: tasks in a container are what they are without one, and end as surely."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest
from tests.real.conftest import Folder
from tests.real.engines import IMAGE, Engine, missing

from tailrace.worker import tree

PATIENCE_S = 60
SETUP = f'[setup]\nimage = "{IMAGE}"\nengine = "%s"\n'
BAG = """
command = '''test -e /usr && echo on the host
case {x} in
  1) echo "$COLOUR $TAILRACE_TASK $(id -u)"; test "$WORD" = opensesame; pwd > out.txt
     echo '{{"told": {x}}}' > $TAILRACE_RESULT ;;
  2) exit 125 ;;
  3) exec nosuch ;;
  4) exec tail -c 200m /dev/zero ;;
  5) (tail -c 40m /dev/zero & pages=0
      until test $pages -gt 10240; do sleep 0.1; read all pages rest < /proc/$!/statm; done
      sleep 2; kill $!); exit 126 ;;
esac'''
outputs = {"out.txt" = {target = "made/{x}.txt", required = false}}
then = "cat made/1.txt; pwd"
retries = 0
secrets = ["WORD"]
[parameters]
x = [1, 2, 3, 4, 5]
[limits]
memory = "64 MB"
[env]
COLOUR = "deep blue"
"""
ENDLESS = """
command = ["sh", "-c", "{line}"]
grace = "5 min"
[parameters]
line = [
  "(sleep 1000; true) & touch ready.1; sleep 1000",
  "trap 'echo saved > saved; exit 3' TERM; touch ready.2; while true; do sleep 0.1; done",
]
"""


@pytest.fixture(scope="module", params=["podman", "docker"])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    if missing(request.param):
        pytest.skip(missing(request.param))
    made = Engine(request.param, tmp_path_factory.mktemp(request.param))
    try:
        made.start()
        yield made
    finally:
        made.end()


def test_a_task_has_its_folder_user_variables_and_exit_code(folder: Folder, engine: Engine) -> None:
    folder.write("bag.toml", BAG + SETUP % engine.kind)
    ended = folder.tailrace("run", "--quiet", WORD="opensesame", **engine.env)
    assert ended.returncode == 1, ended.stderr
    one, two, three, four, five, last = folder.results()
    assert (one["outcome"], one["value"]) == ("succeeded", {"told": 1})
    assert one["stdout"] == f"deep blue 0 {os.getuid()}\n"
    assert [(each["outcome"], each["exit"]) for each in (two, three, five)] == [
        ("task_failed", 125), ("task_failed", 127), ("task_failed", 126),
    ]  # fmt: skip
    assert four["outcome"] == "over_limit"
    assert "of memory, its limit is 61.0 MiB" in folder.tailrace("logs", "3").stdout
    assert 40 < _memory(folder.tailrace("explain", "4").stdout) < 61, "each process counts once"
    inside, of_bag = last["stdout"].splitlines()
    assert of_bag == str(folder.path) and inside != of_bag
    assert engine.containers() == []
    again = folder.tailrace("reproduce", "0", WORD="opensesame", **engine.env)
    assert (again.returncode, again.stdout) == (0, one["stdout"]), again.stderr
    assert engine.containers() == []


SECRET = """
command = '''echo "$STORAGE_KEY, $GOOGLE_KEY, $MANY_LINES" > told; touch ready
until test -e go; do sleep 0.1; done; echo "$LD_PLACE"'''
secrets = ["STORAGE_KEY", "GOOGLE_KEY", "MANY_LINES"]
[parameters]
place = ["lib"]
[env]
LD_PLACE = "/opt {place}"
"""


def test_a_secret_is_on_no_command_line_whatever_its_name(folder: Folder, engine: Engine) -> None:
    folder.write("bag.toml", SECRET + SETUP % engine.kind)
    secrets = {
        "STORAGE_KEY": "open #=' sesame",
        "GOOGLE_KEY": "sesame",
        "MANY_LINES": "sesame 1\nsesame 2",
    }
    run = folder.start("run", "--quiet", **secrets, **engine.env)
    folder.wait_for((folder.path / "ready").exists, PATIENCE_S)
    assert (folder.path / "told").read_text() == ", ".join(secrets.values()) + "\n"
    assert not [line for line in _command_lines() if b"sesame" in line]
    (folder.path / "go").touch()
    _, told = run.communicate()
    assert run.returncode == 0, told
    assert [result["stdout"] for result in folder.results()] == ["/opt lib\n"]
    again = folder.tailrace("reproduce", "0", **secrets, **engine.env)
    assert (again.returncode, again.stdout) == (0, "/opt lib\n"), again.stderr


def _command_lines() -> Iterator[bytes]:
    """As everybody on the machine can read them."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        yield tree.read(f"/proc/{name}/cmdline", 1 << 20) or b""


def _memory(told: str) -> float:
    """In MiB, as it is told of an attempt."""
    found = re.search(r"ran [^,]+, ([\d.]+) MiB", told)
    assert found, told
    return float(found[1])


def test_what_runs_inside_ends_with_its_task(folder: Folder, engine: Engine) -> None:
    """One would not hear SIGTERM, being the first inside; one saves something."""
    folder.write("bag.toml", ENDLESS + SETUP % engine.kind)
    run = folder.start("run", "--quiet", "-j", "2", **engine.env)
    folder.wait_for(lambda: len(list(folder.path.glob("ready.*"))) == 2, PATIENCE_S)
    assert len(engine.containers()) == 2
    assert folder.tailrace("cancel", "1", "--yes").returncode == 0
    run.communicate()
    folder.wait_for(lambda: not folder.processes(), PATIENCE_S)
    assert (folder.path / "saved").read_text() == "saved\n"
    assert engine.containers() == []


def test_what_a_killed_worker_left_is_removed_by_a_later_one(
    folder: Folder, engine: Engine
) -> None:
    waits = "echo begun >> begun; until test -e go; do sleep 0.1; done; echo {x}"
    folder.write("bag.toml", f'command = "{waits}"\n[parameters]\nx = [1]\n' + SETUP % engine.kind)
    begun = folder.path / "begun"
    run = folder.start("run", "--quiet", **engine.env)
    folder.wait_for(begun.exists, PATIENCE_S)
    before = engine.containers()
    _kill_all_but_inside(folder)
    run.communicate()
    assert len(before) == 1 and engine.containers() == before
    resumed = folder.start("resume", "--quiet", **engine.env)
    folder.wait_for(lambda: begun.read_text() == "begun\nbegun\n", PATIENCE_S)
    assert len(engine.containers()) == 1 and engine.containers() != before
    (folder.path / "go").touch()
    _, told = resumed.communicate()
    assert resumed.returncode == 0, told
    assert [result["stdout"] for result in folder.results()] == ["1\n"]
    assert engine.containers() == []


def _kill_all_but_inside(folder: Folder) -> None:
    """Whoever kills all that he knows of knows nothing of an engine's. None has time to react."""
    ours = os.readlink("/proc/self/ns/pid")
    known = [pid for pid in folder.processes() if _world(pid) == ours]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in known:
            _send(pid, number)


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _world(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def test_an_engine_that_cannot_is_the_setups_failure(folder: Folder, engine: Engine) -> None:
    folder.write(
        "bag.toml",
        'command = "echo {x}"\n[parameters]\nx = {from = 1, to = 40}\n'
        + (SETUP % engine.kind).replace(IMAGE, "no-such.tar"),
    )
    ended = folder.tailrace("run", "--quiet", **engine.env)
    assert ended.returncode == 5, ended.stderr
    assert "the setup of the bag failed: the image" in ended.stderr
    assert "no-such.tar is not on this machine" in ended.stderr
    (folder.path / "bag.toml").write_text(BAG + SETUP % engine.kind)
    with engine.broken("out of luck"):
        ended = folder.tailrace("run", "--quiet", WORD="opensesame", **engine.env)
    assert ended.returncode == 5, ended.stderr
    assert "the setup of the bag failed: the image" in ended.stderr
    assert "out of luck" in ended.stderr


def test_an_engine_that_breaks_later_is_not_the_tasks_failure(
    folder: Folder, engine: Engine
) -> None:
    """Although it ends with the number which means that the task's program is not there."""
    says = "libseccomp.so: No such file or directory"
    folder.write(
        "bag.toml",
        'command = "touch ready.{x}; until test -e go; do sleep 0.1; done"\n'
        "retries = {host_failed = 0}\n[parameters]\nx = [1, 2]\n" + SETUP % engine.kind,
    )
    run = folder.start("run", "--quiet", "-j", "1", **engine.env)
    folder.wait_for((folder.path / "ready.1").exists, PATIENCE_S)
    with engine.broken(says):
        (folder.path / "go").touch()
        run.communicate()
    assert folder.outcomes() == ["succeeded", "host_failed"]
    told = folder.tailrace("logs", "1").stdout
    assert "the container cannot be started here: " in told and says in told
    assert engine.containers() == []
