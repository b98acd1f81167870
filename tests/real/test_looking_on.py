"""What those who look on are told while tasks run for long, without a word of their own."""

from __future__ import annotations

import json

from tests.real.conftest import Folder
from tests.real.test_terminal import Terminal

PATIENCE_S = 60
UNTIL_GO = "until [ -e go ]; do sleep 0.1; done # {}"


def test_tasks_count_as_running_and_hosts_as_full_before_any_ended(
    folder: Folder,
) -> None:
    run = Terminal(folder, "run", "-j", "2", "--", UNTIL_GO, ":::", *"abc")
    folder.wait_for(lambda: b" 2 running" in run.screen, PATIENCE_S)
    watching = Terminal(folder, "watch")
    folder.wait_for(lambda: b" 2 running" in watching.screen, PATIENCE_S)
    assert b"3 left" in watching.screen
    told = folder.tailrace("explain", "1/2").stdout
    assert "The task was never sent; 1 task of the bag waits." in told
    assert ": full: it holds 2 attempts, 0 cores free." in told
    host = json.loads(folder.tailrace("hosts", "--json").stdout)[0]["host"]
    assert "It is full: it holds 2 attempts, 0 cores" in folder.tailrace("explain", host).stdout
    folder.write("go", "")
    assert "3 of 3 tasks succeeded" in run.finish()
    watching.finish()


def test_a_tail_that_takes_longer_than_foreseen_is_called_so(folder: Folder) -> None:
    slow = "if [ {} = 6 ]; then until [ -e go ]; do sleep 0.1; done; fi; sleep 0.1"
    run = Terminal(folder, "run", "-j", "2", "--", slow, ":::", *"123456")
    folder.wait_for(lambda: b"longer than foreseen (" in run.screen, PATIENCE_S)
    folder.write("go", "")
    assert "6 of 6 tasks succeeded" in run.finish()
