"""The work call as typed values; docs/reference/work-call.md is the contract."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from tailrace.bag.batch import Printed
from tailrace.bag.outcome import Outcome
from tailrace.bag.policy import HostPolicy

PROTOCOL = 2
# Of workers that know of no keys: one of these ends what it has, and is then told of the newer.
KEYLESS = 1
REPORTED = (
    Outcome.SUCCEEDED,
    Outcome.TASK_FAILED,
    Outcome.OVER_LIMIT,
    Outcome.HOST_FAILED,
    Outcome.PREEMPTED,
    Outcome.CANCELLED,
)  # the others are ours to say
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # what every JSON and SQL can hold
MOST_PROGRESS = 1000  # reports in one call
MOST_TEXT = 200  # characters of what a task says beside how far it is
MOST_NAME = 200
MOST_ERROR = 10_000
MOST_FACTS = 64
MOST_MODEL = 256  # characters of what a processor calls itself
LEAST_KEY, MOST_KEY = 32, 200
MOST_DEEP = 100  # lists and objects within each other in what a task returns
# One line: what stands in a table's key or column is short, and no database takes a NUL.
LINE = r"^[^\x00-\x1f\x7f]*$"
Name = Annotated[str, msgspec.Meta(max_length=MOST_NAME, pattern=LINE)]
Model = Annotated[str, msgspec.Meta(max_length=MOST_MODEL, pattern=LINE)]
Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Facts = Annotated[
    dict[Name, bool | Whole | float | Name | None], msgspec.Meta(max_length=MOST_FACTS)
]
Amounts = Annotated[dict[Name, Count], msgspec.Meta(max_length=MOST_FACTS)]
NULL = msgspec.Raw(b"null")


def _null() -> msgspec.Raw:
    return NULL


class OutputFile(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    path: str = ""  # where the worker left it
    size: Count = 0
    hash: str = ""  # of one that travelled, and is here


class WorkResult(msgspec.Struct, frozen=True, omit_defaults=True):
    attempt: Count
    outcome: Outcome
    exit: Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)] | None = None
    signal: Count | None = None
    limit: Name | None = None
    run_us: Count = 0
    cpu_us: Count = 0
    memory: Count = 0
    value: msgspec.Raw = msgspec.field(default_factory=_null)  # a description can show no raw value
    pickled: str = ""  # base64, of a call; kept as it is, and never unpickled here
    stdout: str = ""
    stderr: str = ""
    stdout_bytes: Count = 0
    stderr_bytes: Count = 0
    outputs: list[OutputFile] = []
    error: Annotated[str, msgspec.Meta(max_length=MOST_ERROR)] = ""
    of_bag: bool = False  # the host lacks what this bag alone asks for, such as its folder

    def text(self) -> str:
        """What makes two failures alike: the error, or the last line of stderr."""
        told = self.error or self.stderr.rstrip().rsplit("\n", 1)[-1].strip()
        return told[:400].replace("\0", "")

    @property
    def too_deep(self) -> bool:
        """Who reads the value could not: nothing that holds so many others is taken apart."""
        value = bytes(self.value)
        if value.count(b"[") + value.count(b"{") <= MOST_DEEP:
            return False
        return _depth(msgspec.json.decode(value)) > MOST_DEEP


class WorkProgress(msgspec.Struct, frozen=True):
    """How far a running attempt is; without `done`, why what its task wrote is not understood."""

    attempt: Count
    done: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    ran_us: Count = 0
    ago_us: Count = 0
    cpu_us: Count = 0
    text: Annotated[str, msgspec.Meta(max_length=MOST_TEXT)] = ""


class WorkRequest(msgspec.Struct, frozen=True):
    protocol: int
    host: Annotated[Name, msgspec.Meta(min_length=1)]
    session: Count
    seq: Count
    pool: Name
    kind: Name
    capacity: Amounts
    held: list[Count]
    results: list[WorkResult]
    wait_s: Annotated[float, msgspec.Meta(ge=0, le=3600)]
    lease: Count | None = None
    about: Facts = {}
    speed: Annotated[float, msgspec.Meta(gt=0, lt=1e9)] = 1.0
    progress: Annotated[list[WorkProgress], msgspec.Meta(max_length=MOST_PROGRESS)] = []
    known: list[Count] = []  # bags of which it has what all tasks share
    ends_s: Annotated[float, msgspec.Meta(ge=0, le=1e11)] | None = None  # until its machine ends
    key: Annotated[str, msgspec.Meta(max_length=MOST_KEY)] = ""  # shows that it is this host
    owner: Name = ""  # to whom the machine belongs
    cpu: Model = ""
    benchmark: Annotated[float, msgspec.Meta(gt=0, lt=1e9)] | None = None  # None: not measured yet
    says: HostPolicy | None = None  # its owner, of the tasks it takes
    leaves: bool = False  # it ends, and holds nothing any more

    @property
    def leaves_nothing(self) -> bool:
        """It has nothing that would be lost if this call were not taken."""
        return not (self.held or self.results)


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    attempt: int
    bag: int
    index: int
    argv: tuple[str, ...] | None = None
    shell: str | None = None
    item: bytes | None = None
    params: dict[str, Any] = {}
    env: dict[str, str] = {}
    inputs: list[Any] = []
    outputs: list[Any] = []
    needs: dict[str, int] | None = None
    limits: dict[str, int] | None = None
    printed: Printed | None = None
    last: bool = False  # in the bag's folder, however the others ran


class WorkReply(msgspec.Struct, frozen=True):
    seq: int
    start: list[Start] = []
    bags: dict[str, dict[str, Any]] = {}
    drop: list[int] = []
    save: list[int] = []
    ack: list[int] = []
    contact_s: float = 20.0
    stop: str | None = None
    ends_s: float | None = None  # until its lease ends, as far as it is renewed
    blobs: dict[str, bytes] = {}  # small inputs of what is to start, by their hashes


def _depth(value: Any) -> int:
    deep, level = 0, [value]
    while level:
        inner = (one for one in level if isinstance(one, list | dict))
        level = [each for one in inner for each in (one if isinstance(one, list) else one.values())]
        deep += 1
    return deep


decode_result = msgspec.json.Decoder(WorkResult).decode
decode_request = msgspec.json.Decoder(WorkRequest).decode
encode = msgspec.json.Encoder().encode
