"""How a worker finds its server, and what it says when it is taken, or is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.worker.joining import BadJoin, found

from .conftest import Worker, wait_for
from .scripted_desk import ScriptedDesk

MADE = "`tailrace tokens add NAME --pool`"


@pytest.mark.parametrize("status", [401, 403])
def test_a_worker_that_is_refused_never_says_that_it_serves(
    desk: ScriptedDesk, start: Callable[..., Worker], status: int
) -> None:
    desk.fail_with = status
    worker = start()
    assert worker.process.wait(30) == 2
    assert f"({status})" in worker.said and "serves" not in worker.said
    assert "trying again" not in worker.said, "it does not"


def test_a_worker_says_once_that_it_serves_also_where_there_is_nothing_to_do(
    desk: ScriptedDesk, start: Callable[..., Worker]
) -> None:
    desk.fail_with = 503
    worker = start()
    wait_for(lambda: "status 503" in worker.said)
    assert "serves" not in worker.said
    desk.fail_with = None
    wait_for(lambda: f"session 1 serves {desk.url}" in worker.said)
    desk.add({"attempt": 1, "argv": ["true"]})
    desk.wait_for(1)
    assert worker.said.count("serves") == 1


def test_what_is_no_join_text_is_said_to_be_none_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TAILRACE_JOIN", "TAILRACE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BadJoin, match="no server is named"):
        found(None, None)
    monkeypatch.setenv("TAILRACE_TOKEN", "hidden")
    with pytest.raises(BadJoin, match=r"TAILRACE_TOKEN is a token alone.* by --server"):
        found(None, None)
    monkeypatch.setenv("TAILRACE_JOIN", "hidden")
    file = tmp_path / "lab.join"
    file.write_text("hidden")
    file.chmod(0o600)
    for named, place in ((None, "TAILRACE_JOIN"), (str(file), str(file))):
        with pytest.raises(BadJoin) as told:
            found(None, named)
        said = str(told.value)
        assert said.startswith(f"{place} is there, and holds no join text") and MADE in said
        assert "hidden" not in said
    assert found("http://127.0.0.1:1", None).token == "hidden", "beside an address, it is a token"
