"""The key numbers of a run agree with what can be counted by hand."""

from __future__ import annotations

import time
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.bag.outcome import Outcome
from tailrace.report import words
from tailrace.report.failures import group_failures, normalise
from tailrace.report.record import AttemptRecord, HostRecord, LeaseRecord, Record
from tailrace.report.summary import summarise
from tailrace.report.timeline import Timeline

from .runs import S, a_run


def attempt(number: int, sent_s: float, ended_s: float | None, **fields: object) -> AttemptRecord:
    given: dict[str, object] = {
        "index": number,
        "outcome": None if ended_s is None else Outcome.SUCCEEDED,
        "accepted": ended_s is not None,
        "run_us": None if ended_s is None else int((ended_s - sent_s) * S),
        **fields,
    }
    return AttemptRecord(
        attempt=number,
        host="a",
        pool="local",
        sent_us=int(sent_s * S),
        ended_us=None if ended_s is None else int(ended_s * S),
        **given,  # type: ignore[arg-type]
    )


def record(attempts: list[AttemptRecord], *, slots: int = 2, until_s: int = 10) -> Record:
    host = HostRecord(
        host="a", name="a", pool="local", slots=slots, first_seen_us=0, last_seen_us=until_s * S
    )
    good = sum(a.accepted for a in attempts)
    return Record(
        bag=1,
        name="b",
        state="done",
        count=len({a.index for a in attempts}),
        submitted_us=0,
        started_us=0,
        ended_us=until_s * S,
        now_us=until_s * S,
        done=good,
        succeeded=good,
        attempts=attempts,
        hosts=[host],
    )


def test_half_busy_slots_are_half_used() -> None:
    summary = summarise(record([attempt(1, 0, 10)]))
    assert (summary.utilisation, summary.makespan_us, summary.throughput) == (0.5, 10 * S, 0.1)


def test_a_host_is_not_there_between_its_leases() -> None:
    """Interrupted after ten seconds, and resumed an hour later."""
    whole = record([attempt(1, 0, 10), attempt(2, 3600, 3610)], slots=1, until_s=3610)
    up = [(-5 * S, 10 * S), (3600 * S, 3615 * S), (3601 * S, 3602 * S)]
    host = msgspec.structs.replace(whole.hosts[0], up=up)
    summary = summarise(msgspec.structs.replace(whole, hosts=[host]))
    assert summary.hosts[0].present_us == 20 * S and summary.utilisation == 1.0
    assert summary.makespan_us == 3610 * S


def test_waiting_runs_until_the_first_attempt_and_turnaround_from_the_accepted_one() -> None:
    lost = attempt(1, 2, 4, index=7, outcome=Outcome.LOST, accepted=False, run_us=None)
    summary = summarise(record([lost, attempt(2, 5, 9, index=7)]))
    assert summary.waiting is not None and summary.turnaround is not None
    assert (summary.waiting.max_us, summary.turnaround.max_us) == (2 * S, 4 * S)


def test_work_not_accepted_is_waste_with_its_share() -> None:
    bad = attempt(1, 0, 3, outcome=Outcome.TASK_FAILED, exit=1, accepted=False)
    waste = summarise(record([bad, attempt(2, 0, 9)])).waste
    assert (waste.attempts, waste.us, waste.share) == (1, 3 * S, 0.25)


def test_a_bundle_reported_together_is_laid_out_one_after_the_other() -> None:
    bundle = [attempt(i, 0, 2, run_us=S // 2) for i in range(8)]
    timeline = Timeline(record(bundle))
    assert timeline.slots == [2]
    assert sorted(timeline.busy_from.tolist()) == [i * S // 2 for i in range(4) for _ in range(2)]


def test_attempts_waiting_at_their_host_do_not_keep_it_busy() -> None:
    summary = summarise(record([attempt(i, 0, None) for i in range(5)]))
    assert (summary.live, summary.busy_us) == (5, 20 * S)


def test_a_host_without_an_end_of_slots_counts_those_it_used() -> None:
    summary = summarise(record([attempt(1, 0, 10), attempt(2, 0, 10)], slots=1_000_000))
    assert (summary.hosts[0].slots, summary.utilisation) == (2, 1.0)


@given(st.integers(0, 60), st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_no_slot_does_two_things_at_once(tasks: int, hosts: int, slots: int, seed: int) -> None:
    timeline = Timeline(a_run(tasks, hosts, slots, failing=0.3, seed=seed))
    assert timeline.slots == [slots] * hosts
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for host, slot, start, stop in zip(
        timeline.host, timeline.slot, timeline.busy_from, timeline.busy_until, strict=True
    ):
        rows.setdefault((host, slot), []).append((start, stop))
    for spans in rows.values():
        ordered = sorted(spans)
        assert all(a[1] <= b[0] for a, b in pairwise(ordered))


@given(st.integers(0, 60), st.integers(0, 99))
def test_every_done_task_ends_once(tasks: int, seed: int) -> None:
    run = a_run(tasks, failing=0.4, seed=seed)
    assert len(Timeline(run).ends_of_tasks) == run.done == tasks


def test_failures_alike_but_for_numbers_are_one_group() -> None:
    failed = [
        attempt(i, 0, 1, outcome=Outcome.TASK_FAILED, exit=1, error=f"seed {i}: bad 0x{i:x}")
        for i in range(9)
    ]
    other = attempt(9, 0, 1, outcome=Outcome.TASK_FAILED, exit=2, error="seed 9: bad 0x9")
    groups = group_failures([*failed, other], saved={0, 1})
    assert [(g.attempts, g.unsaved, g.exit) for g in groups] == [(9, 7, 1), (1, 1, 2)]
    assert groups[0].text == "seed 0: bad 0x0"
    assert groups[0].examples == [2, 3, 4, 5, 6]


def test_successes_and_attempts_we_stopped_are_no_failures() -> None:
    calm = [attempt(1, 0, 1), attempt(2, 0, 1, outcome=Outcome.CANCELLED), attempt(3, 0, None)]
    assert group_failures(calm, set()) == []


def test_numbers_of_all_kinds_are_made_alike() -> None:
    assert normalise("x=1.5e-3 at 0xDEADbeef, line 12\n") == "x=# at #, line #"


def test_cost_is_added_up_by_currency() -> None:
    lease = {"pool": "p", "state": "gone", "wanted_us": 0}
    leases = [
        LeaseRecord(lease=i, billed_micro=micro, currency=currency, **lease)  # type: ignore[arg-type]
        for i, (micro, currency) in enumerate([(5, "USD"), (7, "USD"), (9, "kWh"), (0, "SU")])
    ]
    bill = summarise(msgspec.structs.replace(record([]), leases=leases))
    assert bill.cost == {"USD": 12, "kWh": 9}


def test_a_hundred_thousand_attempts_are_summarised_fast() -> None:
    run = a_run(100_000, 20, 8)
    start = time.process_time()
    summarise(run)
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 s"),
        (850, "850 µs"),
        (999_499, "999 ms"),
        (1_250_000, "1.25 s"),
        (3_000_001, "3 s"),
        (59_970_000, "1 min"),
        (192 * S, "3 min 12 s"),
        (3599_600_000, "1 h"),
        (86_399 * S, "1 day"),
        (53 * 3600 * S, "2 days 5 h"),
    ],
)
def test_durations_are_rounded_to_what_matters(us: int, text: str) -> None:
    assert words.duration(us) == text


@pytest.mark.parametrize(
    ("part", "text"), [(0.0, "0 %"), (1e-6, "< 0.1 %"), (0.9999, "> 99.9 %"), (1.0, "100 %")]
)
def test_shares_are_never_rounded_to_all_or_nothing(part: float, text: str) -> None:
    assert words.share(part) == text


def test_an_empty_bag_has_a_summary() -> None:
    summary = summarise(a_run(0))
    assert (summary.attempts, summary.run, summary.cost) == (0, None, {})
    assert (summary.makespan_us, summary.throughput) == (0, None)
