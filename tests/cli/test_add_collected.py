"""`tailrace add` to a bag whose files were collected: its tasks could only miss them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import ask
from tests.real.served import serving, worker

BAG = """
command = "cat data {x}"
[inputs]
data = "data"
[parameters]
x = ["/dev/null"]
"""


@pytest.mark.parametrize("runs", [True, False], ids=["a server runs", "none runs"])
def test_nothing_is_added_where_the_files_are_gone(tmp_path: Path, runs: bool) -> None:
    home, bag = tmp_path / "home", BAG.replace('"/dev/null"]', '"/dev/null", "/etc/hostname"]')
    home.mkdir()
    (home / "data").write_text("of ada")
    (home / "bag.toml").write_text(BAG)
    join = home / "join"
    with serving(tmp_path) as server:
        lab = server.token("lab", "pool")
        assert ask(tmp_path, "tokens", "add", "ada", "--user", "--write", str(join)).code == 0
        with worker(tmp_path / "w", TAILRACE_JOIN=lab.text()):
            assert ask(home, "submit", "-q", "--server", "join").out == "1\n"
            assert ask(home, "watch", "-q", "--server", "join").code == 0
        assert "1 bag past 0s" in ask(tmp_path, "gc", "--keep", "0s").out
        (home / "bag.toml").write_text(bag)
        if not runs:
            assert server.end() == 0
        where, at = (home, ["--server", "join"]) if runs else (tmp_path, [])
        refused = ask(where, "add", "1", str(home / "bag.toml"), *at)
        assert refused.code == 2, refused
        assert "the files that came with bag 1 are not on the server any more" in refused.err
        assert "as a bag of their own" in refused.err
