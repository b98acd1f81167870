"""Attempts in tests, in few letters."""

from __future__ import annotations

import math

from tailrace.knowledge.sendings import Fate, Sending, Sendings, gathered


def back(sent_s: float, took_s: float, pool: str = "p") -> Sending:
    return Sending(pool, sent_s, took_s, Fate.RETURNED)


def failed(sent_s: float, took_s: float, pool: str = "p") -> Sending:
    return Sending(pool, sent_s, took_s, Fate.FAILED)


def expired(sent_s: float, took_s: float = math.inf, pool: str = "p") -> Sending:
    return Sending(pool, sent_s, took_s, Fate.EXPIRED)


def out(sent_s: float, took_s: float, pool: str = "p") -> Sending:
    return Sending(pool, sent_s, took_s, Fate.OUT)


def of(*sendings: Sending) -> Sendings:
    return gathered(sendings)
