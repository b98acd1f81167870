"""Laws against scipy.stats, against their own formulas, and as a scenario writes them."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from tailrace.bag.tables import Origin, read_toml
from tailrace.errors import BadInput
from tailrace.simulation.draws import Streams
from tailrace.simulation.laws import (
    Changed,
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Law,
    Levy,
    Lognormal,
    Mixture,
    Normal,
    Place,
    Uniform,
    Weibull,
    read_law,
)
from tailrace.simulation.laws.reading import (
    EXAMPLES,
    FORMS,
    Unit,
    number,
    per_second,
    seconds,
)

MIX = Mixture((2.0, 1.0), (Gamma(3.0, 2.0), Uniform(20.0, 30.0)))

# each law with the same one in scipy.stats, where it has it
REFERENCE: dict[str, tuple[Law, Any]] = {
    "uniform": (Uniform(2.0, 5.0), stats.uniform(2, 3)),
    "exponential": (Exponential(7.0), stats.expon(scale=7)),
    "weibull": (Weibull(0.7, 5.0), stats.weibull_min(0.7, scale=5)),
    "gamma": (Gamma(2.3, 4.0), stats.gamma(2.3, scale=4)),
    "small gamma": (Gamma(0.35, 4.0), stats.gamma(0.35, scale=4)),
    "tiny gamma": (Gamma(0.08, 4.0), stats.gamma(0.08, scale=4)),
    "normal": (Normal(15.0, 2.0), stats.truncnorm(-7.5, math.inf, 15, 2)),
    "cut normal": (Normal(1.0, 2.0), stats.truncnorm(-0.5, math.inf, 1, 2)),
    "far cut normal": (Normal(-4.0, 1.0), stats.truncnorm(4, math.inf, -4, 1)),
    "signed normal": (Normal(0.0, 2.0, -math.inf), stats.norm(0, 2)),
    "lognormal": (Lognormal(1.0, 0.8), stats.lognorm(0.8, scale=math.e)),
    "moved": (Changed(Exponential(2.0), 3.0, 10.0), stats.expon(10, 6)),
}
LAWS = {
    **{name: law for name, (law, _) in REFERENCE.items()},
    "levy": Levy(12.0, 45.0),
    "levy between": Levy(12.0, 45.0, 5.0),
    "endless levy": Levy(12.0),
    "mixture": MIX,
}
units = st.floats(1e-9, 1 - 1e-9)
several = pytest.mark.parametrize("name", LAWS)


def drawn(law: Law, count: int = 20_000) -> np.ndarray[Any, Any]:
    return law.draw(Streams(11).stream("law").array(count))


@pytest.mark.parametrize("name", REFERENCE)
def test_a_law_is_the_one_of_its_name(name: str) -> None:
    law, reference = REFERENCE[name]
    x = reference.ppf(np.linspace(0.001, 0.999, 97))
    assert law.cdf(x) == pytest.approx(reference.cdf(x), abs=1e-12)
    assert law.quantile(reference.cdf(x)) == pytest.approx(x, rel=1e-8)
    assert law.mean() == pytest.approx(reference.mean(), rel=1e-8)
    assert law.variance() == pytest.approx(reference.var(), rel=1e-6)


@several
def test_what_is_drawn_follows_the_law(name: str) -> None:
    law = LAWS[name]
    assert stats.kstest(drawn(law), law.cdf).pvalue > 1e-3


@several
def test_moments_are_those_of_what_is_drawn(name: str) -> None:
    law = LAWS[name]
    if name == "endless levy":
        assert law.mean() == law.variance() == math.inf
        return
    values = drawn(law, 200_000)
    fourth = ((values - values.mean()) ** 4).mean()
    assert abs(values.mean() - law.mean()) < 5 * law.sd() / math.sqrt(len(values))
    assert abs(values.var() - law.variance()) < 6 * math.sqrt(fourth / len(values))


@several
@settings(max_examples=30)
@given(u=st.lists(units, min_size=2, max_size=20))
def test_quantiles_grow_and_undo_the_distribution_function(name: str, u: list[float]) -> None:
    law = LAWS[name]
    at = np.array(sorted(u))
    x = law.quantile(at)
    assert np.all(np.diff(x) >= 0)
    if name != "mixture":  # it has a gap, where quantiles jump
        assert law.cdf(x) == pytest.approx(at, rel=1e-6, abs=1e-10)
    assert np.all(law.cdf(x) >= at - 1e-9)


@given(st.floats(0.06, 30.0), st.floats(1e-3, 1e5), st.lists(units, min_size=1, max_size=9))
def test_gamma_by_table_is_gamma(shape: float, scale: float, u: list[float]) -> None:
    law, at = Gamma(shape, scale), np.array(u)
    assert law.draw(at) == pytest.approx(law.quantile(at), rel=1e-9)


@given(st.floats(0.01, 1e5), st.floats(0.05, 5.0))
def test_mean_and_deviation_come_out_as_they_were_given(mean: float, ratio: float) -> None:
    for family in (Weibull, Gamma, Lognormal):
        law = family.with_mean_sd(mean, ratio * mean)
        assert law.mean() == pytest.approx(mean, rel=1e-6)
        assert law.sd() == pytest.approx(ratio * mean, rel=1e-5)


def test_the_truncated_levy_bag_of_the_bats_thesis() -> None:
    law = Levy(12.0, 45.0)
    assert law.mean() == pytest.approx(14.7955, abs=1e-4)
    assert law.sd() == pytest.approx(11.1285, abs=1e-4)
    assert law.quantile(np.array([0.5]))[0] == pytest.approx(11.3008, abs=1e-4)
    values = drawn(law)
    assert values.min() > 0 and values.max() < 45


def test_a_normal_duration_is_never_negative_and_no_heap_lies_at_zero() -> None:
    values = drawn(Normal(1.0, 2.0))
    assert values.min() > 0


def test_a_mixture_takes_each_law_by_its_weight() -> None:
    values = drawn(Mixture((3.0, 1.0), (Constant(1.0), Constant(9.0))))
    assert set(values) == {1.0, 9.0}
    assert (values == 1.0).mean() == pytest.approx(0.75, abs=0.015)
    apart = Mixture((2.0, 1.0), (Uniform(0.0, 2.0), Uniform(20.0, 30.0)))
    assert apart.quantile(np.array([0.5, 2 / 3 + 0.01])) == pytest.approx([1.5, 20.3])


# Empirical


def test_an_empirical_law_gives_the_values_seen() -> None:
    law = Empirical.of([3.0, 1.0, 2.0, 2.0])
    assert law.quantile(np.array([0.1, 0.25, 0.26, 0.75, 0.76])).tolist() == [1, 1, 2, 2, 3]
    assert law.cdf(np.array([0.9, 1.0, 2.5, 3.0])).tolist() == [0, 0.25, 0.75, 1]
    assert (law.mean(), law.variance()) == (2.0, 0.5)


def test_censored_values_count_as_kaplan_and_meier_do() -> None:
    """Six, of which 3+ and 6+ are only known to be longer: 5/6, then 3/4 of it, …"""
    law = Empirical.of([1, 3, 4, 5, 6, 7], [False, True, False, False, True, False])
    steps = 1 - np.array([5 / 6, 5 / 6 * 3 / 4, 5 / 6 * 3 / 4 * 2 / 3, 0])
    assert law.cdf(np.array([1.0, 4.0, 5.0, 7.0])) == pytest.approx(steps)


@given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=2, max_size=40))
def test_censoring_agrees_with_scipy(seen: list[tuple[int, bool]]) -> None:
    values, censored = zip(*[*seen, (31, False)], strict=True)  # the longest one is known
    data = stats.CensoredData.right_censored(np.array(values, float), np.array(censored))
    theirs = stats.ecdf(data).cdf
    ours = Empirical.of(values, censored)
    at = np.arange(0.5, 32)
    assert ours.cdf(at) == pytest.approx(theirs.evaluate(at), abs=1e-12)


def test_what_is_left_beyond_the_longest_observation_is_put_on_it() -> None:
    law = Empirical.of([1.0, 2.0, 5.0], [False, False, True])
    assert law.cdf(np.array([2.0, 4.9, 5.0])) == pytest.approx([2 / 3, 2 / 3, 1.0])


def test_values_that_are_all_censored_make_no_law() -> None:
    with pytest.raises(ValueError, match="every value is censored"):
        Empirical.of([1.0, 2.0], [True, True])


# As a scenario writes them


def read(text: str, folder: Path = Path(), **unit: Any) -> Law:
    text = f"# a scenario\n\n{text}"
    place = Place(Origin("scenario.toml", text), ("life",), folder)
    return read_law(read_toml(text, "scenario.toml")["life"], place, **unit)


@pytest.mark.parametrize(
    ("written", "law"),
    [
        ('"10m"', Constant(600.0)),
        ("3", Constant(3.0)),
        ('{ law = "constant", value = "1h" }', Constant(3600.0)),
        ('{ law = "uniform", from = "1m", to = "5m" }', Uniform(60.0, 300.0)),
        ('{ law = "exponential", mean = "3h" }', Exponential(10800.0)),
        ('{ law = "exponential", rate = "20/h" }', Exponential(180.0)),
        ('{ law = "weibull", shape = 0.7, scale = "5h" }', Weibull(0.7, 18000.0)),
        ('{ law = "weibull", mean = "5h", shape = 1 }', Weibull(1.0, 18000.0)),
        ('{ law = "gamma", mean = 10, sd = 5 }', Gamma(4.0, 2.5)),
        ('{ law = "normal", mean = "10m", sd = 2.5 }', Normal(600.0, 2.5)),
        ('{ law = "lognormal", mu = -1, sigma = 2 }', Lognormal(-1.0, 2.0)),
        ('{ law = "lognormal", median = 1, sigma = 2 }', Lognormal(0.0, 2.0)),
        ('{ law = "levy", tau = "12m", to = "45m" }', Levy(720.0, 2700.0)),
        ('{ law = "levy", tau = 1, from = 2, to = 3 }', Levy(1.0, 3.0, 2.0)),
        (
            '{ law = "exponential", mean = 2, at_least = "1m", factor = 3 }',
            Changed(Exponential(2.0), 3.0, 60.0),
        ),
        (
            '{ law = "mixture", of = [{ weight = 1, law = "constant", value = 3 },'
            ' { weight = 2, law = "exponential", mean = 1 }] }',
            Mixture((1.0, 2.0), (Constant(3.0), Exponential(1.0))),
        ),
    ],
)
def test_a_law_is_read_as_it_is_written(written: str, law: Law) -> None:
    assert read(f"life = {written}") == law


def test_where_no_time_is_meant_quantities_are_numbers() -> None:
    assert read("life = 1.5", unit=number) == Constant(1.5)
    with pytest.raises(BadInput, match=r"scenario.toml:3: life: '5m' is not a number"):
        read('life = "5m"', unit=number)


@pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if name not in ("mixture", "empirical")]
)
def test_the_examples_in_remedies_can_be_read(name: str) -> None:
    assert read(f"life = {EXAMPLES[name]}").mean() > 0


@pytest.mark.parametrize(
    ("written", "complaint", "remedy"),
    [
        ('{ law = "weibul" }', ":3: there is no law 'weibul'", "did you mean weibull?"),
        ("{ shape = 2 }", ":3: life names no law", "laws are constant"),
        ("{ law = 3 }", ":3: life.law is 3", "such as law"),
        ('{ law = "weibull", shape = 1 }', ":3: weibull lacks scale", "it takes shape and scale"),
        ('{ law = "gamma", mean = 1, sd = 1, sdd = 1 }', "unknown key life.sdd", "mean sd?"),
        ('{ law = "exponential", rate = -3 }', ":3: life.rate: -3 is not above 0", "as in"),
        ('{ law = "exponential", rate = "-3/h" }', "life.rate: '-3/h' is not a rate", "as in"),
        (
            '{ law = "exponential", mean = "-3h" }',
            "life.mean: '-3h' is negative, and a duration is not",
            "as in",
        ),
        ('{ law = "weibull", shape = "x", scale = 1 }', "life.shape: 'x' is not a number", "as in"),
        ('{ law = "weibull", shape = 0, scale = 1 }', "life.shape: 0 is not above 0", "as in"),
        ('{ law = "normal", mean = 1, sd = true }', "life.sd: true is not a quantity", "as in"),
        ('{ law = "uniform", from = 5, to = 3 }', "it goes from 5 to 3, which is less", "as in"),
        ('{ law = "normal", mean = 1, sd = 1, factor = 0 }', "life.factor: 0 is not", "as in"),
        ('{ law = "mixture" }', ":3: a mixture lacks its parts", "weight = 0.7"),
        ('{ law = "mixture", of = [{ law = "levy" }] }', "has no weight", "weight = 0.7"),
        ('{ law = "empirical" }', ":3: empirical lacks file", "file and column, or values"),
        ('{ law = "empirical", values = [] }', "an empirical law needs values", "as in"),
        ("[1, 2]", ":3: life: a list is neither a quantity nor a law", "as in"),
    ],
)
def test_a_bad_law_is_told_with_its_place_and_a_remedy(
    written: str, complaint: str, remedy: str
) -> None:
    with pytest.raises(BadInput) as told:
        read(f"life = {written}")
    assert str(told.value).startswith("scenario.toml:3: ")
    assert complaint in str(told.value)
    assert remedy in told.value.remedy


def test_a_law_in_a_table_names_the_line_of_the_key() -> None:
    with pytest.raises(BadInput, match=r"scenario.toml:6: life.scale: 'soon' is not a duration"):
        read('[life]\nlaw = "weibull"\nshape = 0.7\nscale = "soon"')


def test_a_part_of_a_mixture_names_its_line() -> None:
    parts = '{ weight = 1, law = "levy", tau = 1, to = 2 },\n{ weight = 1, law = "gama" }'
    with pytest.raises(BadInput, match=r"scenario.toml:6: there is no law 'gama'"):
        read(f'[life]\nlaw = "mixture"\nof = [{parts}]')


def test_values_from_a_file_with_censored_rows(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("vm,seconds,end\na,1,gone\nb,2,stopped\nc,3,gone\n")
    law = read(
        'life = { law = "empirical", file = "runs.csv", column = "seconds",'
        ' censored = "end=stopped" }',
        tmp_path,
    )
    assert law.cdf(np.array([1.0, 2.0, 3.0])) == pytest.approx([1 / 3, 1 / 3, 1.0])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("vm,second\na,1\n", r"runs.csv:1: there is no column 'seconds'.*\n.*did you mean second"),
        ("vm,seconds\na,1\nb,soon\n", r"runs.csv:3: seconds is 'soon', not a number"),
        ("vm,seconds\na,1\nb\n", r"runs.csv:3: this row has 1 cells, the header has 2"),
        ("vm,seconds\n", r"runs.csv: there is no row"),
    ],
)
def test_a_bad_file_of_values_names_its_own_line(tmp_path: Path, rows: str, told: str) -> None:
    (tmp_path / "runs.csv").write_text(rows)
    with pytest.raises(BadInput, match=told):
        read('life = { law = "empirical", file = "runs.csv", column = "seconds" }', tmp_path)


EXTREME = [
    '{ law = "weibull", shape = 0.001, mean = "1h" }',
    '{ law = "weibull", shape = 1e-9, scale = "1h" }',
    '{ law = "weibull", mean = "1us", sd = "100000d" }',
    '{ law = "lognormal", median = "1h", sigma = 800 }',
    '{ law = "lognormal", mu = -1e5, sigma = 1e4 }',
    '{ law = "gamma", shape = 1e-300, scale = "1h" }',
    '{ law = "gamma", shape = 1e-320, mean = "1h" }',
    '{ law = "normal", mean = "1h", sd = "9000000d" }',
    '{ law = "levy", tau = "100000d", to = "1s" }',
    '{ law = "exponential", rate = 1e-300 }',
    '{ law = "exponential", mean = "1h", factor = 1e300 }',
    '{ law = "constant", value = "100h", factor = 1e300 }',
    '{ law = "uniform", from = 0, to = 1, factor = 1e308 }',
    '{ law = "mixture", of = [{ weight = 1e308, law = "constant", value = 3 },'
    ' { weight = 1e308, law = "constant", value = 4 }] }',
    f'{{ law = "exponential", mean = "1h", factor = 1{"0" * 400} }}',
]


@pytest.mark.parametrize("written", EXTREME)
def test_a_law_beyond_all_numbers_is_refused_with_a_remedy(written: str) -> None:
    with pytest.raises(BadInput) as told:
        read(f"life = {written}")
    assert str(told.value).startswith("scenario.toml:3: ") and told.value.remedy


SIZES = st.one_of(
    st.sampled_from([0.0, 1e-320, 1e-300, 1e-9, 0.001, 1.0, 1e12, 1e100, 1e300]),
    st.floats(-1e300, 1e300, allow_nan=False),
    st.floats(-12, 12).map(lambda power: 10.0**power),
).map(lambda size: Decimal(repr(size)))


@st.composite
def written_laws(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(list(FORMS)))
    form = draw(st.sampled_from(FORMS[name]))
    more = draw(st.sets(st.sampled_from(["factor", "at_least", *form.may])))
    return {"law": name} | {key: draw(SIZES) for key in [*form.keys, *sorted(more)]}


@given(written_laws(), st.sampled_from([seconds, number]))
@settings(max_examples=1500, deadline=None)
@example({"law": "normal", "mean": Decimal("0.001"), "sd": Decimal("0.7")}, seconds)
@example({"law": "gamma", "mean": Decimal(1_000_000), "sd": Decimal("0.001")}, seconds)
def test_every_law_that_can_be_read_can_be_drawn_from(law: dict[str, Any], unit: Unit) -> None:
    """At the least and the greatest of all uniforms, too."""
    try:
        found = read_law(law, Place(Origin("scenario.toml", "")), unit)
    except BadInput as told:
        assert told.remedy
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = found.draw(np.array([2.0**-53, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9, 1 - 2.0**-53]))
    assert np.all(np.isfinite(drawn)) and math.isfinite(found.mean())
    assert unit is number or np.all(drawn >= 0)


CENSORED = [
    ("yes", "dead", "dead=maybe", r"dead is 'maybe' in no row\n  there are 'yes', 'no', ''"),
    ("ys", "dead", "dead", r"runs.csv:2: dead is 'ys', neither yes nor no\n  write 1, true, yes "
     r'where .*, 0, false, no or nothing where .*censored = "dead=ys"'),
    ("2", "dead", "dead", "runs.csv:2: dead is '2', neither yes nor no"),
    ("stopped", "end", "end=stoped", r"end is 'stoped' in no row\n  did you mean stopped\?"),
    ("stopped\n5,Stopped", "end", "end=stopped", r"runs.csv:3: end is 'Stopped', which is nearly "
     r"'stopped'\n  write 'stopped' in the cell"),
    ("stopped\n5,stoped", "end", "end=stopped", "runs.csv:3: end is 'stoped', which is nearly"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "column", "censored", "told"), CENSORED)
def test_a_slip_in_what_is_censored_is_told(
    tmp_path: Path, first: str, column: str, censored: str, told: str
) -> None:
    """It would count as ended what was only seen for so long."""
    (tmp_path / "runs.csv").write_text(f"seconds,{column}\n1,{first}\n2,no\n3,\n")
    law = f'law = "empirical", file = "runs.csv", column = "seconds", censored = "{censored}"'
    with pytest.raises(BadInput, match=told):
        read(f"life = {{ {law} }}", tmp_path)


def test_words_that_are_only_somewhat_alike_are_different(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("seconds,end\n1,restarted\n2,started\n3,restarted\n")
    law = 'law = "empirical", file = "runs.csv", column = "seconds", censored = "end=started"'
    assert read(f"life = {{ {law} }}", tmp_path).mean() == pytest.approx(1 / 3 + 3 * 2 / 3)


@pytest.mark.parametrize(
    ("written", "a_second"),
    [
        ("20/h", 20 / 3600), ("120/2h", 1 / 60), ("3/1.5d", 2 / 86_400), ("120/1h30m", 120 / 5400),
        ("6 / 30 min", 6 / 1800), ("1e3/d", 1000 / 86_400), ("5/10", 0.5), ("7", 7.0), (0.25, 0.25),
    ],
)  # fmt: skip
def test_a_rate_is_so_many_in_a_time(written: str | float, a_second: float) -> None:
    assert per_second(written) == pytest.approx(a_second, rel=1e-12)


@pytest.mark.parametrize(
    "written",
    ["1/0s", "5/", "/h", "-1/h", "2/h/h", "0/h", "nan/h", "inf/h", "1/-2h", "h/2", "1/2 parsecs",
     "1/h30m", "", "/", "1e-400/h", "1/1e3h"],
)  # fmt: skip
def test_what_is_no_rate_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is not a rate above 0 such as 20/h, 3/d or 120/2h"):
        per_second(written)


def test_help_needs_neither_numpy_nor_scipy() -> None:
    code = (
        "import sys, tailrace.cli.main as m\n"
        "sys.argv = ['tailrace', '--help']\n"
        "try: m.main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'scipy') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("[]")


def test_every_law_says_all_that_a_law_must() -> None:
    """The base leaves these open; a law that forgot one would only fail when it is asked."""
    laws = [law for law in Law.__subclasses__() if law.__module__.startswith("tailrace.")]
    assert len(laws) >= 10
    for law in laws:
        for name in ("quantile", "cdf", "mean", "variance"):
            assert getattr(law, name) is not getattr(Law, name), f"{law.__name__} has no {name}"
