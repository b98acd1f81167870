"""A task that tells how far it is, seen by everyone who looks on."""

from __future__ import annotations

import json

from tests.real.conftest import Folder
from tests.real.test_terminal import Terminal

TASK = 'echo "30/40 steps" > "$TAILRACE_PROGRESS"; until [ -e go ]; do sleep 0.1; done'


def test_every_view_shows_how_far_the_running_tasks_are(folder: Folder) -> None:
    folder.write("jobs", f"{TASK}\nuntil [ -e go ]; do sleep 0.1; done\n")
    run = Terminal(folder, "run", "--commands", "jobs", "-j", "2")
    folder.wait_for(lambda: b"task 0: 75 % (steps)" in run.screen)
    one = json.loads(folder.tailrace("status", "1", "--json").stdout)
    (far,) = one["halfway"]
    assert (far["task"], far["done"], far["text"]) == (0, 0.75, "steps")
    assert "task 0: 75 % (steps), " in folder.tailrace("status", "1").stdout
    told = folder.tailrace("explain", "1/0").stdout
    assert "75 % done" in told and " rate it " in told
    assert " done " not in folder.tailrace("explain", "1/1").stdout
    watching = Terminal(folder, "watch")
    folder.wait_for(lambda: b"task 0: 75 % (steps)" in watching.screen)
    folder.write("go", "")
    assert "2 of 2 tasks succeeded" in run.finish()
    watching.finish()
    assert ": identical." in folder.tailrace("replay").stdout
    assert not json.loads(folder.tailrace("status", "1", "--json").stdout)["halfway"]
