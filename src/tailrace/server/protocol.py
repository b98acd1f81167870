"""The work call as typed values; docs/reference/work-call.md is the contract."""

from __future__ import annotations

from typing import Any

import msgspec

from tailrace.bag.outcome import Outcome

PROTOCOL = 1
NULL = msgspec.Raw(b"null")


class OutputFile(msgspec.Struct, frozen=True):
    name: str
    path: str
    size: int


class WorkResult(msgspec.Struct, frozen=True, omit_defaults=True):
    attempt: int
    outcome: Outcome
    exit: int | None = None
    signal: int | None = None
    limit: str | None = None
    run_us: int = 0
    cpu_us: int = 0
    memory: int = 0
    value: msgspec.Raw = NULL
    stdout: str = ""
    stderr: str = ""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    outputs: list[OutputFile] = []
    error: str = ""

    def text(self) -> str:
        """What makes two failures alike: the error, or the last line of stderr."""
        if self.error:
            return self.error
        lines = self.stderr.rstrip().rsplit("\n", 1)
        return lines[-1].strip()[:400]


class WorkRequest(msgspec.Struct, frozen=True):
    protocol: int
    host: str
    session: int
    seq: int
    pool: str
    kind: str
    capacity: dict[str, int]
    held: list[int]
    results: list[WorkResult]
    wait_s: float
    lease: int | None = None
    about: dict[str, Any] = {}
    progress: list[Any] = []


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    attempt: int
    bag: int
    index: int
    argv: tuple[str, ...] | None = None
    shell: str | None = None
    params: dict[str, Any] = {}
    env: dict[str, str] = {}
    inputs: list[Any] = []
    outputs: list[Any] = []
    needs: dict[str, int] | None = None
    limits: dict[str, int] | None = None


class WorkReply(msgspec.Struct, frozen=True):
    seq: int
    start: list[Start] = []
    bags: dict[str, dict[str, Any]] = {}
    drop: list[int] = []
    save: list[int] = []
    ack: list[int] = []
    contact_s: float = 20.0
    stop: str | None = None


decode_request = msgspec.json.Decoder(WorkRequest).decode
encode = msgspec.json.Encoder().encode
