"""Fits against SciPy's and the archive's published ones; traces that are read for them."""

from __future__ import annotations

import csv
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tailrace.bag.tables import read_toml
from tailrace.errors import BadInput
from tailrace.simulation.draws import Streams
from tailrace.simulation.fitting import FAMILIES, Observed, best_fit, fit, fits, log_likelihood
from tailrace.simulation.laws import Empirical, Exponential, Gamma, Law, Lognormal, Weibull
from tailrace.simulation.reading import read_scenario
from tailrace.simulation.samples import read_samples
from tailrace.simulation.traces import (
    Change,
    Interval,
    availability,
    lengths_s,
    lifetime_law,
    read_fta,
    read_lifetimes,
    read_pool_trace,
)

TRUE: dict[str, Law] = {
    "exponential": Exponential(5.0),
    "weibull": Weibull(0.6, 5.0),
    "lognormal": Lognormal(1.0, 1.3),
    "gamma": Gamma(0.4, 20.0),
}
THEIRS: dict[str, Any] = {
    "exponential": stats.expon,
    "weibull": stats.weibull_min,
    "lognormal": stats.lognorm,
    "gamma": stats.gamma,
}


def numbers(law: Law) -> tuple[float, ...]:
    return tuple(getattr(law, name) for name in law.__struct_fields__)


def sample(family: str, count: int = 1500) -> np.ndarray:  # type: ignore[type-arg]
    return TRUE[family].draw(Streams(9).stream(family).array(count))


def by_scipy(family: str, data: Any) -> tuple[float, ...]:
    found = THEIRS[family].fit(data, floc=0)
    if family == "lognormal":
        return math.log(found[2]), found[0]
    return (found[1],) if family == "exponential" else (found[0], found[2])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fit_is_the_one_scipy_finds(family: str) -> None:
    values = sample(family)
    found = fit(family, values)
    assert numbers(found.law) == pytest.approx(by_scipy(family, values), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fit_with_censoring_is_the_one_scipy_finds(family: str) -> None:
    values, limits = sample(family), TRUE["exponential"].draw(Streams(10).stream("x").array(1500))
    seen, censored = np.minimum(values, limits), values > limits
    found = fit(family, seen, censored)
    data = stats.CensoredData.right_censored(seen, censored)
    assert 0.2 < censored.mean() < 0.8
    assert numbers(found.law) == pytest.approx(by_scipy(family, data), rel=5e-3, abs=5e-3)
    assert numbers(found.law) == pytest.approx(numbers(TRUE[family]), rel=0.15)


@pytest.mark.parametrize("family", FAMILIES)
def test_likelihoods_are_those_of_the_law(family: str) -> None:
    values = sample(family, 100)
    parameters = numbers(TRUE[family])
    if family == "lognormal":
        law = stats.lognorm(parameters[1], scale=math.exp(parameters[0]))
    else:
        law = THEIRS[family](*parameters[:-1], scale=parameters[-1])
    seen = Observed.of(values, values > np.median(values))
    expected = law.logpdf(seen.ended).sum() + law.logsf(seen.longer).sum()
    assert log_likelihood(TRUE[family], seen) == pytest.approx(expected)


@pytest.mark.parametrize("family", ["weibull", "lognormal", "gamma"])
def test_the_right_family_is_chosen(family: str) -> None:
    values = sample(family)
    assert best_fit(values).family == family
    aics = [one.aic for one in fits(values)]
    assert len(aics) == 4 and all(one <= other for one, other in pairwise(aics))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=12, unique=True),
    st.sampled_from(sorted(FAMILIES)),
    st.floats(0.9, 1.1),
)
def test_no_law_nearby_is_likelier(values: list[float], family: str, change: float) -> None:
    marks = [False, False, *[True] * (len(values) - 2)]
    found = fit(family, values, marks)
    nearby = type(found.law)(*(number * change for number in numbers(found.law)))
    slack = 1e-6 * abs(found.log_likelihood) + 1e-6
    assert log_likelihood(nearby, Observed.of(values, marks)) <= found.log_likelihood + slack


def test_time_may_be_in_any_unit() -> None:
    values = sample("weibull", 300)
    hours, seconds = fit("weibull", values).law, fit("weibull", values * 3600).law
    assert isinstance(hours, Weibull) and isinstance(seconds, Weibull)
    assert seconds.shape == pytest.approx(hours.shape)
    assert seconds.scale == pytest.approx(hours.scale * 3600)


@pytest.mark.parametrize(
    ("values", "marks", "told"),
    [
        ([1.0, 0.0, 2.0], None, "drop those of no length"),
        ([1.0, math.inf], None, "above 0"),
        ([3.0, 3.0], None, "two different values"),
        ([3.0, 4.0], [True, False], "two different values"),
        ([3.0, 4.0], [True], "2 values but 1 marks"),
    ],
)
def test_what_cannot_be_fitted_is_told(
    values: list[float], marks: list[bool] | None, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        best_fit(values, marks)


# Traces

FTA = """\
# event_id component_id node_id platform_id node_name event_type start stop reason
0 0 7 1 a.1 0 100 160 NULL
1 0 7 1 a.1 1 160 400 12
2 0 8 1 a.2 1 90 100 NULL
3 0 7 1 a.1 0 400 400 NULL
4 0 7 1 a.1 1 0 100 NULL
"""


def put(tmp_path: Path, text: str) -> Path:
    (tmp_path / "trace").write_text(text)
    return tmp_path / "trace"


def test_a_failure_trace_gives_the_intervals_of_each_node(tmp_path: Path) -> None:
    nodes = read_fta(put(tmp_path, FTA), "trace")
    assert list(nodes) == ["7", "8"]
    assert nodes["7"][:2] == [Interval(0, 100, True), Interval(100, 160, False)]
    assert lengths_s(nodes.values(), up=True) == [100, 240, 10]
    assert lengths_s(nodes.values(), up=False) == [60]
    assert availability(nodes["7"]) == pytest.approx(340 / 400)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# only a header\n", "trace: there is no event"),
        ("# h\n0 0 7 1 a 2 1 2 NULL\n", "trace:2: event_type is '2'\n.*1 is available"),
        ("0 0 7\n", "trace:1: this line has 3 fields"),
        ("0 0 7 1 a 1 soon 2 NULL\n", "trace:1: 'soon' is not a time"),
        ("0 0 7 1 a 1 5 2 NULL\n", "trace:1: the event ends at 2, before it began"),
    ],
)
def test_a_bad_failure_trace_names_the_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        read_fta(put(tmp_path, text), "trace")


def test_lifetimes_of_machines_their_user_stopped_are_censored(tmp_path: Path) -> None:
    text = "vm,lifetime_s,end_kind\na,10,preempted\nb,20,stopped\nc,30,preempted\n"
    found = read_lifetimes(put(tmp_path, text), "trace")
    assert found.values.tolist() == [10, 20, 30]
    assert found.censored.tolist() == [False, True, False]
    assert lifetime_law(found).mean() == pytest.approx(10 / 3 + 30 * 2 / 3)


def test_a_pool_trace_gives_events_sizes_and_lifetimes(tmp_path: Path) -> None:
    text = "0,add,a\n0,add,b\n1500,remove,a\n2000,add,a\n5000,remove,b\n"
    trace = read_pool_trace(put(tmp_path, text), "trace")
    assert trace.events[2] == (1_500_000, Change.REMOVE, "a")
    assert trace.sizes() == [(0, 2), (1_500_000, 1), (2_000_000, 2), (5_000_000, 1)]
    lives = trace.lifetimes()
    assert lives.values.tolist() == [1.5, 5.0, 3.0]
    assert lives.censored.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "trace: there is no event"),
        ("0,add,a\n5,add,a\n", "trace:2: a is there already"),
        ("0,add,a\n5,remove,b\n", "trace:2: b is not there"),
        ("9,add,a\n5,add,b\n", "trace:2: this event is earlier"),
        ("0,join,a\n", "trace:1: 'join' is neither add nor remove\n.*milliseconds"),
        ("0,add\n", "trace:1: this line has 2 fields"),
        ("x,add,a\n", "trace:1: 'x' is not a time"),
    ],
)
def test_a_bad_pool_trace_names_the_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        read_pool_trace(put(tmp_path, text), "trace")


WORKFLOW = """\
{"name": "small", "workflow": {"specification": {}, "execution": {"tasks": [
  {"id": "a", "runtimeInSeconds": 2.5, "command": {"program": "split"}},
  {"id": "b", "runtimeInSeconds": 9.25, "command": {"program": "blastall"}},
  {"id": "c", "runtimeInSeconds": 8, "command": {"program": "blastall"}}]}}}
"""


def test_run_times_of_a_recorded_workflow_are_a_law(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(WORKFLOW)
    law = '{ law = "empirical", file = "w.json", column = "blastall" }'
    text = f"[pools.a]\nmachines = 1\n[bags.b]\ntasks = 10\nlength = {law}\n"
    (tasks,) = read_scenario(read_toml(text, "s"), "s", text, tmp_path).bags
    assert isinstance(tasks.lengths, Empirical)
    assert tasks.lengths.values.tolist() == [8.0, 9.25]


@pytest.mark.parametrize(
    ("text", "program", "told"),
    [
        (WORKFLOW, "blastal", "no task ran the program 'blastal'\n.*did you mean blastall"),
        ("{", "x", "w.json: it is no workflow"),
        ('{"workflow": {"tasks": []}}', "x", "it is no workflow: .*execution.*\n.*WfFormat"),
    ],
)
def test_a_bad_workflow_is_told(tmp_path: Path, text: str, program: str, told: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(BadInput, match=told):
        read_samples(tmp_path / "w.json", "w.json", program)


# Real data, when they are there


@pytest.fixture(scope="module")
def data() -> Path:
    folder = os.environ.get("TAILRACE_DATA")
    if not folder:
        pytest.skip("TAILRACE_DATA does not name the folder of real traces")
    return Path(folder)


@pytest.fixture(scope="module")
def lanl(data: Path) -> dict[str, list[Interval]]:
    return read_fta(data / "fta-lanl05/event_trace.tab.gz", "event_trace.tab.gz")


@pytest.mark.parametrize("up", [True, False])
def test_the_published_fits_of_lanl_come_out(
    data: Path, lanl: dict[str, list[Interval]], up: bool
) -> None:
    wanted = "availability" if up else "unavailability"
    hours = np.array(lengths_s(lanl.values(), up=up)) / 3600
    with open(data / "fta-lanl05/fta_published_fits.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["system"] == "lanl05"]
    published = {row["distribution"]: row for row in rows if row["interval"] == wanted}
    assert set(published) == set(FAMILIES)
    for family, row in published.items():
        given = [float(row[key]) for key in ("p1", "p2") if row[key]]
        assert numbers(fit(family, hours).law) == pytest.approx(given, abs=0.0051)


def test_lanl_times_up_are_weibull_and_times_down_lognormal(
    lanl: dict[str, list[Interval]],
) -> None:
    assert best_fit(lengths_s(lanl.values(), up=True)).family == "weibull"
    assert best_fit(lengths_s(lanl.values(), up=False)).family == "lognormal"


def test_preemptible_machines_of_2019(data: Path) -> None:
    found = read_lifetimes(data / "gcp-preemptible-2019/lifetimes.csv", "lifetimes.csv")
    assert (len(found.values), int(found.censored.sum())) == (1442, 725)
    law = lifetime_law(found)
    assert found.values[~found.censored].mean() < law.mean() < 24.1 * 3600
    at = np.array([1.0, 6.0, 12.0, 23.8]) * 3600
    seen = stats.CensoredData.right_censored(found.values, found.censored)
    assert law.cdf(at) == pytest.approx(stats.ecdf(seen).cdf.evaluate(at))
    ended = found.values[~found.censored]
    assert law.cdf(at)[3] < (ended < at[3]).mean()  # those stopped early would have lived longer


@pytest.mark.parametrize(("name", "nodes", "left"), [("p3", 177, 10), ("g4dn", 79, 5)])
def test_spot_pools_that_grow_and_shrink(data: Path, name: str, nodes: int, left: int) -> None:
    trace = read_pool_trace(data / f"bamboo-spot/{name}-trace.csv", f"{name}-trace.csv")
    lives = trace.lifetimes()
    assert (len(lives.values), int(lives.censored.sum())) == (nodes, left)
    assert trace.sizes()[-1][1] == left
    assert lifetime_law(lives).mean() > 0
