"""What a simulation draws and decides, in files: `--expand`, `--events`, `--trace`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import GRID, ask

from tailrace.simulation.eventsfile import FAMILIES

# All that can be drawn: whoever adds something to draw, adds it here.
EVERYTHING = """
stop = { time = "2d" }
news = { delay = { law = "exponential", mean = "2s" } }

[sites.here]
lan = { rate = "100 MB/s", latency = "1ms" }
up = { law = "exponential", mean = "10h" }
down = { law = "uniform", from = "1m", to = "5m" }
share = 0.5

[network]
storage = { site = "here" }

[pools.spot]
machines = 4
site = "here"
arrivals = { process = "poisson", every = "1m" }
speed = { law = "uniform", from = 1, to = 2 }
spread = { law = "lognormal", median = 1, sigma = 0.1 }
noise = { law = "lognormal", median = 1, sigma = 0.1 }
luck = { law = "lognormal", median = 1, sigma = 0.1 }
up = { law = "exponential", mean = "2h" }
down = { law = "exponential", mean = "10m" }
owner_away = { law = "exponential", mean = "5h" }
owner_there = { law = "exponential", mean = "30m" }
load = { lasts = "30m", share = { law = "uniform", from = 0, to = 0.5 } }
pace = { lasts = "40m", factor = { law = "uniform", from = 1, to = 2 } }
returns = 0.95

[pools.dear]
max = 1
site = "here"
startup = { law = "exponential", mean = "2m" }
ending = 1
never_up = { share = 0.4, after = { law = "exponential", mean = "1m" } }
price = "0.10 USD/h"

[bags.small]
tasks = 60
length = { law = "exponential", mean = "10m" }
arrivals = { process = "daily", per_day = 900, night = 0.2 }
input = { law = "uniform", from = "1 MB", to = "20 MB" }
output = { law = "uniform", from = "1 MB", to = "20 MB" }
checkpoint = { every = "5m", pause = "2s", size = "10 MB" }
draw = "even"
failing = { tasks = 0.05, attempts = 0.05, length = { law = "uniform", from = "1m", to = "9m" } }
order = "shuffled"
matching = "random"
timeout = "2h"
retries = { lost = 20, expired = 20 }
"""


def test_what_was_drawn_is_written_and_gives_the_same_run_again(grid: Path) -> None:
    """By file and by flag; with another seed, because nothing is left to draw."""
    words = ("simulate", "grid.toml", "--seeds", "1", "--json")
    first = ask(grid, *words, "--seed", "7", "--expand", "events.csv").out
    assert ask(grid, *words, "--seed", "7", "--events", "events.csv").out == first
    drawn = (grid / "events.csv").read_text().splitlines()
    assert drawn[0] == "what,number,value"
    assert sum(row.startswith("bag/1/lengths,") for row in drawn) == 60
    (grid / "grid.toml").write_text(f'events = "events.csv"\n{GRID}')
    again = ask(grid, *words, "--seed", "8").json[0]
    assert again["runs"] == msgspec.json.decode(first)[0]["runs"]
    assert again["machines"] == msgspec.json.decode(first)[0]["machines"]


def test_all_that_can_be_drawn_can_be_written_and_read(tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(EVERYTHING)
    words = ("simulate", "all.toml", "--seeds", "1", "--json")
    first = ask(tmp_path, *words, "--expand", "events.csv")
    again = ask(tmp_path, *words, "--events", "events.csv", "--seed", "5")
    assert (first.code, again.code) == (0, 0), again.err
    assert again.json[0]["runs"] == first.json[0]["runs"]
    assert again.json[0]["links"] == first.json[0]["links"] != []
    drawn = {row.split("/")[0] for row in (tmp_path / "events.csv").read_text().splitlines()[1:]}
    assert {name.partition(",")[0] for name in drawn} == set(FAMILIES)


def test_a_file_may_have_a_part_of_it_and_the_rest_is_drawn(grid: Path) -> None:
    lasting = "pools.spot.up.mean=1000d"  # or the long task is lost with its machines
    words = ("simulate", "grid.toml", "--seeds", "1", "--json", "--set", lasting)
    (grid / "long.csv").write_text("what,number,value\nbag/1/lengths,0,36000\n")
    plain, changed = (
        ask(grid, *words).json[0],
        ask(grid, *words, "--events", "long.csv").json[0],
    )
    assert changed["runs"][0]["makespan_s"] == 36000 > plain["runs"][0]["makespan_s"]
    ask(grid, *words, "--expand", "a.csv")
    ask(grid, *words, "--events", "long.csv", "--expand", "b.csv")
    before, after = ((grid / name).read_text().splitlines() for name in ("a.csv", "b.csv"))
    lengths = [
        pair for pair in zip(before, after, strict=False) if pair[0].startswith("bag/1/lengths")
    ]
    assert [a == b for a, b in lengths] == [False] + [True] * 59


@pytest.mark.parametrize(
    ("rows", "line", "says"),
    [
        ("bag/1/lengths,0,5\nbag/1/lengths,2,5", 3, "1 comes next"),
        ("bag/1/lengths,0,-5", 2, "negative"),
        ("bag/1/lengths,0,soon", 2, "not a number"),
        ("bag/2/lengths,0,5", 2, "the bags are 1"),
        ("speeed/spot,0,5", 2, "did you mean speed?"),
        ("speed/sopt,0,5", 2, "the pools are spot, dear"),
        ("speed/spot,0,0", 2, "never do anything"),
        ("scheduler/seed,0,0.5", 2, "a seed is a whole number"),
        ("bag/1/order,0,0.5", 2, "a seed is a whole number"),
        ("speed/spot", 2, "cells"),
        ("arrivals/1,0,50\narrivals/1,1,50\narrivals/1,2,20", 4, "20, earlier than 50 before it"),
        ("machines/spot,0,50\nspeed/spot,0,2\nmachines/spot,1,20", 4, "earlier than 50 before it"),
    ],
)
def test_a_bad_file_of_events_is_told_with_its_line(
    grid: Path, rows: str, line: int, says: str
) -> None:
    (grid / "events.csv").write_text(f"what,number,value\n{rows}\n")
    told = ask(grid, "simulate", "grid.toml", "--events", "events.csv")
    assert told.code == 2 and f"events.csv:{line}: " in told.err and says in told.err


def test_names_that_nothing_is_drawn_under_are_told(grid: Path) -> None:
    """In the second the pool has no `up`; the third is drawn."""
    rows = "bag/1/lenths,0,5\nfailure/dear/0/here,0,5\nfailure/spot/3/here,0,5\n"
    (grid / "events.csv").write_text(f"what,number,value\n{rows}")
    words = ("simulate", "grid.toml", "--seeds", "2", "--events", "events.csv")
    told = ask(grid, *words)
    assert told.code == 0
    says = "bag/1/lenths, but nothing is drawn under that name; did you mean bag/1/lengths?"
    assert says in told.out
    assert ask(grid, *words, "--json").json[0]["never_drawn"] == [
        "bag/1/lenths", "failure/dear/0/here"
    ]  # fmt: skip


def test_a_trace_has_each_event_and_decision_with_its_time(grid: Path) -> None:
    words = ("simulate", "grid.toml", "--seeds", "2")
    told = ask(grid, *words, "--trace", "trace.jsonl", "--json").json[0]
    lines = [msgspec.json.decode(line) for line in (grid / "trace.jsonl").open("rb")]
    times = [line["at_s"] for line in lines]
    assert times == sorted(times) and lines[0]["event"]["type"] == "Restarted"
    sent = [line for line in lines if line.get("decision", {}).get("type") == "Assign"]
    assert len(sent) == told["runs"][0]["attempts"]
    assert max(times) == told["runs"][0]["makespan_s"]
    assert ask(grid, *words, "--trace", "-").out == (grid / "trace.jsonl").read_text()
