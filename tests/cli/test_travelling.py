"""`simulate RUN --until T`: back at a moment of a real run, by its journal."""

from __future__ import annotations

import shutil
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.conftest import ask, tailrace, write_sweep

from tailrace.cli.virtual import stepping
from tailrace.cli.virtual.snapshot import snapshot
from tailrace.report import words
from tailrace.scheduler.timers import Alarm, Timers
from tailrace.server.records import reading


def store(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / ".tailrace" / "store.db")


def settled_by(folder: Path, at_us: int) -> int:
    """From the tables: independent of the journal."""
    query = "SELECT count(*) FROM results JOIN attempts USING (attempt) WHERE ended_us <= ?"
    link = store(folder)
    found = link.execute(query, (at_us,)).fetchone()[0]
    link.close()
    return int(found)


def sent_and_not_ended(folder: Path, at_us: int) -> list[int]:
    query = "SELECT attempt FROM attempts WHERE sent_us <= ? AND ended_us > ? ORDER BY attempt"
    link = store(folder)
    found = [row[0] for row in link.execute(query, (at_us, at_us))]
    link.close()
    return found


def submitted_us(folder: Path) -> int:
    link = reading.open_store(folder / ".tailrace")
    found = reading.bag(link, 1).submitted_us
    link.close()
    return found


def test_at_every_moment_the_journal_tells_what_the_tables_do(swept: Path) -> None:
    begun = submitted_us(swept)
    link = store(swept)
    moments = [row[0] for row in link.execute("SELECT ended_us FROM attempts ORDER BY ended_us")]
    link.close()
    for at_us in (begun, *moments, moments[-1] - 1, moments[0] - 1):
        told = ask(swept, "simulate", ".", "--until", f"{at_us - begun}us", "--json").json
        then = told["then"]
        assert then["bag"]["done"] == settled_by(swept, at_us)
        held = [one["attempt"] for host in then["hosts"] for one in host["holds"]]
        assert sorted(held) == sent_and_not_ended(swept, at_us)
        assert then["bag"]["live"] == len(held)
        assert then["bag"]["left"] == 6 - then["bag"]["done"]
        assert told["last_us"] <= at_us and (told["next_us"] or at_us + 1) > at_us


def test_it_prints_bag_hosts_leases_money_and_decisions(swept: Path) -> None:
    told = ask(swept, "simulate", "--until", "0s").out
    assert "6 tasks: 0 done (0 failed), 6 left" in told and "0.6 USD spent" in told
    assert (
        "Acquire lease 1, pool local, bag 1, ends 1 h later" in told
        and "lease 1 is about to enter another paid unit" in told
    )
    end = ask(swept, "simulate", str(swept / ".tailrace"), "--until", "1h").out
    assert "The journal ends here" in end and "6 tasks: 6 done (2 failed), 0 left" in end
    assert "next alarm" not in end and "gone" in end


def test_leases_before_a_restart_are_told_with_their_cost(tmp_path: Path) -> None:
    """A server that starts again lets go of those that are gone: here the first one's."""
    write_sweep(tmp_path)
    assert tailrace(tmp_path, "run", "--quiet", "--price", "0.60 USD/min", "bag.toml").code == 1
    assert ask(tmp_path, "retry", "1").code == 0
    assert tailrace(tmp_path, "resume", "--quiet", "--price", "0.60 USD/min").code == 1
    told = ask(tmp_path, "simulate", "--until", "1h", "--json").json["then"]
    assert [(lease["lease"], lease["state"]) for lease in told["leases"]] == [
        (1, "gone"),
        (2, "gone"),
    ]
    costs = [lease["spent"] for lease in told["leases"]]
    assert min(costs) >= 0.6 and told["money"][0]["spent"] == pytest.approx(sum(costs))


def test_no_alarm_is_told_that_nobody_waits_for(swept: Path) -> None:
    """A pool is asked again, and a bag looked at, only for a bag that has not ended."""
    link = reading.open_store(swept / ".tailrace")
    replay = stepping.replay_of(link)
    alarms = {}
    for _ in replay.steps():
        state = replay.scheduler.state
        timers = state.timers
        if 1 in state.bags:
            state.timers = Timers()
            for alarm, key in ((Alarm.ACQUIRE, "local"), (Alarm.ROUND, 1)):
                state.timers.set(state.now + alarm, alarm, key)
            alarms[bool(state.open)] = snapshot(state, replay.leases, 1, state.now).alarm
            state.timers = timers
    link.close()
    assert alarms[True] is not None and alarms[True].what == "pool local may be asked again"
    assert alarms[False] is None


@pytest.mark.parametrize(
    "flags", [("--set", "bags.sweep.tasks=3"), ("--seeds", "5"), ("--vary", "bags.sweep.tasks=1,2")]
)
@pytest.mark.parametrize("way", [("--until", "1s"), ("--as-scenario", "made.toml")])
def test_what_would_do_nothing_is_refused(
    swept: Path, way: tuple[str, str], flags: tuple[str, str]
) -> None:
    told = ask(swept, "simulate", *way, *flags)
    assert told.code == 2 and f"{flags[0]} does nothing beside {way[0]}\n" in told.err
    assert told.out == "" and not (swept / "made.toml").exists()


def test_it_explains_a_task_and_a_host_as_they_stood(swept: Path) -> None:
    before = ask(swept, "simulate", ".", "--until", "0", "--explain", "1/1").out
    assert "The task was never sent; 6 tasks of the bag wait." in before
    after = ask(swept, "simulate", ".", "--until", "1h", "--explain", "1/1").out
    assert "The task has failed for good." in after
    host = ask(swept, "hosts", "--json").json[0]["host"]
    assert (
        f"Host {host} of pool local"
        in ask(swept, "simulate", "--until", "1h", "--explain", host).out
    )


SOON_US = 20_000  # no worker starts so quickly that the run is over then


def test_a_time_of_the_clock_and_a_duration_are_the_same_moment(swept: Path) -> None:
    begun = submitted_us(swept)
    clock = datetime.fromtimestamp((begun + SOON_US) / 1e6)
    for text in (clock.isoformat(), clock.time().isoformat(), f"{SOON_US / 1e6}s"):
        told = ask(swept, "simulate", "--until", text, "--json").json
        assert not told["past_end"] and abs(told["at_us"] - begun - SOON_US) < 2


def test_moments_that_are_none_or_too_early(swept: Path, tmp_path: Path) -> None:
    early = ask(swept, "simulate", "--until", "2001-01-01 12:00")
    assert early.code == 2 and "too early: the journal begins at" in early.err
    assert words.moment(submitted_us(swept))[:10] in early.err
    before = datetime.fromtimestamp(submitted_us(swept) / 1e6) - timedelta(minutes=2)
    if before.date() == (before + timedelta(minutes=4)).date():  # and not just after midnight
        early = ask(swept, "simulate", "--until", before.time().isoformat())
        assert early.code == 2 and "too early" in early.err
    assert "is no moment" in ask(swept, "simulate", "--until", "soon").err
    assert ask(swept, "simulate", "bag.toml", "--until", "1s").code == 2
    assert "no folder" in ask(swept, "simulate", "nowhere", "--until", "1s").err
    assert "tailrace run" in ask(tmp_path, "simulate", "--until", "1s").err
    assert ask(swept, "simulate", "--explain", "1/1").code == 2


def test_a_bag_that_was_not_there_yet(swept: Path, tmp_path: Path) -> None:
    """Two bags in one journal; the second did not exist when the first began."""
    folder = tmp_path / "two"
    shutil.copytree(swept, folder)
    assert tailrace(folder, "run", "--quiet", "--", "true", ":::", "a").code == 0
    first = words.moment(submitted_us(folder) + 1_000_000)[:19]
    told = ask(folder, "simulate", "--until", first)
    assert told.code == 2 and "bag 2 was not there at" in told.err and "--bag" in told.err
    assert ask(folder, "simulate", "--until", first, "--bag", "sweep").code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM journal", "there is no journal to replay here"),
        ("UPDATE journal SET body = x'93'", "a page cannot be read"),
        ("DELETE FROM journal WHERE n BETWEEN 2 AND 4", "is decided otherwise"),
    ],
)
def test_a_journal_that_is_missing_or_of_another_version(
    copied: Path, change: str, said: str
) -> None:
    with store(copied) as link:
        link.execute(change)
    link.close()
    told = ask(copied, "simulate", "--until", "1h")
    assert told.code in (2, 6) and said in told.err, told.err
    if "page" in said:
        assert said in ask(copied, "replay").err
