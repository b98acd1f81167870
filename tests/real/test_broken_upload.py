"""An upload that broke goes on where it stopped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import ask
from tests.real.served import environment, serving, wait_for

from tailrace.worker.blobs import CHUNK

COUNT = 96  # chunks
BAG = 'command = "wc -c data"\ninputs = ["data"]\n'


def test_who_is_killed_while_he_submits_sends_only_the_rest_the_next_time(tmp_path: Path) -> None:
    away, held = tmp_path / "away", tmp_path / ".tailrace/blobs/of/user-ada"
    away.mkdir()
    (away / "data").write_bytes(os.urandom(COUNT * CHUNK))
    (away / "bag.toml").write_text(BAG)
    join = str(away / "ada.join")

    def there() -> int:
        return sum(path.is_file() and path.stat().st_size == CHUNK for path in held.rglob("*"))

    with serving(tmp_path):
        assert ask(tmp_path, "tokens", "add", "ada", "--user", "--write", join).code == 0
        words = [sys.executable, "-m", "tailrace", "submit", "-q"]
        first = subprocess.Popen(words, cwd=away, env=environment({"TAILRACE_SERVER": join}))
        wait_for(lambda: there() >= 4)
        first.kill()
        assert first.wait() < 0, "it was killed, and had not ended"
        sent = there()
        assert ask(away, "status", "--json", TAILRACE_SERVER=join).json["bags"] == []
        told = ask(away, "submit", TAILRACE_SERVER=join)
        assert told.code == 0, told.err
        found = re.search(r"1 file, (\d+) MiB; sent (\d+) MiB", told.out)
        assert found and int(found[1]) == COUNT
        assert 0 < int(found[2]) <= COUNT - sent, "one that was on its way may have come"
