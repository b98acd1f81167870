"""A bag handed in over the wire: checked as if it had been read from a file here.

What the client has checked already is checked again: the scheduler believes what it is told.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec.structs import replace

from tailrace.bag import secrets, then
from tailrace.bag.bag import Bag
from tailrace.bag.checks import check_bag
from tailrace.bag.items import Function, Item, Luggage, Parcel, decode_items
from tailrace.bag.parameters import checked_value
from tailrace.bag.policysaid import anything, check_policies, may_use
from tailrace.bag.rows import CHUNK, Kind, Rows, misfit
from tailrace.bag.spec import MOST_TASKS, BagSpec
from tailrace.bag.tables import Origin
from tailrace.bag.terms import Limits
from tailrace.bag.values import Listed, Range, Value
from tailrace.errors import BadInput, TailraceError
from tailrace.pools.budget import unbound
from tailrace.pools.terms import Pool
from tailrace.scheduler.strategies import admit
from tailrace.server.people import principals
from tailrace.server.people.principals import Principal
from tailrace.server.protocol import Count
from tailrace.server.records.taking import MOST_BAGS
from tailrace.worker.blobs import is_file

MOST_BODY = 128 * 1024 * 1024
MOST_NUMBER = 2**53
MOST_NAME = 200
MOST_SHOWN = 60  # characters of a value, where one is named
MOST_PROGRAMS = 10_000  # files whose hashes a bag brings along
MOST_SPEC = (
    8 << 20
)  # bytes of all but its rows: it is read whole whenever somebody asks for the bag
MOST_ORDERED = 20_000_000  # tasks that are ordered by a parameter: their order is kept in memory

#: What comes of input that cannot be used.
UNUSABLE = (
    TailraceError, ValueError, LookupError, ArithmeticError, RecursionError, msgspec.MsgspecError,
)  # fmt: skip


class Taking(msgspec.Struct, frozen=True):
    """Results of the submitter's earlier bags that the new one takes over."""

    bags: Annotated[list[Count], msgspec.Meta(max_length=MOST_BAGS)]
    stale: bytes = b""  # a bit for each task that is done again: the first is the lowest


class Submission(msgspec.Struct, frozen=True):
    """A bag as `Bag.encode` writes it; `chunks` in base64."""

    spec: BagSpec
    chunks: list[bytes] = []
    secrets: dict[str, str] = {}  # values of those that the spec names; kept sealed
    programs: Annotated[dict[str, str], msgspec.Meta(max_length=MOST_PROGRAMS)] = {}
    taking: Taking | None = None


class Submitted(msgspec.Struct, frozen=True):
    bag: int
    name: str
    count: int
    taken: int = 0  # tasks whose results come from earlier bags


def checked(asked: Submission, who: Principal, pools: tuple[Pool, ...] = ()) -> Bag:
    """The bag, or BadInput with what is wrong with it."""
    spec = asked.spec
    check_numbers(spec)
    if spec.policy is not None and spec.policy.params:
        remedy = "leave them out: the server finds them itself"
        raise BadInput("values of parameters came with the policy", remedy=remedy)
    _check_budget(spec, pools)
    check_files(spec, who)
    _check_then(spec)
    _check_secrets(spec, asked.secrets)
    if spec.function is not None:
        bag = _checked_calls(asked, spec.function)
    else:
        bag = of_commands(spec, asked.chunks)
    check_spec(msgspec.json.encode(replace(spec, policy=None)))  # which has bounds of its own
    return bag


def check_spec(encoded: bytes) -> None:
    if len(encoded) > MOST_SPEC:
        raise BadInput(
            f"what it says beside its rows has {len(encoded):,} bytes, more than {MOST_SPEC:,}",
            remedy="Long lists of values belong into a CSV file, or a file of commands.",
        )


def of_commands(spec: BagSpec, chunks: list[bytes]) -> Bag:
    """Whose files and numbers were checked."""
    try:
        check_values(spec, chunks)
        bag = check_bag(spec, chunks, Origin(spec.source), unused_ok=True, admit=admit)
        for index in (0, bag.count - 1):
            bag.task(index)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise BadInput(f"the bag cannot be used: {error}") from error
    return bag


def check_files(spec: BagSpec, who: Principal) -> None:
    """Paths of the server's own machine are for who owns its folder: nobody else learns what lies
    there."""
    travels = spec.catalogue is not None
    if travels and spec.files != "staged" and spec.function is None:
        raise BadInput('only files = "staged" travel')
    if travels or who.kind is principals.Kind.OWNER:
        return
    if spec.files == "staged":
        raise BadInput(
            "its files did not come along: it names no catalogue of them",
            remedy="`tailrace submit` sends them; this client may be an older one.",
        )
    if spec.inputs or spec.outputs:
        raise BadInput(
            'with files = "here" it names files of the server\'s own machine, which are for who '
            "owns its folder",
            remedy='Write files = "staged": then they travel with the bag.',
        )


def _check_secrets(spec: BagSpec, values: dict[str, str]) -> None:
    if len(spec.secrets) > secrets.MOST_NAMES or set(values) != set(spec.secrets):
        raise BadInput(
            "the values of its secrets did not come along, or others did",
            remedy="`tailrace submit` sends them; this client may be an older one.",
        )
    for name in spec.secrets:
        secrets.check_name(name, spec.env)
    secrets.check_values(spec.secrets, values)
    if values and spec.function is not None:
        raise BadInput("secrets are for a bag of commands")


def _check_then(spec: BagSpec) -> None:
    words = (spec.then,) if isinstance(spec.then, str) else spec.then or ()
    if spec.then is None:
        return
    files = _size(spec) * len(spec.outputs)
    if spec.catalogue is not None and files > then.MOST_OUTPUTS:
        raise BadInput(
            f"`then` would have {files:,} outputs brought to one machine; "
            f"at most {then.MOST_OUTPUTS:,} are",
            remedy="Let tasks leave fewer files; or take `then` out of the bag, `tailrace fetch` "
            "the outputs, and run it there.",
        )
    if spec.function is not None or not any(words) or any("\0" in word for word in words):
        raise BadInput("`then` is a command for a bag of commands")


def _checked_calls(asked: Submission, function: Function) -> Bag:
    """All items are there; what is in them only a runner can tell."""
    if asked.spec.axes or asked.spec.order not in ("listed", "shuffled"):
        raise BadInput("a bag of calls has no parameters, and no order by one")
    if not VERSION.fullmatch(function.python) or not 0 < function.count <= MOST_TASKS:
        raise BadInput(f"a bag of calls has a version of Python and 1 to {MOST_TASKS:,} calls")
    if len(asked.chunks) != 1 + len(function.ends):
        raise BadInput(f"its items come in {len(function.ends)} chunks behind the first")
    before = 0
    try:
        msgspec.msgpack.decode(asked.chunks[0], type=Luggage)
        for end, chunk in zip(function.ends, asked.chunks[1:], strict=True):
            items = decode_items(chunk)
            if len(items) != end - before:
                raise ValueError(f"not the items {before} to {end - 1}")
            _check_parcels(items, asked.spec)
            before = end
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadInput(f"a chunk does not hold the items of the bag: {error}") from None
    check_policies(asked.spec, Origin(), anything)
    return Bag(asked.spec, asked.chunks.__getitem__)


def _check_parcels(items: list[Item], spec: BagSpec) -> None:
    """Whether they are there is seen when the bag takes over what its catalogue names."""
    for item in items:
        if isinstance(item, Parcel) and not (spec.catalogue and is_file(item.hash, item.size)):
            raise ValueError("a large item is named by a hash and a size, also in a catalogue")


VERSION = re.compile(r"3\.\d{1,3}")


def _check_budget(spec: BagSpec, pools: tuple[Pool, ...]) -> None:
    admitted = [pool for pool in pools if may_use(spec, pool.name)]
    found = unbound(spec.budget, [pool.billing for pool in admitted])
    if found is not None:
        remedy = f"Give the budget in {found.paid_in}."
        file = spec.source if spec.syntax == "braces" else None
        raise BadInput(found.message, file=file, remedy=remedy)


def check_numbers(spec: BagSpec) -> None:
    """Those that a file's reader would have refused."""
    if not 0 < len(spec.name) <= MOST_NAME or not spec.folder.startswith("/"):
        raise BadInput("a bag has a name, and the whole path of its folder")
    if not spec.name.isprintable():
        raise BadInput(f"the name {spec.name!r} has characters that cannot be shown")
    if spec.blocks:
        raise BadInput("a bag is handed in as one block", remedy="Add to it afterwards.")
    if any(not axis for axis in spec.axes):
        raise BadInput("an axis without a column")
    counts = [column.count for axis in spec.axes for column in axis]
    if any(not 0 < count <= MOST_TASKS for count in counts):
        raise BadInput(f"a column has 1 to {MOST_TASKS:,} values")
    if any(column.count != axis[0].count for axis in spec.axes for column in axis):
        raise BadInput("columns that are zipped are of one length")
    if not 0 < _size(spec) <= MOST_TASKS:
        raise BadInput(f"a bag has 1 to {MOST_TASKS:,} tasks")
    if spec.order not in ("listed", "shuffled") and _size(spec) > MOST_ORDERED:
        raise BadInput(f"ordered by a parameter, a bag has at most {MOST_ORDERED:,} tasks")
    for what, number in _numbers(spec):
        if number is not None and not 0 <= number <= MOST_NUMBER:
            raise BadInput(f"{what} is {number}, which is below 0 or beyond all reason")


def _size(spec: BagSpec) -> int:
    size = 1
    for axis in spec.axes:
        size *= axis[0].count
    return size


def _numbers(spec: BagSpec) -> list[tuple[str, int | float | None]]:
    limits: Limits = spec.limits
    growth = spec.growth
    return [
        *((f"needs.{name}", amount) for name, amount in spec.needs.items()),
        *((f"budget.{unit}", amount) for unit, amount in spec.budget.items()),
        *((f"retries.{name}", getattr(spec.retries, name)) for name in RETRIES),
        *((f"limits.{name}", getattr(limits, name)) for name in limits.__struct_fields__),
        *((name, getattr(spec, name)) for name in NUMBERS),
        ("growth.factor", None if growth is None else growth.factor),
    ]


RETRIES = ("task_failed", "over_limit", "host_failed", "lost", "expired")
NUMBERS = ("seed", "deadline_us", "timeout_us", "max_failures", "most_running", "round_us",
           "keep_output", "grace_us")  # fmt: skip


def check_values(spec: BagSpec, chunks: list[bytes]) -> None:
    """Those, too, that a file's reader would have refused."""
    for column in (column for axis in spec.axes for column in axis):
        if isinstance(column, Range):
            _check_range(column)
        elif isinstance(column, Listed):
            for value in column.values:
                _check_value(column.name, value)
    check_rows(spec, chunks)


def _check_value(name: str, value: Value) -> None:
    try:
        checked_value(value)
    except ValueError as error:
        raise BadInput(f"a value of {name[:MOST_SHOWN]}: {error}") from None


def _check_range(column: Range) -> None:
    """Read with care: a few digits behind an `e` are more than all memory holds."""
    if not (FRACTION.fullmatch(column.start) and FRACTION.fullmatch(column.step)):
        raise BadInput("a range begins with a fraction and steps by one, as 3 or 1/10")
    read = column.reader()
    if column.whole and max(abs(float(read(at))) for at in (0, column.count - 1)) >= 2**63:
        raise BadInput(f"the range {column.name[:MOST_SHOWN]} goes beyond 64 bits")


FRACTION = re.compile(r"-?\d{1,999}(/\d{1,999})?", re.ASCII)


def check_rows(spec: BagSpec, chunks: list[bytes]) -> None:
    """All rows are there, and are rows: one that is not would be found when it is sent."""
    columns = [column for axis in spec.axes for column in axis]
    rows = [column for column in columns if isinstance(column, Rows)]
    if len(rows) > 1 or any(len(one.kinds) != len(one.columns) for one in rows):
        raise BadInput("a bag has the rows of one file at most, each column with its kind")
    total = sum(one.count for one in rows)
    wanted = -(-total // CHUNK)
    if len(chunks) != wanted:
        raise BadInput(f"{total:,} rows come in {wanted} chunks, not in {len(chunks)}")
    for k, chunk in enumerate(chunks):
        _check_chunk(chunk, k, min(CHUNK, total - k * CHUNK), rows[0].kinds)


def _check_chunk(chunk: bytes, k: int, count: int, kinds: tuple[Kind, ...]) -> None:
    try:
        rows = msgspec.msgpack.decode(chunk, type=list[list[str]])
        if len(rows) != count:
            raise ValueError(f"{len(rows)} rows, not {count}")
        if any(len(row) != len(kinds) for row in rows):
            raise ValueError(f"a row has not {len(kinds)} cells")
        if b"\0" in chunk and any("\0" in cell for row in rows for cell in row):
            raise ValueError("a NUL byte cannot be part of a command")
        for at, kind in enumerate(kinds):
            cell = misfit((row[at] for row in rows), kind)
            if cell is not None:  # what is no number here would be none when it is sent
                raise ValueError(f"{cell[:MOST_SHOWN]!r} is not of the kind {kind}")
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadInput(f"chunk {k} does not hold the rows of the bag: {error}") from None
