"""`then`: once, when all tasks are done, beside what they made; also across kill -9."""

from __future__ import annotations

from tests.real.conftest import Folder, kill

BAG = """
command = "echo {x} > out.txt; test {x} != 2"
then = '''echo $TAILRACE_ATTEMPT >> begun
until [ -e go ]; do sleep 0.05; done
echo "of {bag}: $(cat made/*.txt | tr '\\n' ' ') failed: $TAILRACE_FAILED" | tee -a collected'''
outputs = {"out.txt" = "made/{x}.txt"}
retries = 0
[parameters]
x = {from = 1, to = 6}
"""
SAID = "of bag: 1 3 4 5 6  failed: 1\n"


def test_it_collects_once_though_everything_is_killed_while_it_runs(folder: Folder) -> None:
    folder.write("bag.toml", BAG)
    run = folder.start("run", "--quiet", "bag.toml")
    begun = folder.path / "begun"
    folder.wait_for(begun.exists, 60)
    for pid in folder.processes():
        kill(pid)
    run.communicate()
    folder.wait_for(lambda: not folder.processes(), 60)
    (folder.path / "go").touch()
    ended = folder.tailrace("resume", "--quiet")
    assert ended.returncode == 1, ended.stderr
    assert (folder.path / "collected").read_text() == SAID
    last = folder.results()[-1]
    assert (last["task"], last["params"], last["outcome"]) == (6, {}, "succeeded")
    assert (last["stdout"], last["attempts"]) == (SAID, 2)
    attempts = begun.read_text().split()
    assert len(attempts) == len(set(attempts)) == 2
    assert SAID in folder.tailrace("logs", "then").stdout
    again = folder.tailrace("reproduce", "then")
    assert (again.returncode, again.stdout) == (0, SAID)
