"""The report page: says what happened, escapes what users wrote, fetches nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tailrace.bag.outcome import Outcome
from tailrace.report.page import headline, page, write_report
from tailrace.report.poolwork import works
from tailrace.report.record import AttemptRecord, HostRecord, LeaseRecord, Record
from tailrace.report.timeline import Timeline

from .runs import S, a_run

HOSTILE = (
    '<script>alert("x")</script><img src="http://evil.example/a.png" onerror=a> $x$ \x1b[2J &amp;'
)
HOUR = 3600 * S

SHAPES: dict[str, Callable[[], Record]] = {
    "nothing": lambda: a_run(0),
    "one": lambda: a_run(1, 1, 1, failing=0),
    "two short": lambda: a_run(2, 1, 2, mean_us=1000, failing=0),
    "all failed": lambda: a_run(30, failing=1),
    "half-way": lambda: a_run(200, cut_at=0.5),
    "weeks, paid": lambda: a_run(300, 6, mean_us=60 * HOUR, price_micro=1200),
    "many": lambda: a_run(20_000, 120, 8),
}


class Tags(HTMLParser):
    """All tags with their attributes; fails on one left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def external(text: str) -> list[str]:
    """Whatever a browser would fetch."""
    attributes = (
        value
        for _, attrs in Tags(text).found
        for name, value in attrs.items()
        if name in ("src", "href", "xlink:href", "data", "action") and value
    )
    fetched = [value for value in attributes if not value.startswith(("#", "data:"))]
    return fetched + re.findall(r"@import|url\((?!#)[^)]*\)", text)


def hostile(run: Record) -> Record:
    attempts = [msgspec.structs.replace(a, error=HOSTILE, host=HOSTILE) for a in run.attempts]
    hosts = [msgspec.structs.replace(run.hosts[0], host=HOSTILE, name=HOSTILE, kind=HOSTILE)]
    leases = [msgspec.structs.replace(run.leases[0], host=HOSTILE, price=HOSTILE, state=HOSTILE)]
    return msgspec.structs.replace(
        run,
        name=HOSTILE,
        reason=HOSTILE,
        command=HOSTILE,
        folder=HOSTILE,
        needs=HOSTILE,
        state=HOSTILE,
        excluded=[HOSTILE],
        attempts=attempts,
        hosts=hosts,
        leases=leases,
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_page_of_any_shape_is_whole_small_and_fetches_nothing(shape: str) -> None:
    text = page(SHAPES[shape]())
    assert Tags(text).open == []
    assert external(text) == []
    assert len(text) < 3_000_000
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))


def test_the_fetch_check_finds_what_would_be_fetched() -> None:
    assert external('<img src="http://a/b"><style>@import "x"; a {b: url(c)}</style></img>')


def test_what_users_wrote_is_text_and_nothing_else() -> None:
    text = page(hostile(a_run(20, failing=0.5)))
    tags = {tag for tag, _ in Tags(text).found}
    assert "script" not in tags and "img" not in tags
    assert "\x1b" not in text
    assert text.count("&lt;script&gt;alert(&quot;x&quot;)") >= 8
    assert external(text) == []


def test_the_headline_says_how_it_went() -> None:
    done = Record(
        bag=1,
        name="b",
        state="finished",
        count=1200,
        submitted_us=0,
        started_us=0,
        ended_us=192 * S,
        now_us=200 * S,
        done=1200,
        succeeded=1180,
        failed=20,
        attempts=[_attempt("a", 0), _attempt("b", 1)],
    )
    assert headline(done) == "b: 1,180 of 1,200 tasks succeeded, 20 failed, in 3 min 12 s"
    late = msgspec.structs.replace(done, deadline_us=100 * S, taken=3)
    assert headline(late) == (
        "b: 1,180 of 1,200 tasks succeeded (3 before), 20 failed, in 3 min 12 s, "
        "its deadline missed by 1 min 32 s"
    )
    half = msgspec.structs.replace(done, ended_us=None, succeeded=480, state="paused", reason="why")
    assert headline(half) == "b: 480 of 1,200 tasks succeeded, 20 failed; paused: why"


def _attempt(host: str, index: int) -> AttemptRecord:
    return AttemptRecord(attempt=index, index=index, host=host, pool="p", sent_us=S)


def test_the_page_shows_cost_only_where_something_cost() -> None:
    assert "Cost over time" in page(a_run(20, price_micro=100))
    assert "Cost over time" not in page(a_run(20))


def test_the_page_says_what_came_of_the_machines_of_each_pool() -> None:
    run = a_run(400, 6, failing=0.1)
    text = page(run)
    assert "Machines of each pool" in text
    assert "pool local (most 3)" in text and "pool spot (most 3)" in text
    shown = re.sub(r"<[^>]*>", " ", text.partition("<h2>Pools</h2>")[2].partition("<h2>")[0])
    for name in ("local", "spot"):
        theirs = [one for one in run.attempts if one.pool == name]
        lost = sum(one.outcome is Outcome.LOST for one in theirs)
        assert lost and re.search(rf"{name}\s.*\b{lost} lost", shown), shown
    assert "Machines of each pool" not in page(a_run(20, 1)), "one machine is no curve"


def test_the_pools_of_a_bag_are_reckoned_from_its_own_attempts() -> None:
    run = a_run(300, 2, 4, failing=0)
    local, spot = works(Timeline(run))
    assert (local.pool, spot.pool, local.finished + spot.finished) == ("local", "spot", 300)
    assert local.most == spot.most == 1 and local.failures == {}
    # Four slots of each are always busy, but for the end.
    assert 3 < (local.dedicated_cores or 0) <= 4.1
    first_us = min(one.sent_us for one in run.attempts if one.lease == run.leases[0].lease)
    assert local.first_task_us == first_us - run.leases[0].wanted_us


def test_failures_are_shown_with_their_text_and_example_tasks() -> None:
    text = page(a_run(60, failing=0.5))
    assert "ValueError: alpha must be positive, got -" in text
    assert re.search(r"task \d+, \d+", text)


def test_a_report_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "report.html"
    write_report(a_run(3), target)
    before = target.read_text()
    with pytest.raises(AttributeError):
        write_report(None, target)  # type: ignore[arg-type]
    assert target.read_text() == before
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]


TIMES = st.integers(-(2**40), 2**45)
TEXT = st.text(max_size=8)
MAYBE = st.none() | st.integers(0, 2**44)

ATTEMPTS = st.builds(
    AttemptRecord, attempt=st.integers(0, 99), index=st.integers(0, 9),
    host=st.sampled_from("abc"), pool=TEXT, sent_us=TIMES, ended_us=st.none() | TIMES,
    outcome=st.sampled_from([None, *Outcome]), exit=st.none() | st.integers(-9, 255),
    run_us=MAYBE, accepted=st.booleans(), error=TEXT,
)  # fmt: skip
HOSTS = st.builds(
    HostRecord, host=st.sampled_from("abcd"), name=TEXT, pool=TEXT, slots=st.integers(0, 300),
    cores=st.integers(0, 10**6), memory=st.integers(0, 2**50), first_seen_us=TIMES,
    last_seen_us=TIMES,
)  # fmt: skip
LEASES = st.builds(
    LeaseRecord, lease=st.integers(0, 9), pool=TEXT, host=st.none() | TEXT, state=TEXT,
    wanted_us=TIMES, up_us=st.none() | TIMES, gone_us=st.none() | TIMES,
    units=st.integers(0, 10**6), billed_micro=st.integers(0, 2**50),
    currency=st.sampled_from(["USD", "$"]),
)  # fmt: skip
RECORDS = st.builds(
    Record, bag=st.integers(0, 9), name=TEXT, state=TEXT, count=st.integers(0, 40),
    submitted_us=TIMES, started_us=st.none() | TIMES, ended_us=st.none() | TIMES, now_us=TIMES,
    done=st.integers(0, 40), succeeded=st.integers(0, 40), failed=st.integers(0, 40),
    budget=st.dictionaries(st.just("USD"), st.integers(1, 2**50)), deadline_us=MAYBE,
    attempts=st.lists(ATTEMPTS, max_size=8), hosts=st.lists(HOSTS, max_size=3),
    leases=st.lists(LEASES, max_size=3),
)  # fmt: skip


@pytest.mark.filterwarnings("error")
@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(RECORDS)
def test_no_record_however_odd_breaks_the_page(record: Record) -> None:
    assert Tags(page(record)).open == []


def test_a_real_browser_shows_the_page_and_asks_the_network_for_nothing(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs Debian's package chromium")
    write_report(hostile(a_run(60, failing=0.3, price_micro=100)), tmp_path / "r.html")
    seen = _browse(browser, tmp_path, tmp_path / "r.html")
    assert "What went wrong" in seen.stdout
    assert "CONSOLE" not in seen.stderr
    assert _asked_for(tmp_path / "net.json") == set()


def test_the_browser_check_sees_requests_and_console_errors(tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs Debian's package chromium")
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://127.0.0.1:9/x.png"><script>console.error("oh")</script>')
    seen = _browse(browser, tmp_path, bad)
    assert "CONSOLE" in seen.stderr
    assert _asked_for(tmp_path / "net.json") == {"http://127.0.0.1:9/x.png"}


def _asked_for(log: Path) -> set[str]:
    """What the page asked for; a browser's own errands have no origin."""
    found = re.findall(r'"initiator":"([^"]*)".*?"url":"([^"]*)"', log.read_text())
    return {url for initiator, url in found if initiator != "not an origin"}


def _browse(browser: str, folder: Path, file: Path) -> subprocess.CompletedProcess[str]:
    flags = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
        --disable-background-networking --disable-component-update --disable-sync
        --disable-default-apps --disable-extensions --enable-logging=stderr --dump-dom"""
    nowhere = "--host-resolver-rules=MAP * ~NOTFOUND"  # nor may the browser itself go out
    return subprocess.run(
        [browser, *flags.split(), nowhere, f"--user-data-dir={folder / 'profile'}",
         f"--log-net-log={folder / 'net.json'}", file.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
