"""The agent's rules, one sentence each; time is in microseconds and passes only when told."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.worker.agent import EXIT_OUTDATED, NOW_AND_THEN, Agent
from tailrace.worker.effects import Abandon, Call, Effects, Exit, Forget, Kill, Spool, Start
from tailrace.worker.refusal import PATIENCE
from tailrace.worker.results import unstarted

S = 1_000_000
IDENTITY = {"host": "h", "pool": "local", "lease": None, "kind": "k", "about": {}}


def agent(cores: int = 2, spooled: Any = (), **more: Any) -> Agent:
    return Agent(IDENTITY, {"cores": cores * 1000}, 7, spooled, 0, **more)


def reply(seq: int, *start: int, **more: Any) -> dict[str, Any]:
    orders = [{"attempt": n, "bag": 1, "index": n, "argv": ["x"]} for n in start]
    bags = {"1": {"needs": {"cores": 1000}, "grace_s": 2}}
    return {"seq": seq, "start": orders, "bags": bags, **more}


def succeeded(attempt: int, run_us: int = 5 * S) -> dict[str, Any]:
    return unstarted(attempt, "succeeded", "") | {"run_us": run_us, "exit": 0}


def kinds(effects: Effects) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def only(effects: Effects, kind: type) -> Any:
    found = [effect for effect in effects if isinstance(effect, kind)]
    assert len(found) == 1, effects
    return found[0]


def started(effects: Effects) -> list[int]:
    return [effect.attempt for effect in effects if isinstance(effect, Start)]


def running(*attempts: int, **more: Any) -> tuple[Agent, int]:
    """An agent with these attempts and a call in hand; also that call's number."""
    one = agent(**more)
    call = only(one.wake(0), Call)
    one.replied(call.seq, reply(call.seq, *attempts), 0)
    due = one.next_wakeup()
    assert due is not None
    return one, only(one.wake(due), Call).seq


def test_the_first_call_says_who_and_what_is_there() -> None:
    body = only(agent().wake(0), Call).body
    assert body == {
        **IDENTITY, "protocol": 2, "session": 7, "seq": 1, "capacity": {"cores": 2000},
        "held": [], "known": [], "results": [], "progress": [], "wait_s": 0,
    }  # fmt: skip


def test_attempts_start_in_order_as_they_fit_and_a_large_one_is_not_passed() -> None:
    one = agent(cores=3)
    seq = only(one.wake(0), Call).seq
    orders = reply(seq, 1, 2, 3)
    orders["start"][1]["needs"] = {"cores": 3000}
    assert started(one.replied(seq, orders, 0)) == [1]
    assert started(one.ended(1, succeeded(1), 1)) == [2]
    assert started(one.ended(2, succeeded(2), 2)) == [3]


def test_needs_of_an_attempt_replace_those_of_its_bag() -> None:
    one = agent(cores=2)
    seq = only(one.wake(0), Call).seq
    orders = reply(seq, 1, 2)
    orders["start"][0]["needs"] = {"cores": 2000}
    assert started(one.replied(seq, orders, 0)) == [1]


def test_an_attempt_that_can_never_fit_is_the_hosts_failure() -> None:
    one = agent(cores=1)
    seq = only(one.wake(0), Call).seq
    orders = reply(seq, 1, 2)
    orders["start"][0]["needs"] = {"cores": 1000, "gpus": 1000}
    effects = one.replied(seq, orders, 0)
    assert only(effects, Spool).result["outcome"] == "host_failed"
    assert started(effects) == [2]


def test_a_result_is_spooled_then_sent_and_forgotten_when_acknowledged() -> None:
    one, seq = running(1)
    effects = one.ended(1, succeeded(1), 10 * S)
    assert kinds(effects) == ["Spool", "Abandon", "Call"]
    assert effects[1] == Abandon(seq)
    call = only(effects, Call)
    assert call.body["held"] == [] and [r["attempt"] for r in call.body["results"]] == [1]
    effects = one.replied(call.seq, reply(call.seq, ack=[1]), 10 * S)
    assert effects[0] == Forget((1,))


def test_a_result_not_acknowledged_is_sent_again_but_not_in_a_hurry() -> None:
    one, _ = running(1)
    call = only(one.ended(1, succeeded(1), S), Call)
    assert one.replied(call.seq, reply(call.seq), S) == []
    due = one.next_wakeup()
    assert due is not None and due > S
    assert [r["attempt"] for r in only(one.wake(due), Call).body["results"]] == [1]


def test_only_the_reply_to_the_newest_call_is_obeyed_and_once() -> None:
    one, old = running(1)
    new = only(one.ended(1, succeeded(1), S), Call).seq
    assert one.replied(old, reply(old, 2, ack=[1]), S) == []
    assert started(one.replied(new, reply(new, 3), S)) == [3]
    assert one.replied(new, reply(new, 4), S) == []


def test_a_start_of_what_is_held_or_kept_is_ignored() -> None:
    one, seq = running(1, 2, 3)  # two run, one is queued
    assert started(one.replied(seq, reply(seq, 1, 2, 3), S)) == []
    assert sorted(one.held) == [1, 2, 3]
    effects = one.ended(1, succeeded(1), 2 * S)
    assert started(effects) == [3]
    seq = only(effects, Call).seq
    assert started(one.replied(seq, reply(seq, 1), 2 * S)) == []
    assert one.ended(2, succeeded(2), 3 * S)
    assert 1 not in one.running


def test_dropping_a_queued_attempt_forgets_it_without_a_word() -> None:
    one, seq = running(1, 2, 3)
    effects = one.replied(seq, reply(seq, drop=[3, 99]), S)
    assert not [e for e in effects if isinstance(e, (Kill, Spool))]
    assert sorted(one.held) == [1, 2]


def test_dropping_a_running_attempt_kills_it_once_and_reports_it_cancelled() -> None:
    one, seq = running(1)
    assert only(one.replied(seq, reply(seq, drop=[1]), S), Kill) == Kill(1, 2.0, "cancelled")
    due = one.next_wakeup()
    assert due is not None
    seq = only(one.wake(due), Call).seq
    assert not [e for e in one.replied(seq, reply(seq, drop=[1]), due) if isinstance(e, Kill)]
    effects = one.ended(1, succeeded(1) | {"outcome": "task_failed", "signal": 15}, 2 * S)
    assert only(effects, Spool).result["outcome"] == "cancelled"


def test_what_succeeded_before_it_heard_of_its_end_stays_a_success() -> None:
    one, seq = running(1)
    one.replied(seq, reply(seq, drop=[1]), S)
    assert only(one.ended(1, succeeded(1), S), Spool).result["outcome"] == "succeeded"


def test_while_plenty_is_queued_results_are_gathered() -> None:
    one, _ = running(*range(1, 101))
    now = S
    for attempt in range(1, 21):
        now += 1000
        assert "Call" not in kinds(one.ended(attempt, succeeded(attempt), now))
    due = one.next_wakeup()
    assert due == S + 1000 + S // 4
    assert len(only(one.wake(due), Call).body["results"]) == 20


def test_results_are_sent_when_the_queue_has_shrunk_to_half() -> None:
    one, _ = running(*range(1, 103))  # two run, a hundred wait
    now, calls = S, []
    for attempt in range(1, 103):
        now += 10
        effects = one.ended(attempt, succeeded(attempt, 10), now)
        for call in [e for e in effects if isinstance(e, Call)]:
            calls.append(len(one.queued))
            acked = [r["attempt"] for r in call.body["results"]]
            one.replied(call.seq, reply(call.seq, ack=acked), now)
    assert calls[0] in (50, 51)
    assert len(calls) < 12


def test_a_call_whose_answer_is_on_its_way_is_not_pushed_aside() -> None:
    one, _ = running(1, 2)
    first = only(one.ended(1, succeeded(1), S), Call)
    assert kinds(one.ended(2, succeeded(2), S + 10)) == ["Spool"]
    effects = one.replied(first.seq, reply(first.seq, ack=[1]), S + 100)
    assert [r["attempt"] for r in only(effects, Call).body["results"]] == [2]


def test_a_call_with_results_that_is_not_answered_is_pushed_aside_after_a_while() -> None:
    one, _ = running(1, 2)
    first = only(one.ended(1, succeeded(1), S), Call)
    one.ended(2, succeeded(2), S + 10)
    due = one.next_wakeup()
    assert due == 3 * S
    effects = one.wake(due)
    assert effects[0] == Abandon(first.seq)
    assert [r["attempt"] for r in only(effects, Call).body["results"]] == [1, 2]


def test_a_call_has_bounded_results_and_the_rest_is_held() -> None:
    large = [succeeded(n) | {"stdout": "x" * (1 << 20)} for n in range(1, 11)]
    one = agent(spooled=large)
    sent: list[int] = []
    effects = one.wake(0)
    while len(sent) < 10:
        body = only(effects, Call).body
        here = [r["attempt"] for r in body["results"]]
        assert 1 <= len(here) <= 4
        assert sorted([*here, *body["held"]]) == [n for n in range(1, 11) if n not in sent]
        sent += here
        effects = one.replied(body["seq"], reply(body["seq"], ack=here), 0)
    assert sent == list(range(1, 11))


def test_a_new_session_reports_what_the_old_one_left() -> None:
    one = agent(spooled=[succeeded(3)])
    call = only(one.wake(0), Call)
    assert [r["attempt"] for r in call.body["results"]] == [3]
    assert started(one.replied(call.seq, reply(call.seq, 3), 0)) == []


def test_back_off_grows_with_jitter_up_to_thirty_seconds() -> None:
    one = agent()
    now, waits = 0, []
    effects = one.wake(0)
    for _ in range(20):
        one.call_failed(only(effects, Call).seq, None, None, now)
        due = one.next_wakeup()
        assert due is not None
        waits.append(due - now)
        now = due
        effects = one.wake(now)
    assert S // 20 <= waits[0] <= S // 10
    assert all(15 * S <= wait <= 30 * S for wait in waits[-5:])
    assert len(set(waits[-5:])) == 5
    other = Agent(dict(IDENTITY, host="other"), {}, 7, (), 0)
    other.call_failed(only(other.wake(0), Call).seq, None, None, 0)
    assert other.next_wakeup() != waits[0]


def test_a_server_that_has_nothing_to_say_at_once_is_asked_ever_less_often() -> None:
    """As it answers the calls of a session that is not the newest."""
    one = agent()
    effects, now, calls = one.wake(0), 0, 0
    while now < 100 * S:
        for call in [effect for effect in effects if isinstance(effect, Call)]:
            calls += 1
            effects = one.replied(call.seq, reply(call.seq), now + 1000)
        due = one.next_wakeup()
        assert due is not None
        now, effects = max(due, now + 1000), [*one.wake(max(due, now + 1000))]
    assert calls < 20
    call = only(effects, Call)
    one.replied(call.seq, reply(call.seq, 1), now)  # news
    due = one.next_wakeup()
    assert due is not None and due <= now + S // 10


def test_a_server_that_kept_the_call_for_its_time_is_called_again_at_once() -> None:
    one = agent()
    call = only(one.wake(0), Call)
    for now in (25 * S, 50 * S, 74 * S):
        call = only(one.replied(call.seq, reply(call.seq), now), Call)


def test_a_server_that_says_when_is_not_asked_before() -> None:
    one = agent()
    one.call_failed(only(one.wake(0), Call).seq, 503, 4.0, 0)
    due = one.next_wakeup()
    assert due is not None and 4 * S <= due <= 6 * S


@pytest.mark.parametrize("status", [400, 413])
def test_a_result_the_server_cannot_read_does_not_hold_up_the_others(status: int) -> None:
    """And its own task ends too: it goes without what the task made."""
    poison = succeeded(6) | {"stdout": "x", "value": 1, "memory": 5, "outputs": [{"name": "o"}]}
    one = agent(spooled=[*map(succeeded, (1, 2, 3, 4, 5)), poison, *map(succeeded, (7, 8, 9))])
    now, arrived, effects = 0, {}, one.wake(0)
    for _ in range(30):
        call = only(effects, Call)
        results = {result["attempt"]: result for result in call.body["results"]}
        assert {*results, *call.body["held"], *arrived} == set(range(1, 10))
        if results.get(6, {}).get("value"):
            spooled = [e.result for e in one.call_failed(call.seq, status, None, now, "too large")
                       if isinstance(e, Spool)]  # fmt: skip
            assert [result["attempt"] for result in spooled] == [6][: len(results) == 1]
        else:
            arrived.update(results)
            effects = one.replied(call.seq, reply(call.seq, ack=list(results)), now)
        if len(arrived) == 9:
            break
        if not [effect for effect in effects if isinstance(effect, Call)] or 6 in results:
            due = one.next_wakeup()
            assert due is not None
            now, effects = due, one.wake(due)
    assert len(arrived) == 9
    text = f"the server refused the result: {status} too large"
    assert arrived[6] == unstarted(6, "succeeded", text) | {
        "run_us": 5 * S, "exit": 0, "memory": 5
    }  # fmt: skip


def test_the_results_of_a_call_are_counted_as_they_are_sent() -> None:
    nuls = [succeeded(n) | {"stdout": "\0" * (1 << 19)} for n in (1, 2)]  # 3 MiB each
    body = only(agent(spooled=nuls).wake(0), Call).body
    assert [result["attempt"] for result in body["results"]] == [1]


def test_tasks_go_on_through_an_outage_and_no_call_is_made_before_its_time() -> None:
    one, seq = running(1, 2, 3)
    for _ in range(8):
        one.call_failed(seq, None, None, S)
        due = one.next_wakeup()
        assert due is not None
        seq = only(one.wake(due), Call).seq
    one.call_failed(seq, None, None, due)
    effects = one.ended(1, succeeded(1), due + 1)
    assert kinds(effects) == ["Spool", "Start"]


def test_a_call_without_an_answer_is_given_up() -> None:
    one = agent()
    seq = only(one.wake(0), Call).seq
    due = one.next_wakeup()
    assert due == 15 * S
    assert one.wake(due) == [Abandon(seq)]
    assert only(one.wake(due + S), Call).seq == 2


def test_it_calls_within_the_time_the_server_asks_for() -> None:
    one = agent()
    seq = only(one.wake(0), Call).seq
    effects = one.replied(seq, reply(seq), 0)
    call = only(effects, Call)
    assert call.body["wait_s"] == 25, "the first alone is answered at once: by that it is taken"
    effects = one.replied(call.seq, reply(call.seq, contact_s=9), 25 * S)
    assert only(effects, Call).body["wait_s"] == 9


@pytest.mark.parametrize("status", [401, 409])
def test_a_refused_worker_exits_with_a_clear_text(status: int) -> None:
    one = agent()
    effects = one.call_failed(only(one.wake(0), Call).seq, status, None, 0)
    assert only(effects, Exit).code == 2 and str(status) in only(effects, Exit).why
    assert one.next_wakeup() is None and one.wake(S) == []


def test_what_runs_ends_although_the_server_refuses_the_token() -> None:
    one, seq = running(1, 2, 3)  # the third waits for room
    effects = one.call_failed(seq, 401, None, S)
    assert kinds(effects) == []
    effects = one.ended(1, succeeded(1), 2 * S)
    assert "Spool" in kinds(effects) and "Start" not in kinds(effects)
    one.ended(2, succeeded(2), 3 * S)
    assert one.gone is None
    due, refused = 3 * S, 0
    while one.gone is None:
        found = one.next_wakeup()
        assert found is not None
        due = max(due, found)
        for call in [effect for effect in one.wake(due) if isinstance(effect, Call)]:
            refused += 1
            one.call_failed(call.seq, 401, None, due)
    assert refused > 10 and due >= 3 * S + PATIENCE
    assert one.gone.code == 2 and "token (401); 2 results stay in the spool" in one.gone.why


def test_a_token_that_holds_again_lets_a_refused_worker_go_on() -> None:
    one, seq = running(1, 2, 3)
    one.call_failed(seq, 401, None, S)
    due = 60 * S
    call = only(one.ended(1, succeeded(1), due), Call)
    assert [result["attempt"] for result in call.body["results"]] == [1]
    assert only(one.replied(call.seq, reply(call.seq, ack=[1]), due), Start).attempt == 3


def test_a_newer_server_s_worker_takes_over_once_nothing_runs_and_results_wait_on_disk() -> None:
    one, seq = running(1, 2)
    assert "Exit" not in kinds(one.call_failed(seq, 409, None, S, "", True))
    assert "Exit" not in kinds(one.ended(1, succeeded(1), 2 * S))
    last = only(one.ended(2, succeeded(2), 3 * S), Exit)
    assert last.code == EXIT_OUTDATED and "2 results stay in the spool" in last.why


def test_an_older_server_is_called_now_and_then_for_ever() -> None:
    one = agent()
    call, now, pauses = only(one.wake(0), Call), 0, []
    for _ in range(40):
        assert "Exit" not in kinds(one.call_failed(call.seq, 409, None, now, "", False))
        due = one.next_wakeup()
        assert due is not None and due > now
        pauses.append(due - now)
        call, now = only(one.wake(due), Call), due
    assert max(pauses) <= NOW_AND_THEN < 4 * pauses[-1]
    assert started(one.replied(call.seq, reply(call.seq, 1), now)) == [1]


def test_stopping_ends_what_runs_hands_back_what_waits_reports_and_exits() -> None:
    one, seq = running(1, 2, 3)
    effects = one.stopping("SIGTERM", S)
    assert [e for e in effects if isinstance(e, Kill)] == [
        Kill(1, 2.0, "preempted"), Kill(2, 2.0, "preempted")
    ]  # fmt: skip
    assert only(effects, Spool).result["outcome"] == "cancelled"
    assert only(effects, Abandon).seq == seq
    call = only(effects, Call)
    assert call.body["capacity"] == {"cores": 0} and call.body["wait_s"] == 0
    assert call.body["held"] == [1, 2] and "leaves" not in call.body
    one.replied(call.seq, reply(call.seq, ack=[3]), S)
    one.ended(1, succeeded(1) | {"outcome": "task_failed"}, S)
    assert one.gone is None
    one.ended(2, succeeded(2) | {"outcome": "task_failed"}, S)
    call_seq = one._line.in_hand
    assert call_seq is not None
    effects = one.replied(call_seq, reply(call_seq, ack=[1]), S + 1)
    call = only(effects, Call)
    assert [r["outcome"] for r in call.body["results"]] == ["preempted"]
    assert call.body["held"] == [] and call.body["leaves"] is True
    effects = one.replied(call.seq, reply(call.seq, ack=[2]), S + 2)
    assert only(effects, Exit) == Exit(0, "SIGTERM")


def test_stopping_while_idle_says_farewell_first() -> None:
    one = agent()
    one.wake(0)
    call = only(one.stopping("SIGTERM", S), Call)
    assert call.body["leaves"] is True
    assert kinds(one.replied(call.seq, reply(call.seq), S)) == ["Exit"]


def test_what_arrives_while_leaving_is_handed_back() -> None:
    one = agent()
    one.wake(0)
    call = only(one.stopping("SIGTERM", S), Call)
    effects = one.replied(call.seq, reply(call.seq, 5), S)
    assert started(effects) == [] and only(effects, Spool).result["outcome"] == "cancelled"
    call = only(effects, Call)
    assert kinds(one.replied(call.seq, reply(call.seq, ack=[5]), S)) == ["Forget", "Exit"]


def test_a_leaving_worker_does_not_wait_long_for_a_silent_server() -> None:
    one, _ = running(1)
    one.stopping("SIGTERM", 0)
    now = S
    one.ended(1, succeeded(1) | {"outcome": "task_failed"}, now)
    while one.gone is None:
        due = one.next_wakeup()
        assert due is not None and due <= 4 * S
        now = max(now, due)
        one.wake(now)
    assert one.gone.code == 0 and "1 results stay in the spool" in one.gone.why


def test_it_exits_when_told_to_by_the_server() -> None:
    one = agent()
    seq = only(one.wake(0), Call).seq
    assert kinds(one.replied(seq, reply(seq, stop="released"), S)) == ["Exit"]
    assert one.gone is not None and one.gone.why == "released"


def test_it_exits_when_idle_for_long_and_only_then() -> None:
    one, _ = running(1, idle_after_s=10)
    one.wake(20 * S)
    assert one.gone is None
    call = only(one.ended(1, succeeded(1), 30 * S), Call)
    one.replied(call.seq, reply(call.seq, ack=[1]), 31 * S)
    assert one.next_wakeup() == 41 * S
    farewell = only(one.wake(41 * S), Call)
    assert only(one.call_failed(farewell.seq, None, None, 41 * S), Exit).why == "idle"


def test_it_ends_tasks_before_its_end_of_life() -> None:
    one, _ = running(1, ends_at=100 * S)
    due = 95 * S  # the grace of the task, and time for the report
    assert not [e for e in one.wake(due - 1) if isinstance(e, Kill)]
    assert only(one.wake(due), Kill).outcome == "preempted"
    assert only(one.wake(100 * S), Exit).code == 0


def test_attempts_ahead_of_the_room_are_few_and_only_short_ones() -> None:
    one, _ = running(*range(1, 101), standby=64)
    assert len(one.running) == 2  # nothing is known of their length yet
    for attempt in range(1, 20):
        one.ended(attempt, succeeded(attempt, 1000), S)
    assert 20 < len(one.running) <= 66
