"""A store that was set back: what is still under way from the life it forgot counts for nothing."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import ask
from tests.server.spoken import spoken


def test_a_worker_from_before_a_restore_gives_its_result_to_no_other_task(tmp_path: Path) -> None:
    with spoken(tmp_path) as server:
        assert ask(tmp_path, "backup", "copy").code == 0
        server.submit("echo old", env={"A": "old"})
        (old,) = server.work()[1]["start"]
    for beside in (tmp_path / ".tailrace").glob("store.db*"):
        beside.unlink()
    (tmp_path / "copy/store.db").rename(tmp_path / ".tailrace/store.db")
    with spoken(tmp_path) as server:
        bag = server.submit("echo new", env={"A": "new"})
        assert bag == old["bag"]
        number = old["attempt"]
        _, told = server.work(seq=7, held=[number], known=[bag])
        (new,) = told["start"]
        assert told["drop"] == [number]
        assert told["bags"][str(bag)]["env"]["A"] == "new"  # not what it has under that number
        result = {"attempt": number, "outcome": "succeeded", "stdout": "old\n"}
        _, told = server.work(seq=8, held=[new["attempt"]], results=[result], known=[bag])
        assert told["ack"] == [number] and told["bags"] == {}
        done = {"attempt": new["attempt"], "outcome": "succeeded", "stdout": "new\n"}
        server.work(seq=9, results=[done])
        ((told),) = server.call("GET", f"/api/v1/bags/{bag}/results")[1]
        assert told["result"]["stdout"] == "new\n"
        assert new["attempt"] < 2**53
