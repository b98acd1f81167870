"""What a user sees on a real terminal, and what depends on there being one."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import threading

from tests.real.conftest import TAILRACE, Folder


class Terminal:
    """A command on a pseudo terminal, its screen read as it comes."""

    def __init__(self, folder: Folder, *words: str) -> None:
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*TAILRACE, *words],
            cwd=folder.path,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
            text=True,
        )
        folder.started.append(self)
        os.close(theirs)
        self.screen = b""
        self._reader = threading.Thread(target=self._read, args=(ours,), daemon=True)
        self._reader.start()

    def _read(self, ours: int) -> None:
        try:
            while data := os.read(ours, 65536):
                self.screen += data
        except OSError:  # the other side has closed
            pass
        os.close(ours)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def finish(self) -> str:
        self.process.wait(timeout=60)
        self._reader.join(timeout=10)
        return self.screen.decode()


def test_an_interrupted_run_is_resumed_on_a_terminal(folder: Folder) -> None:
    wait = "until [ -e go ]; do sleep 0.05; done"  # however late the signal comes
    folder.write("jobs", f"echo begun >> begun; {wait}\n" * 12)
    first = Terminal(folder, "run", "--commands", "jobs")
    folder.wait_for(lambda: (folder.path / "begun").exists() and "running" in str(first.screen))
    first.process.send_signal(signal.SIGINT)
    assert "tailrace resume 1" in first.finish()
    assert first.process.returncode == 130
    folder.write("go", "")
    second = Terminal(folder, "resume")
    assert "12 of 12 tasks succeeded" in second.finish()
    assert second.process.returncode == 0


def test_the_live_view_shows_the_bar_and_the_failures(folder: Folder) -> None:
    folder.write("jobs", "sleep 0.3; echo no luck >&2; exit 3\n" + "sleep 0.3\n" * 7)
    run = Terminal(folder, "run", "--commands", "jobs")
    screen = run.finish()
    assert "remaining" in screen
    assert "1 failed: task failed, exit 3: no luck" in screen
    assert run.process.returncode == 1


def test_tasks_are_sent_in_the_order_of_a_parameter_also_after_a_restart(folder: Folder) -> None:
    for order, expected in (("a", [1, 2, 3, 4, 5]), ("-a", [5, 4, 3, 2, 1])):
        folder.write(
            "bag.toml",
            f'command = "echo {{a}} >> sent; sleep 0.6"\norder = "{order}"\n[parameters]\n'
            "a = [3, 1, 5, 2, 4]\n",
        )
        run = folder.start("run", "--quiet", "--again", "--cores", "1", "bag.toml")
        folder.wait_for(lambda: len((folder.path / "sent").read_text().split()) >= 2
                        if (folder.path / "sent").exists() else False)  # fmt: skip
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)
        assert folder.tailrace("resume", "--quiet", "--cores", "1").returncode == 0
        sent = [int(word) for word in (folder.path / "sent").read_text().split()]
        assert list(dict.fromkeys(sent)) == expected
        (folder.path / "sent").unlink()
