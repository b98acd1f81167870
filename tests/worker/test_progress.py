"""How far tasks are: what is understood, when it is sent, and that it never does harm."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.worker.effects import Call
from tailrace.worker.progress import NotUnderstood, understand
from tailrace.worker.tidings import EVERY

from .conftest import Worker
from .scripted_desk import Json, ScriptedDesk
from .test_agent import S, kinds, only, reply, running, succeeded


@pytest.mark.parametrize(
    ("line", "share", "text"),
    [
        ("0.37", 0.37, ""),
        ("1", 1.0, ""),
        (".5", 0.5, ""),
        ("5e-1", 0.5, ""),
        ("37 %", 0.37, ""),
        ("37%: epoch 3", 0.37, "epoch 3"),
        ("370/1000", 0.37, ""),
        ("370 / 1000 steps", 0.37, "steps"),
        ("0.5 half of it, 100 % soon", 0.5, "half of it, 100 % soon"),
        ("0", 0.0, ""),
    ],
)
def test_shares_of_several_forms_are_understood(line: str, share: float, text: str) -> None:
    found, beside = understand(line)
    assert found == pytest.approx(share) and beside == text


@pytest.mark.parametrize(
    "line", ["soon", "-0.1", "1.5", "37", "101 %", "3/2", "1/0", "0.5.1", "0.5x", "nan", "1e999"]
)
def test_what_is_no_share_is_not_understood_and_quoted(line: str) -> None:
    with pytest.raises(NotUnderstood, match=f"'{line}"):
        understand(line)


def report(attempt: int, done: float, ran_s: float) -> dict[str, Any]:
    return {"attempt": attempt, "done": done, "ran_us": int(ran_s * S), "cpu_us": 0, "text": ""}


def told(call: Call) -> list[tuple[int, float]]:
    return [(one["attempt"], one["done"]) for one in call.body["progress"]]


def test_it_is_sent_at_once_and_then_once_in_a_few_seconds() -> None:
    one, _ = running(1, 2)
    call = only(one.progressed([report(1, 0.1, 1)], 10 * S), Call)
    assert told(call) == [(1, 0.1)] and call.body["wait_s"] > 0
    assert one.progressed([report(1, 0.2, 2)], 11 * S) == []
    assert one.progressed([report(2, 0.3, 2), report(1, 0.4, 4)], 13 * S) == []
    assert one.next_wakeup() == 10 * S + EVERY
    assert told(only(one.wake(10 * S + EVERY), Call)) == [(1, 0.4), (2, 0.3)]


def test_a_call_made_anyway_takes_it_along_but_not_of_what_has_ended() -> None:
    one, _ = running(1, 2)
    only(one.progressed([report(1, 0.1, 1)], 10 * S), Call)
    one.progressed([report(1, 0.9, 2), report(2, 0.3, 2)], 11 * S)
    call = only(one.ended(1, succeeded(1), 12 * S), Call)
    assert told(call) == [(2, 0.3)]
    one.replied(call.seq, reply(call.seq, ack=[1]), 12 * S)
    assert told(only(one.wake(13 * S), Call)) == [], "what was heard is not told again"


def test_after_a_failed_call_all_is_told_again_and_how_old_it_is() -> None:
    """It may be another server: the newest of each, also what the last one had heard."""
    one, _ = running(1, 2)
    call = only(one.progressed([report(1, 0.1, 1), report(2, 0.2, 1)], 10 * S), Call)
    one.replied(call.seq, reply(call.seq), 30 * S)
    call = only(one.wake(31 * S), Call)
    assert told(call) == []
    call = only(one.progressed([report(1, 0.5, 2)], 32 * S), Call)
    one.call_failed(call.seq, None, None, 33 * S)
    again = only(one.wake(40 * S), Call)
    assert told(again) == [(1, 0.5), (2, 0.2)]
    assert [one["ago_us"] for one in again.body["progress"]] == [8 * S, 30 * S]


def test_what_a_call_carried_that_was_pushed_aside_goes_with_the_next() -> None:
    one, _ = running(1, 2)
    only(one.progressed([report(1, 0.1, 1)], 10 * S), Call)
    call = only(one.ended(2, succeeded(2), 11 * S), Call)
    assert told(call) == [(1, 0.1)]


def test_a_call_refused_as_unreadable_is_not_repeated_with_the_same() -> None:
    one, _ = running(1)
    call = only(one.progressed([report(1, 0.1, 1)], 10 * S), Call)
    one.call_failed(call.seq, 400, None, 11 * S)
    assert told(only(one.wake(20 * S), Call)) == []


def test_news_of_strangers_and_while_it_leaves_make_no_call() -> None:
    one, _ = running(1)
    assert one.progressed([report(77, 0.1, 1)], 10 * S) == []
    assert kinds(one.stopping("SIGTERM", 11 * S)) == ["Kill", "Abandon"]
    assert one.progressed([report(1, 0.1, 1)], 12 * S) == []


def reports(desk: ScriptedDesk, attempt: int) -> list[Json]:
    told = [one for call in desk.calls for one in call["progress"]]
    return [one for one in told if one["attempt"] == attempt]


def test_a_real_task_tells_while_it_runs(desk: ScriptedDesk, worker: Worker) -> None:
    """Nonsense, or a share that it appends; what it wrote goes when it has ended."""
    write = 'echo soon > "$TAILRACE_PROGRESS"; sleep 600'
    work = 'seq 9000000 > /dev/null; echo 1/4 > "$TAILRACE_PROGRESS"'
    append = f'{work}; echo 3/4 last >> "$TAILRACE_PROGRESS"; sleep 600'
    desk.add({"attempt": 1, "shell": write}, {"attempt": 2, "shell": append})
    desk.wait_until(lambda: reports(desk, 1) and reports(desk, 2))
    assert reports(desk, 1)[0]["done"] is None and "'soon'" in reports(desk, 1)[0]["text"]
    said = reports(desk, 2)[0]
    assert (said["done"], said["text"]) == (0.75, "last")
    assert said["cpu_us"] > 0 and said["ran_us"] > 0
    for attempt in (1, 2):
        desk.drop(attempt)
    desk.wait_for(1, 2)
    desk.add({"attempt": 3, "shell": "sleep 1.6"}, {"attempt": 4, "shell": "sleep 1.6"})
    desk.wait_for(3, 4)
    assert not reports(desk, 3) and not reports(desk, 4)
    assert not list(worker.folder.glob("ring/*.progress"))


@pytest.mark.parametrize(
    "harm", ["mkfifo $P", "mkdir $P", "ln -s /dev/zero $P", "head -c 9000000 /dev/zero > $P"]
)
def test_whatever_lies_there_does_no_harm(desk: ScriptedDesk, worker: Worker, harm: str) -> None:
    desk.add({"attempt": 1, "shell": f'P="$TAILRACE_PROGRESS"; {harm}; sleep 1.2; echo done'})
    assert desk.wait_for(1)[0]["stdout"] == "done\n"
    assert all(one["done"] is None for one in reports(desk, 1))
