"""Laws as they stand in a scenario: `{ law = "weibull", shape = 0.7, scale = "5h" }`.

A quantity alone is the constant law. Every law may have `factor`, which multiplies each value, and
`at_least`, which is added to each. The forms of each law are in `FORMS`; where durations are
meant, means, deviations and scales are durations (`"5h"`; a number is seconds), elsewhere numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from tailrace.bag.places import Path as Steps
from tailrace.bag.tables import Origin, Table, label, meant, said
from tailrace.errors import BadInput
from tailrace.quantities import SECOND, Written, duration_us
from tailrace.simulation.laws.changed import Changed
from tailrace.simulation.laws.empirical import Empirical
from tailrace.simulation.laws.extent import check_extent
from tailrace.simulation.laws.families import (
    Constant,
    Exponential,
    Gamma,
    Lognormal,
    Normal,
    Uniform,
    Weibull,
)
from tailrace.simulation.laws.law import Law
from tailrace.simulation.laws.levy import Levy
from tailrace.simulation.laws.mixture import Mixture

Unit = Callable[[Written], float]
Reads = Callable[[Unit], Unit]  # from the unit that is meant to the reader of one key


class Place(NamedTuple):
    """Where a value stands, for complaints; files it names are looked for in `folder`."""

    origin: Origin
    path: Steps = ()
    folder: Path = Path()

    def at(self, *steps: str | int) -> Place:
        return self._replace(path=(*self.path, *steps))

    def bad(self, message: str, remedy: str = "") -> BadInput:
        return self.origin.bad(self.path, message, remedy)


class Form(NamedTuple):
    """One way to write a law: the keys it needs, and what is made of them."""

    make: Callable[..., Law]
    keys: Mapping[str, Reads]
    may: Mapping[str, Reads] = {}


def seconds(written: Written) -> float:
    """A duration: `"5h"`, `90`."""
    return duration_us(written) / SECOND


def signed_seconds(written: Written) -> float:
    """A number of seconds, also below zero."""
    return number(written)


def number(written: Written) -> float:
    """Any number, also below zero."""
    try:
        value = float(written) if isinstance(written, (int, float, Decimal)) else math.nan
    except OverflowError:
        raise ValueError(f"a number of {len(str(written))} digits is beyond all numbers") from None
    if not math.isfinite(value):
        raise ValueError(f"{said(written)} is not a number")
    return value


def per_second(written: Written) -> float:
    """How often: `"20/h"`, `"120/2h"`; a number is times a second."""
    if not isinstance(written, str):
        return above(number)(written)
    times, slash, time = written.partition("/")
    try:
        rate = above(number)(Decimal(times.strip()))
        return rate / above(seconds)(_one(time.strip())) if slash else rate
    except (ArithmeticError, ValueError):
        example = "20/h, 3/d or 120/2h"
        raise ValueError(f"{written!r} is not a rate above 0 such as {example}") from None


def _one(time: str) -> str:
    """A unit alone, without a number, is one of it."""
    return f"1{time}" if time.isalpha() else time


def above(reads: Unit) -> Unit:
    def read(written: Written) -> float:
        value = reads(written)
        if value <= 0:
            raise ValueError(f"{written} is not above 0")
        return value

    return read


def _not_below(unit: Unit) -> Unit:
    """Of a law that is cut off at 0: of one around less, next to nothing would be left."""

    def read(written: Written) -> float:
        value = unit(written)
        if value < 0:
            raise ValueError(f"{written} is below 0, where the law is cut off")
        return value

    return read


def _some(unit: Unit) -> Unit:
    return above(unit)


def _any(unit: Unit) -> Unit:
    return unit


def _bare(_: Unit) -> Unit:
    return above(number)


def _real(_: Unit) -> Unit:
    return number


def _rate(_: Unit) -> Unit:
    return per_second


FORMS: dict[str, tuple[Form, ...]] = {
    "constant": (Form(lambda value: Constant(value), {"value": _any}),),
    "uniform": (
        Form(lambda **ends: Uniform(ends["from"], ends["to"]), {"from": _any, "to": _any}),
    ),
    "exponential": (
        Form(lambda mean: Exponential(mean), {"mean": _some}),
        Form(lambda rate: Exponential(1 / rate), {"rate": _rate}),
    ),
    "weibull": (
        Form(Weibull, {"shape": _bare, "scale": _some}),
        Form(Weibull.with_mean, {"mean": _some, "shape": _bare}),
        Form(Weibull.with_mean_sd, {"mean": _some, "sd": _some}),
    ),
    "gamma": (
        Form(Gamma, {"shape": _bare, "scale": _some}),
        Form(Gamma.with_mean, {"mean": _some, "shape": _bare}),
        Form(Gamma.with_mean_sd, {"mean": _some, "sd": _some}),
    ),
    "normal": (Form(lambda mean, sd: Normal(mean, sd), {"mean": _not_below, "sd": _some}),),
    "lognormal": (
        Form(Lognormal, {"mu": _real, "sigma": _bare}),
        Form(Lognormal.with_median, {"median": _some, "sigma": _bare}),
        Form(Lognormal.with_mean_sd, {"mean": _some, "sd": _some}),
    ),
    "levy": (
        Form(
            lambda tau, to, **low: Levy(tau, to, low.get("from", 0.0)),
            {"tau": _some, "to": _some},
            {"from": _any},
        ),
    ),
}
EXAMPLES = {
    "constant": '"10m"',
    "uniform": '{ law = "uniform", from = "1m", to = "5m" }',
    "exponential": '{ law = "exponential", mean = "3h" }',
    "weibull": '{ law = "weibull", shape = 0.7, scale = "5h" }',
    "gamma": '{ law = "gamma", mean = "10m", sd = "2m" }',
    "normal": '{ law = "normal", mean = "10m", sd = "2m" }',
    "lognormal": '{ law = "lognormal", median = "1h", sigma = 1.4 }',
    "levy": '{ law = "levy", tau = "12m", to = "45m" }',
    "mixture": '{ law = "mixture", of = [{ weight = 0.7, law = "constant", value = "5m" }, …] }',
    "empirical": '{ law = "empirical", file = "runs.csv", column = "seconds" }',
}
NAMES = tuple(EXAMPLES)
_TIMES = re.compile(r'"(\d+)[mh]"')


def read_law(value: Any, place: Place, unit: Unit = seconds) -> Law:
    """The law a scenario names; `unit` reads its quantities, `number` where no time is meant."""
    if not isinstance(value, dict):
        with _remedy(f"{_example('constant', unit)} or {_example('exponential', unit)}"):
            return _within(Constant(_quantity(value, place, unit)), place, unit)
    table = Table(value, place.origin, place.path)
    name = _name(table, place)
    with _remedy(_example(name, unit)), place.origin.at(*place.path):
        law = _named(name, table, place, unit)
        law = _changed(law, table, unit)
    table.finish()
    return _within(law, place, unit)


def _within(law: Law, place: Place, unit: Unit) -> Law:
    try:
        check_extent(law, times=unit in (seconds, signed_seconds))
    except ValueError as fault:
        remedy = (
            "write one that is narrower: with less mean, sd, sigma or factor, or a higher shape"
        )
        raise place.bad(f"{label(place.path)}: {fault}", remedy) from None
    return law


def _example(name: str, unit: Unit) -> str:
    """Where no time is meant, without times."""
    return EXAMPLES[name] if unit is seconds else _TIMES.sub(r"\1", EXAMPLES[name])


@contextmanager
def _remedy(example: str) -> Iterator[None]:
    """A complaint that has no remedy of its own shows how the law is written."""
    try:
        yield
    except BadInput as fault:
        fault.remedy = fault.remedy or f"write it as in {example}"
        raise


def _quantity(value: Any, place: Place, unit: Unit) -> float:
    with place.origin.at(*place.path):
        if isinstance(value, (list, bool)) or value is None:
            raise ValueError(f"{said(value)} is neither a quantity nor a law")
        return unit(value)


def _name(table: Table, place: Place) -> str:
    name = table.take("law", str)
    if name in NAMES:
        return str(name)
    found = f"{label(place.path)} names no law" if name is None else f"there is no law {name!r}"
    at = place if name is None else place.at("law")
    raise at.bad(found, f"{meant(str(name), NAMES)}laws are {', '.join(NAMES)}")


def _named(name: str, table: Table, place: Place, unit: Unit) -> Law:
    if name == "mixture":
        return _mixture(table, place, unit)
    if name == "empirical":
        return _empirical(table, place, unit)
    form = _form(name, table)
    read = _read(table, form.keys, unit) | _read(table, form.may, unit)
    try:
        return form.make(**read)
    except ArithmeticError:
        given = " and ".join(f"{key} = {value:g}" for key, value in read.items())
        raise ValueError(f"with {given} it reaches beyond all numbers") from None


def _read(table: Table, keys: Mapping[str, Reads], unit: Unit) -> dict[str, float]:
    there = [key for key in keys if key in table]
    return {key: table.read(key, keys[key](unit), 0.0) for key in there}


def _form(name: str, table: Table) -> Form:
    """The form whose keys are all there; else what the nearest one lacks."""
    forms = FORMS[name]
    for form in forms:
        if all(key in table for key in form.keys):
            _check_alone(name, form, table)
            return form
    nearest = max(forms, key=lambda form: sum(key in table for key in form.keys))
    lacking = " and ".join(key for key in nearest.keys if key not in table)
    ways = ", or ".join(" and ".join(form.keys) for form in forms)
    raise table.origin.bad(table.path, f"{name} lacks {lacking}", f"it takes {ways}")


def _check_alone(name: str, form: Form, table: Table) -> None:
    """What belongs to another form of the law is known, but says the same twice."""
    others = [key for other in FORMS[name] for key in other.keys if key in table]
    given = list(dict.fromkeys((*form.keys, *others)))
    beside = [key for key in given if key not in (*form.keys, *form.may)]
    if beside:
        whole = [other for other in FORMS[name] if all(key in table for key in other.keys)]
        ways = ", or ".join(" and ".join(other.keys) for other in whole)
        told = f"{', '.join(given[:-1])} and {given[-1]}"
        remedy = f"keep {ways}" if len(whole) > 1 else f"keep {ways}, without {beside[0]}"
        raise table.bad(beside[0], f"{name} has {told}, more than it takes", remedy)


def _changed(law: Law, table: Table, unit: Unit) -> Law:
    factor = table.read("factor", above(number), 1.0)
    at_least = table.read("at_least", unit, 0.0)
    return law if (factor, at_least) == (1.0, 0.0) else Changed(law, factor, at_least)


def _mixture(table: Table, place: Place, unit: Unit) -> Law:
    parts = table.take("of", list) or []
    if not parts:
        raise place.bad("a mixture lacks its parts")
    weights, laws = [], []
    for position, part in enumerate(parts):
        if not isinstance(part, dict):
            raise place.bad(f"part {position + 1} of the mixture is {said(part)}, not a law")
        inner = dict(part)
        weights.append(_weight(inner.pop("weight", None), place.at("of", position)))
        laws.append(read_law(inner, place.at("of", position), unit))
    return Mixture(tuple(weights), tuple(laws))


def _weight(value: Any, place: Place) -> float:
    if value is None:
        raise place.bad("a part of a mixture has no weight")
    with place.origin.at(*place.path, "weight"):
        return above(number)(value)


def _empirical(table: Table, place: Place, unit: Unit) -> Law:
    values = table.take("values", list)
    if values is not None:
        read = (_quantity(v, place.at("values", i), unit) for i, v in enumerate(values))
        return Empirical.of(list(read))
    file, column = table.take("file", str), table.take("column", str)
    censored = table.take("censored", str)
    if file is None or column is None:
        lacking = "file" if file is None else "column"
        raise place.bad(f"empirical lacks {lacking}", "it takes file and column, or values")
    return _from_file(place.folder / file, str(file), str(column), censored)


def _from_file(path: Path, shown: str, column: str, censored: str | None) -> Law:
    from tailrace.simulation.samples import read_samples

    samples = read_samples(path, shown, column, censored)
    try:
        return Empirical.of(samples.values, samples.censored.tolist())
    except ValueError as fault:
        raise BadInput(str(fault), file=shown) from None
