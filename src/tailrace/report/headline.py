"""How a bag went, in one sentence: the terminal ends a run with it, the report begins with it."""

from __future__ import annotations

import msgspec

from tailrace.report.words import count, duration

FINISHED = "finished"


class Headline(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    count: int
    succeeded: int
    taken: int  # of these, from earlier bags
    failed: int
    state: str
    why: str
    submitted_us: int
    ended_us: int | None
    now_us: int
    #: From the submission on, which is also where the time it took begins.
    deadline_us: int | None

    def __str__(self) -> str:
        text = f"{self.name}: {self.succeeded:,} of {count(self.count, 'task')} succeeded"
        if self.taken:
            text += f" ({self.taken:,} before)"
        if self.failed:
            text += f", {self.failed:,} failed"
        if self.ended_us is not None:
            text += f", in {duration(self.ended_us - self.submitted_us)}"
        return text + self._late() + self._rest()

    def _late(self) -> str:
        if self.deadline_us is None:
            return ""
        end = self.now_us if self.ended_us is None else self.ended_us
        late = end - self.submitted_us - self.deadline_us
        return f", its deadline missed by {duration(late)}" if late > 0 else ""

    def _rest(self) -> str:
        if self.state == FINISHED:
            return ""
        return f"; {self.state}" + (f": {self.why}" if self.why else "")
