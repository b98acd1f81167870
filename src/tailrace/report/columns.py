"""Results as rows: which columns there are, and what a task's row holds.

The columns are, in this order: ``task``; each parameter under its own name; the value; then
``outcome, exit, run_s, turnaround_s, attempts, host, pool``, ``cost.CURRENCY`` for each currency
anything was paid in, ``from_bag`` if any result was taken over, and ``stdout, stderr, outputs``.

* When every value there is is an object, each of its keys becomes a column of that name; otherwise
  there is one column ``value``. What is nested deeper is JSON text.
* A parameter whose name is a field's (``task``, ``host``, …), or begins with ``value.``, ``cost.``
  or ``param.``, is called ``param.NAME``. A key that is one of these, or a parameter's name, is
  called ``value.KEY``. So no two columns can have one name, in the table, in CSV or in Parquet.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from tailrace.report.record import Result
from tailrace.report.sparse import Sparse

FIELDS = frozenset(Result.__struct_fields__)
MIDDLE = ("outcome", "exit", "run_s", "turnaround_s", "attempts", "host", "pool")
LAST = ("stdout", "stderr", "outputs")
#: Objects with more different keys than this stay one column of JSON.
MOST_KEYS = 1000
_PREFIXES = ("value.", "cost.", "param.")


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """What varies between bags; the rest of a row is always the same."""

    params: tuple[str, ...]
    #: Keys of the values; None: one column ``value``.
    keys: tuple[str, ...] | None
    currencies: tuple[str, ...]
    #: Some results come from earlier bags.
    taken: bool = False

    @property
    def names(self) -> list[str]:
        return [
            "task",
            *(param_column(name) for name in self.params),
            *self.value_names,
            *MIDDLE,
            *self.cost_names,
            *(["from_bag"] if self.taken else []),
            *LAST,
        ]

    @property
    def value_names(self) -> list[str]:
        if self.keys is None:
            return ["value"]
        return [_value_column(key, self.params) for key in self.keys]

    @property
    def cost_names(self) -> list[str]:
        return [f"cost.{currency}" for currency in self.currencies]

    def group(self, field: str) -> list[str] | None:
        """The columns that one field of a result has become; None when it is not such a field."""
        if field == "params":
            return [param_column(name) for name in self.params]
        return {"value": self.value_names, "cost": self.cost_names}.get(field)

    def row(self, result: Result) -> list[Any]:
        value = result.value
        keyed = value if isinstance(value, dict) else {}
        return [
            result.task,
            *(result.params.get(name) for name in self.params),
            *([value] if self.keys is None else [keyed.get(key) for key in self.keys]),
            None if result.outcome is None else str(result.outcome),
            result.exit,
            result.run_s,
            result.turnaround_s,
            result.attempts,
            result.host,
            result.pool,
            *(result.cost.get(currency) for currency in self.currencies),
            *([result.from_bag] if self.taken else []),
            result.stdout,
            result.stderr,
            result.outputs or None,
        ]


def param_column(name: str) -> str:
    return f"param.{name}" if _is_taken(name) else name


def _value_column(key: str, params: tuple[str, ...]) -> str:
    return f"value.{key}" if _is_taken(key) or key in params or not key else key


def _is_taken(name: str) -> bool:
    return name in FIELDS or name.startswith(_PREFIXES)


def find_columns(results: Iterable[Result]) -> Columns:
    """Parameters, keys and currencies in the order they are first seen."""
    params: dict[str, None] = {}
    keys: dict[str, None] = {}
    currencies: dict[str, None] = {}
    objects, taken = True, False
    for result in results.telling() if isinstance(results, Sparse) else results:
        _add(params, result.params)
        _add(currencies, result.cost)
        taken = taken or result.from_bag is not None
        if isinstance(result.value, dict):
            if len(keys) <= MOST_KEYS:
                _add(keys, result.value)
        elif result.value is not None:
            objects = False
    split = objects and 0 < len(keys) <= MOST_KEYS
    return Columns(
        params=tuple(params),
        keys=tuple(keys) if split else None,
        currencies=tuple(currencies),
        taken=taken,
    )


def _add(seen: dict[str, None], names: dict[str, Any]) -> None:
    if not seen.keys() >= names.keys():  # nearly always they are known
        seen.update(dict.fromkeys(names))


@contextmanager
def readable_twice(results: Iterable[Result]) -> Iterator[Iterable[Result]]:
    """The results as something to go over again: an iterator is kept in a temporary file."""
    if not isinstance(results, Sparse) and iter(results) is not results:
        yield results
        return
    with tempfile.TemporaryFile() as file:
        spool = _Spool(file)
        if isinstance(results, Sparse):
            spool.fill(results.done)
            yield results.with_done(spool)
        else:
            spool.fill(results)
            yield spool


class _Spool:
    """Results one per line in a file. JSON, because it holds integers of any size."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def fill(self, results: Iterable[Result]) -> None:
        encoder = msgspec.json.Encoder()
        self._file.writelines(encoder.encode(result) + b"\n" for result in results)

    def __iter__(self) -> Iterator[Result]:
        decoder = msgspec.json.Decoder(Result)
        self._file.seek(0)
        for line in self._file:
            yield decoder.decode(line)
