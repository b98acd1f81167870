"""How an attempt can end, and how a task can."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    TASK_FAILED = "task_failed"  # the program said no: a non-zero exit, or a signal of its own
    OVER_LIMIT = "over_limit"  # time, memory or disk; ended by the worker
    HOST_FAILED = "host_failed"  # the worker could not run it
    PREEMPTED = "preempted"  # the machine was taken away, or its end of life came
    EXPIRED = "expired"  # the attempt's time-out passed; provisional while its session lives
    LOST = "lost"  # the host fell silent or came back without it
    CANCELLED = "cancelled"  # we did not want it any more, or it was handed back before it began
    INVALID = "invalid"  # reserved for checked results
